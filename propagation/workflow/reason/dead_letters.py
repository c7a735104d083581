"""Dead letters with their events, for operators."""

from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model import ClientKey, FailedReasoning, InteractionRow
from propagation.ports import GraphStore


@dataclass(frozen=True)
class FailedEvent:
    """A dead letter and its event.

    Attributes:
        keys: The event's clients by ref; None: erased meanwhile.
    """

    failed: FailedReasoning
    event: InteractionRow
    keys: dict[int, ClientKey | None]


@dataclass(frozen=True)
class FailedEventPage:
    """One page of dead letters.

    Attributes:
        next_before: The next page has smaller sequences than this one; None on the last page.
    """

    letters: Sequence[FailedEvent]
    next_before: int | None


def list_clients(event: InteractionRow) -> list[int]:
    """List the user, the item and any negative of the application."""
    refs = [event.user, event.item]
    return refs if event.negative is None else [*refs, event.negative]


async def list_failed_events(store: GraphStore, before: int | None, size: int) -> FailedEventPage:
    """List dead letters, newest first.

    Args:
        before: Only smaller sequences; None: from the newest on.
        size: How many dead letters at most.
    """
    found = await store.get_failed_reasoning(size + 1, before)
    shown = found[:size]
    rows = await store.get_interactions([letter.sequence for letter in shown])
    refs = sorted({ref for row in rows for ref in list_clients(row)})
    keys = dict(zip(refs, await store.find_keys(refs), strict=True))
    events = {row.sequence: row for row in rows}
    return FailedEventPage(
        [
            FailedEvent(letter, events[letter.sequence], keys)
            for letter in shown
            if letter.sequence in events  # else it was withdrawn meanwhile
        ],
        shown[-1].sequence if len(found) > size else None,
    )
