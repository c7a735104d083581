"""The outcome of each recorded event: accepted, duplicate, conflict, unknown or forgotten.

The state of each event id before a retraction is decided here, too.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from propagation.model import (
    ClientKind,
    EventState,
    EventStatus,
    InteractionRow,
    NewInteraction,
    RecordOutcome,
    RecordStatus,
    keep_first,
)

NamedClient = tuple[ClientKind, str]
"""Kind and id of a client that an event names."""


class RecordedEvent(NamedTuple):
    """An event that is recorded or retracted.

    Attributes:
        content_hash: Hash of its content; "" if it named a client that was forgotten since.
        sequence: Its place in the log.
    """

    content_hash: str
    sequence: int


class EventDecisions:
    """Decides the outcomes of one commit's events, one after another.

    A store fetches what the log holds under the events' ids, decides each event, appends one log
    entry for the clients in `created`, and then the events in `accepted`.

    Attributes:
        accepted: The events to append, in order.
        created: The clients to create, in order: named by an accepted event and not known.
    """

    def __init__(
        self,
        recorded: Mapping[str, RecordedEvent],
        forgotten: Container[str],
        users: Container[str],
        items: Container[str],
    ) -> None:
        """Start a commit.

        Args:
            recorded: What the log holds, by event id.
            forgotten: Event ids of clients that were forgotten.
            users: Ids of users that the graph has, at least those that the events name.
            items: Ids of items that the graph has, at least those that the events name.
        """
        self._recorded = dict(recorded)
        self._forgotten = forgotten
        self._users, self._items = users, items
        self._outcomes: list[RecordOutcome] = []
        self.accepted: list[NewInteraction] = []
        self.created: dict[NamedClient, None] = {}

    def decide(self, event: NewInteraction, *, auto_create: bool) -> None:
        """Decide the next event.

        Args:
            auto_create: Create unknown clients; otherwise refuse an event that names one.
        """
        outcome = self._find_earlier_outcome(event)
        if outcome is None:
            unknown = self._find_unknown_clients(event)
            outcome = (
                RecordOutcome(status=next(iter(unknown.values())))
                if unknown and not auto_create
                else self._accept(event, unknown)
            )
        self._outcomes.append(outcome)

    def outcomes(self, first: int) -> list[RecordOutcome]:
        """Return the outcomes in the events' order.

        Args:
            first: The sequence of the first accepted event; the others follow without gaps.
        """
        return [
            RecordOutcome(outcome.status, first - outcome.sequence - 1)
            if outcome.sequence < 0
            else outcome
            for outcome in self._outcomes
        ]

    def _find_earlier_outcome(self, event: NewInteraction) -> RecordOutcome | None:
        """Find the outcome of an event that was recorded or forgotten before.

        Returns:
            None if the event is new.
        """
        if event.event_id in self._forgotten:
            return RecordOutcome(status=RecordStatus.FORGOTTEN)
        earlier = self._recorded.get(event.event_id)
        if earlier is None:
            return None
        if earlier.content_hash and earlier.content_hash != event.content_hash:
            return RecordOutcome(status=RecordStatus.CONFLICT)
        return RecordOutcome(status=RecordStatus.DUPLICATE, sequence=earlier.sequence)

    def _find_unknown_clients(self, event: NewInteraction) -> dict[NamedClient, RecordStatus]:
        users, items, negative = self._users, self._items, event.negative_id
        if (
            event.user_id in users
            and event.item_id in items
            and (negative is None or negative in items)
        ):  # nearly always
            return {}
        statuses = zip(list_clients_of_event(event), _UNKNOWN, strict=False)
        return keep_first(
            ((kind, id_), status)
            for (kind, id_), status in statuses
            if id_ not in (items if kind else users) and (kind, id_) not in self.created
        )

    def _accept(
        self, event: NewInteraction, unknown: Mapping[NamedClient, RecordStatus]
    ) -> RecordOutcome:
        if unknown:
            self.created.update(dict.fromkeys(unknown))
        # No sequence yet: -1 is the first accepted event of the commit, -2 the second.
        place = -len(self.accepted) - 1
        self._recorded[event.event_id] = RecordedEvent(event.content_hash, place)
        self.accepted.append(event)
        return RecordOutcome(_ACCEPTED, place)


def decide_event_states(
    event_ids: Sequence[str],
    recorded: Mapping[str, InteractionRow],
    retracted: Iterable[str],
    forgotten: Iterable[str],
) -> list[EventState]:
    """Decide the state of each event id.

    If a store finds an id in several places, recorded counts before retracted, and retracted
    before forgotten.
    """
    states = {
        **dict.fromkeys(forgotten, EventState(EventStatus.FORGOTTEN)),
        **dict.fromkeys(retracted, EventState(EventStatus.RETRACTED)),
        **{id_: EventState(EventStatus.RECORDED, event) for id_, event in recorded.items()},
    }
    return [states.get(id_, EventState(EventStatus.UNKNOWN)) for id_ in event_ids]


def list_clients_of_event(event: NewInteraction) -> list[NamedClient]:
    """List the clients that an event names.

    These are the user, the item and, if there is one, the negative.
    """
    named = [(_USER, event.user_id), (_ITEM, event.item_id)]
    if event.negative_id is not None:
        named.append((_ITEM, event.negative_id))
    return named


# Read once: a look-up of an enum's member costs as much as the rest of a commit's check.
_USER, _ITEM, _ACCEPTED = ClientKind.USER, ClientKind.ITEM, RecordStatus.ACCEPTED
_UNKNOWN = (RecordStatus.UNKNOWN_USER, RecordStatus.UNKNOWN_ITEM, RecordStatus.UNKNOWN_NEGATIVE)
