"""The option `--as-of`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from services.client.errors import UsageProblem

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2 import AsOf

Moment = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="SEQUENCE|TIME",
        help=(
            "As it was at this sequence, or at this time of the service's clock "
            "(2026-11-22T03:00:00+01:00; without a zone: UTC)."
        ),
    ),
]


def parse_as_of(text: str | None) -> "AsOf | None":
    """Parse digits as a sequence and anything else as a time in ISO 8601; None if empty.

    Raises:
        UsageProblem: It is neither.
    """
    from propagation.v1 import propagation_pb2 as pb

    if text is None:
        return None
    try:
        if text.isascii() and text.isdigit():
            return pb.AsOf(sequence=int(text))
        time = datetime.fromisoformat(text)
        time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        found = pb.AsOf()
        found.commit_time.FromDatetime(time.astimezone(UTC).replace(tzinfo=None))
    except (ValueError, OverflowError):
        raise UsageProblem(
            f"--as-of is {text!r}; give a sequence (4711) or a time (2026-11-22T03:00:00Z)"
        ) from None
    return found
