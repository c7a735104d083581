"""Outcomes of events against what is recorded: the same for every graph store."""

from collections.abc import Sequence
from dataclasses import replace

from propagation.model.interactions.interaction import NewInteraction, RecordOutcome, RecordStatus

FORGOTTEN = RecordOutcome(status=RecordStatus.FORGOTTEN)


def repeated(first: tuple[str, int] | None, event: NewInteraction) -> RecordOutcome | None:
    """A repeat's outcome; inside one call its sequence is still the first one's place, as -1, -2
    and so on. `first`: content hash and sequence under the event's id, None where there is none.
    Without a hash (the event named a client that was forgotten) any content is a repeat."""
    if first is None:
        return None
    if first[0] and first[0] != event.content_hash:
        return RecordOutcome(status=RecordStatus.CONFLICT)
    return RecordOutcome(status=RecordStatus.DUPLICATE, sequence=first[1])


def placed(outcomes: Sequence[RecordOutcome | None], first: int) -> list[RecordOutcome]:
    """Every outcome with its sequence, accepted ones (None) counted from `first`."""
    done: list[RecordOutcome] = []
    following = first
    for outcome in outcomes:
        if outcome is None:
            done.append(RecordOutcome(status=RecordStatus.ACCEPTED, sequence=following))
            following += 1
        elif outcome.sequence < 0:
            done.append(replace(outcome, sequence=first - outcome.sequence - 1))
        else:
            done.append(outcome)
    return done
