"""What a run will cost, before it starts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from propagation.datasets.dataset import Dataset
from propagation.laboratory.methods import Method, MethodNotInstalled
from propagation.laboratory.methods.asking import Calls, asks_model
from propagation.laboratory.methods.asking.run_part import RunPart
from propagation.laboratory.methods.dependencies import build_answers_version
from propagation.laboratory.protocols.protocol import EstimatingProtocol, Protocol
from propagation.laboratory.runs.parts import has_result
from propagation.laboratory.runs.run import list_parts
from propagation.plurals import pluralize
from services.laboratory.model import LabModel


class PartEstimate(NamedTuple):
    """What one method will ask with one seed.

    Attributes:
        calls: By prompt; empty if it asks no model, or if its result is there.
        answers_version: A digest of what decides its answers; "" if it asks nothing.
        answered: How many of its questions have a kept answer, by prompt.
    """

    method: str
    seed: int
    calls: Sequence[Calls]
    answers_version: str = ""
    answered: Mapping[str, int] = {}

    @property
    def total(self) -> int:
        """The number of calls, those with a kept answer included."""
        return sum(one.calls for one in self.calls)

    @property
    def run_part(self) -> RunPart:
        """What its kept answers are counted by."""
        return RunPart(self.method, self.seed, self.answers_version)

    @property
    def rest(self) -> Sequence[Calls]:
        """The calls without those that have a kept answer, which cost nothing."""
        left = Counter(self.answered)
        rest = []
        for one in self.calls:
            kept = min(left[one.label], one.calls)
            left[one.label] -= kept
            share = (one.calls - kept) / max(one.calls, 1)
            tokens = (round(share * one.prompt_tokens), round(share * one.answer_tokens))
            rest.append(Calls(one.label, one.calls - kept, *tokens))
        return rest


def estimate_parts(
    folder: Path,
    dataset: Dataset,
    protocol: Protocol,
    methods: Sequence[Method],
    seeds: Sequence[int],
) -> list[PartEstimate]:
    """Estimate a run's parts, in the order in which they run.

    Kept answers are not looked for: see `look_up_answers`.

    Args:
        folder: Of the run; it may not exist yet.
    """
    history, targets = protocol.split(dataset)
    out = []
    for method, seed in list_parts(methods, seeds):
        calls: Sequence[Calls] = ()
        version = ""
        if (
            asks_model(method)
            and isinstance(protocol, EstimatingProtocol)
            and not _is_done(folder, method, seed, protocol)
        ):
            calls = protocol.estimate(method, history, targets, seed)
            version = build_answers_version(method)
        out.append(PartEstimate(method.name, seed, calls, version))
    return out


async def look_up_answers(
    parts: Sequence[PartEstimate], model: LabModel, folder: Path
) -> list[PartEstimate]:
    """Return the parts with how many of their questions are answered.

    Raises:
        PropagationError: The file of answers is damaged.
    """
    asking = [part.run_part for part in parts if part.total]
    answered = await model.read_answered(folder, asking)
    return [part._replace(answered=answered.get(part.run_part, {})) for part in parts]


def _is_done(folder: Path, method: Method, seed: int, protocol: Protocol) -> bool:
    try:
        return has_result(folder, method, seed, protocol.measures)
    except MethodNotInstalled:
        return True  # it will not run


def describe_costs(
    parts: Sequence[PartEstimate], model: LabModel, seconds_a_call: float | None
) -> list[str]:
    """Describe what methods will ask, in lines.

    Answers that are kept from before are subtracted. Unusable ones are asked for once more; how
    many there will be is not known here.

    Args:
        seconds_a_call: As measured in this run's folder; None: not known.
    """
    lines = []
    everything: list[Calls] = []
    for name in dict.fromkeys(part.method for part in parts if part.total):
        some = [part for part in parts if part.method == name]
        calls = [one for part in some for one in part.rest]
        everything += calls
        kept = sum(part.total for part in some) - sum(one.calls for one in calls)
        note = f", besides {pluralize(kept, 'kept answer')} at no cost" if kept else ""
        lines.append(f"{name}: about {_describe(calls, model)}{note}")
    seconds = _estimate_seconds(sum(one.calls for one in everything), model, seconds_a_call)
    time = (
        f"time not known before {model.name} has answered, {pluralize(model.in_flight, 'call')} at"
        " a time"
        if seconds is None
        else f"about {_describe_seconds(seconds)}"
    )
    return [
        *lines,
        f"in all: about {_describe(everything, model)}; {time}",
        "An unusable answer is asked for once more, so at worst it is twice as much.",
    ]


def _describe(calls: Sequence[Calls], model: LabModel) -> str:
    sent = sum(one.prompt_tokens for one in calls)
    answered = sum(one.answer_tokens for one in calls)
    has_prices = model.price(1_000_000, 1_000_000) > 0
    money = f"money {model.price(sent, answered):.2f}" if has_prices else "no prices set"
    return (
        f"{pluralize(sum(one.calls for one in calls), 'call')}, {sent:,} tokens sent, {answered:,}"
        f" answered, {money}"
    )


def _estimate_seconds(calls: int, model: LabModel, seconds_a_call: float | None) -> float | None:
    bounds = []
    if model.calls_per_minute:
        bounds.append(calls * 60 / model.calls_per_minute)
    if seconds_a_call is not None:
        bounds.append(calls * seconds_a_call / model.in_flight)
    return max(bounds) if bounds else None


def _describe_seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
