"""Builds the laboratory's methods by their names."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path

from propagation.datasets.dataset import Dataset
from propagation.laboratory.experiments.catalogue import LIGHT_BASELINES, RECNET
from propagation.laboratory.methods import Method, Popularity, Program, Random
from propagation.laboratory.methods.recnet import Convert, RecNet
from propagation.workflow.engine import Engine
from services.assembly import build_engine
from services.client.errors import UsageProblem
from services.config.settings import Settings
from services.runtime.process import SystemClock

ENVIRONMENT = "BASELINES_ENVIRONMENT"
"""The variable that names the baselines' environment, if it is not beside this one."""
OWN_PROGRAM = "program:"
KNOWN = ("random", "pop", *LIGHT_BASELINES, *RECNET)


def build_methods(
    names: Sequence[str], dataset: Dataset, settings: Settings, convert: Convert
) -> list[Method]:
    """Build methods.

    Args:
        names: Names in KNOWN, or `program:PATH` for one's own program.
        convert: Checks events and converts them for recording.

    Raises:
        UsageProblem: A name is not known, or comes twice.
    """
    for name in names:
        if name not in KNOWN and not name.startswith(OWN_PROGRAM):
            raise UsageProblem(
                f"--methods: {name!r} is not a method; choose among {', '.join(KNOWN)}, or give"
                " program:PATH for a program of your own (docs/laboratory.md)"
            )
    if len(set(names)) < len(names):
        raise UsageProblem("--methods names a method twice")
    return [_build(name, dataset, settings, convert) for name in names]


def _build(name: str, dataset: Dataset, settings: Settings, convert: Convert) -> Method:
    if name == "random":
        return Random()
    if name == "pop":
        return Popularity()
    if name in RECNET:
        return RecNet(name, dataset, partial(_open_engine, settings), convert, name != "recnet-off")
    if name in LIGHT_BASELINES:
        return _build_baseline(name)
    path = Path(name.removeprefix(OWN_PROGRAM))
    command = [sys.executable] if path.suffix == ".py" else []
    return Program(
        path.stem, [*command, str(path.absolute())], f"{path} is no program that can be run"
    )


def _build_baseline(name: str) -> Method:
    """Build a baseline, which runs in an environment of its own."""
    folder = os.environ.get(ENVIRONMENT) or Path(sys.prefix) / "baselines"
    python = Path(folder) / "bin" / "python"
    script = files("propagation.laboratory.baselines") / "score.py"
    return Program(
        name,
        [str(python), "-W", "ignore", str(script), name],
        f"not installed: {python} is missing; `make baselines` installs it, or leave the method out"
        " with --methods",
    )


def _open_engine(settings: Settings, database: Path, seed: int) -> Engine:
    workflow = settings.workflow.model_copy(update={"seed": seed})
    return build_engine(
        settings.model_copy(update={"database": database, "workflow": workflow}),
        clock=SystemClock(),
    )
