"""Prints what `propagation lab run` will cost, and asks."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from services.client.errors import UsageProblem
from services.runtime.console import print_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from services.laboratory.costs import PartEstimate
    from services.laboratory.model import LabModel


def confirm_costs(
    parts: "Mapping[LabModel | None, Sequence[PartEstimate]]", folder: Path, *, yes: bool
) -> None:
    """Print about what a run costs, and ask to go on.

    A run that asks no model goes on.

    Args:
        parts: By the model that they ask.

    Raises:
        UsageProblem: There is no terminal to ask on.
        Abort: The answer is no.
    """
    from services.laboratory.costs import describe_costs

    asked = {
        model: some
        for model, some in parts.items()
        if model is not None and any(part.total for part in some)
    }
    for model, some in asked.items():
        pace = asyncio.run(model.read_pace(folder))
        print_error(*describe_costs(some, model, pace))
    if yes or not asked:
        return
    if not has_terminal():
        names = " and ".join(model.name for model in asked)
        raise UsageProblem(
            f"{names} would be asked, and there is no terminal to ask you on; add --yes"
        )
    typer.confirm("Go on?", abort=True, err=True)


def has_terminal() -> bool:
    """Return whether somebody can be asked."""
    return sys.stdin.isatty()
