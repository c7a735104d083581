"""Rows of stage 1 that every graph store reads, converted to the model."""

from collections.abc import Sequence
from typing import Any

from propagation.model import Gradient, InteractionRow, MessageReach, Module, ReasonedInteraction


def authors_of(result: ReasonedInteraction) -> tuple[list[str] | None, str | None]:
    """Return the prompts and the fallback of an interaction; a dead letter has none."""
    if result.failure is not None:
        return None, None
    return list(result.usage.prompts) or None, result.usage.stand_in or None


def interaction_of(row: Sequence[Any]) -> InteractionRow:
    """Build an interaction from a row of its fields, in their order."""
    return InteractionRow(
        sequence=row[0],
        event_id=row[1],
        user=row[2],
        item=row[3],
        negative=row[4],
        time=row[5],
        weight=row[6],
        prompts=tuple(row[7] or ()),
        stand_in=row[8] or "",
    )


def gradient_of(row: Sequence[Any]) -> Gradient:
    """Build a gradient from a row of its fields, in their order."""
    return Gradient(
        sequence=row[0],
        module=Module(row[1]),
        owner=row[2],
        writer=row[3],
        reward=row[4],
        text=row[5],
        attributes=tuple(row[6]),
        epoch=row[7],
    )


def reach_of(row: Sequence[Any]) -> MessageReach:
    """Build the reach of a router's messages from a row of its fields, in their order."""
    return MessageReach(
        router=row[0],
        clients=row[1],
        merged=row[2],
        filtered=row[3],
        empty=row[4],
        fell_out=row[5],
    )
