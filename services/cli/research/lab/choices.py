"""What the options of `propagation lab run` choose."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from services.cli.access import get_settings
from services.client.errors import UsageProblem
from services.runtime.console import print_error

if TYPE_CHECKING:
    from propagation.datasets.dataset import Dataset
    from propagation.laboratory.experiments import Experiment
    from propagation.laboratory.protocols.protocol import Protocol
    from services.laboratory.model import LabModel


def choose_candidates(
    name: str, protocol: "Protocol", dataset: "Dataset", data: Path, *, take: bool
) -> "tuple[Protocol, Dataset]":
    """Let a protocol draw among the folder's candidates, if wanted.

    Returns:
        The protocol, and the dataset with a note on the candidates, so that runs with others are
        other runs.

    Raises:
        UsageProblem: The folder has none, or the experiment draws none.
    """
    from propagation.datasets.line_reader import clean_name, find_all
    from propagation.datasets.recbole import read_fixed_candidates
    from propagation.laboratory.protocols import fixed_candidates

    files = ", ".join(map(clean_name, find_all(data, "*.candidates")))
    draws = fixed_candidates.draws(protocol)
    if not take:
        if files and draws:
            print_error(f"The fixed candidates in {files} are not used; --candidates takes them.")
        return protocol, dataset
    if not draws:
        raise UsageProblem(f"--candidates: {name} takes no candidates from a file; leave it out")
    named = read_fixed_candidates(data)
    if named is None:
        raise UsageProblem(f"--candidates: {data} has no file *.candidates (docs/data.md)")
    fixed, missing = fixed_candidates.find_rows(dataset, named)
    digest = blake2b(repr(sorted(named.items())).encode(), digest_size=8).hexdigest()
    note = (
        f"Other items are drawn among the candidates of {files} (digest {digest}); {missing:,} of"
        " these are not in the catalogue."
    )
    return (
        fixed_candidates.draw_among(protocol, fixed),
        replace(dataset, notes=(*dataset.notes, note)),
    )


def choose_moments(
    name: str, protocol: "Protocol", after: float | None, refits: int | None
) -> "Protocol":
    """Change the moments of a prequential protocol, if wanted.

    Raises:
        UsageProblem: --after or --refits was given, and the experiment is not prequential.
    """
    from propagation.laboratory.prequential import Prequential

    if after is None and refits is None:
        return protocol
    if not isinstance(protocol, Prequential):
        raise UsageProblem(
            f"--after and --refits are of ours/prequential, and {name} takes none; leave them out"
        )
    return replace(
        protocol,
        first=protocol.first if after is None else after,
        refits=refits or protocol.refits,
    )


def choose_models(
    config: Path | None, assignments: list[str] | None, names: str | None, reasoner: str | None
) -> "list[LabModel]":
    """Return the models that the options or the settings name, not opened.

    Raises:
        UsageProblem: The options contradict each other.
    """
    from services.laboratory.model import LabModel

    if names is not None and reasoner == "offline":
        raise UsageProblem("--model names a language model and --reasoner is offline; drop one")
    if names is not None:
        named = dict.fromkeys(name.strip() for name in names.split(","))
        flags = [{"openai__model": name, "reasoner": "openai"} for name in named]
    else:
        flags = [{"reasoner": reasoner}] if reasoner is not None else [{}]
    found = [get_settings(config, assignments, **some) for some in flags]
    return [LabModel(settings) for settings in found if settings.reasoner == "openai"]


def choose_names(
    experiment: "Experiment", methods: str | None, models: "Sequence[LabModel]"
) -> Sequence[str]:
    """Return the methods' names; by default all that can run."""
    from services.laboratory.asking_methods import asks_model

    if methods is not None:
        return [name.strip() for name in methods.split(",")]
    if models:
        return [*experiment.methods, *experiment.with_model]
    left_out = [name for name in experiment.methods if asks_model(name)]
    names = [name for name in experiment.methods if name not in left_out]
    if not names:
        raise UsageProblem(
            f"{experiment.name} needs a language model: name one with --model NAME and --set"
            " openai.base_url=ADDRESS"
        )
    if left_out:
        print_error(
            f"Left out, as they ask a language model and none is named (--model):"
            f" {', '.join(left_out)}."
        )
    return names
