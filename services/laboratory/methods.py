"""Builds the laboratory's methods by their names."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path

from propagation.datasets.dataset import Dataset
from propagation.laboratory.experiments.recnet import LIGHT_BASELINES, RECNET
from propagation.laboratory.methods import Method, Popularity, Program, Random
from propagation.laboratory.methods.recnet import Convert, RecNet
from propagation.workflow.engine import Engine
from services.assembly import FITTABLE_EMBEDDERS, build_engine
from services.client.errors import UsageProblem
from services.config.settings import Settings
from services.laboratory.asking_methods import FORMS, AskingMethods, asks_model
from services.laboratory.model import LabModel
from services.runtime.process import SystemClock, release

ENVIRONMENT = "BASELINES_ENVIRONMENT"
"""The variable that names the baselines' environment, if it is not beside this one."""
OWN_PROGRAM = "program:"
KNOWN = ("random", "pop", *LIGHT_BASELINES, *RECNET)


def build_methods(
    names: Sequence[str],
    dataset: Dataset,
    settings: Settings,
    convert: Convert,
    model: LabModel | None = None,
) -> list[Method]:
    """Build methods.

    Args:
        names: Names in KNOWN, of methods that ask a model, or `program:PATH` for one's own program.
        settings: Of the methods that ask no model.
        convert: Checks events and converts them for recording.
        model: What the others ask; None: they are refused.

    Raises:
        UsageProblem: A name is not known, two methods have one name, a program is missing, or the
            settings name a model.
    """

    def build_base(name: str) -> Method:
        _check_name(name)
        return _build(name, dataset, settings, convert)

    asking = [name for name in names if asks_model(name)]
    if asking and model is None:
        raise UsageProblem(
            f"--methods: {asking[0]} asks a language model: name one with --model NAME and --set"
            " openai.base_url=ADDRESS, or leave it out"
        )
    builder = AskingMethods(dataset, model, build_base) if asking and model else None
    around = {name: builder.build(name) for name in asking} if builder else {}
    build_plain = builder.build_plain if builder else build_base
    methods = [around[name] if name in around else build_plain(name) for name in names]
    built = [method.name for method in methods]
    if twice := sorted({name for name in built if built.count(name) > 1}):
        raise UsageProblem(f"--methods: two methods are called {twice[0]!r}; rename one file")
    return methods


def _check_name(name: str) -> None:
    if name not in KNOWN and not name.startswith(OWN_PROGRAM):
        raise UsageProblem(
            f"--methods: {name!r} is not a method; choose among {', '.join((*KNOWN, *FORMS))}, or"
            " give program:PATH for a program of your own (docs/laboratory.md)"
        )


def _build(name: str, dataset: Dataset, settings: Settings, convert: Convert) -> Method:
    if name == "random":
        return Random()
    if name == "pop":
        return Popularity()
    if name in RECNET:
        return _build_recnet(name, dataset, settings, convert)
    if name in LIGHT_BASELINES:
        return _build_baseline(name)
    return _build_program(Path(name.removeprefix(OWN_PROGRAM)))


def _build_recnet(name: str, dataset: Dataset, settings: Settings, convert: Convert) -> Method:
    if settings.reasoner != "offline" or settings.embedder not in FITTABLE_EMBEDDERS:
        raise UsageProblem(
            f"{name} asks no model yet, but reasoner is {settings.reasoner!r} and embedder"
            f" {settings.embedder!r}: set reasoner=offline and embedder=fitted, or leave it out of"
            " --methods"
        )
    deciding = f"{release()} {settings.embedder} {settings.workflow.model_dump_json()}"
    version = blake2b(deciding.encode(), digest_size=16).hexdigest()
    open_engine = partial(_open_engine, settings)
    return RecNet(name, version, dataset, open_engine, convert, name != "recnet-off")


def _open_engine(settings: Settings, database: Path, seed: int) -> Engine:
    workflow = settings.workflow.model_copy(update={"seed": seed})
    return build_engine(
        settings.model_copy(
            update={
                "store": "sqlite",
                "index": "numpy",
                "database": database,
                "workflow": workflow,
            }
        ),
        clock=SystemClock(),
    )


def find_baselines_python() -> Path:
    """Return the Python of the baselines' environment, which may be missing."""
    folder = os.environ.get(ENVIRONMENT) or Path(sys.prefix) / "baselines"
    return Path(folder) / "bin" / "python"


def _build_baseline(name: str) -> Method:
    """Build a baseline, which runs as a program of its environment."""
    python = find_baselines_python()
    script = Path(str(files("propagation.laboratory.baselines") / "score.py"))
    return Program(
        name,
        [str(python), "-W", "ignore", str(script), name],
        script,
        f"not installed: {python} is missing; `make baselines` installs it, or leave the method out"
        " of --methods",
    )


def _build_program(path: Path) -> Method:
    if not path.is_file():
        raise UsageProblem(f"--methods: {str(path)!r} is no file")
    command = [sys.executable] if path.suffix == ".py" else []
    return Program(
        path.stem,
        [*command, str(path.absolute())],
        path,
        f"{path} cannot be run: a file that does not end in .py must be executable",
    )
