"""`--as-of`: a moment of the past, as a person types it."""

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
            "As it was at this sequence, or at this time of the service's clock (2026-11-22T03:00:00+01:00; without a zone: UTC)."
        ),
    ),
]


def moment_of(text: str | None) -> "AsOf | None":
    """Digits alone are a sequence, anything else a time of ISO 8601; None where nothing was typed.
    Raises UsageProblem."""
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
