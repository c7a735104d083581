"""What the commands of `propagation lab` share."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.client.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from propagation.laboratory.experiments import Experiment

Against = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        help="The method from which the others' differences are taken; default: the experiment's.",
    ),
]


def check_against(against: str | None, names: "Sequence[str]") -> None:
    """Check that the method is there from which differences are taken.

    Raises:
        UsageProblem: It is not.
    """
    if against is not None and against not in names:
        raise UsageProblem(
            f"--against: {against!r} is none of the methods; choose among"
            f" {', '.join(dict.fromkeys(names))}"
        )


def find_experiment(name: str) -> "Experiment":
    """Return the experiment of a name.

    Raises:
        UsageProblem: There is none.
    """
    from propagation.laboratory.experiments.catalogue import EXPERIMENTS

    try:
        return EXPERIMENTS[name]
    except KeyError:
        raise UsageProblem(
            f"{name!r} is not an experiment; choose among {', '.join(EXPERIMENTS)}"
        ) from None
