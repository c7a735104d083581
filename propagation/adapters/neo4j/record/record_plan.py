"""The contents of one record commit, decided from known events and clients."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import orjson

from propagation.adapters.neo4j.record.clients import Refs
from propagation.adapters.neo4j.record.log import LogEnd
from propagation.adapters.shared.record_outcomes import FORGOTTEN, placed, repeated
from propagation.model.clients.client import Client, ClientKey, ClientKind
from propagation.model.interactions.interaction import NewInteraction, RecordOutcome, RecordStatus
from propagation.ports.graph.record import RecordResult

USER, ITEM = ClientKind.USER, ClientKind.ITEM


@dataclass(frozen=True)
class RecordCall:
    """The events of one caller, which are recorded as a whole or not at all."""

    events: Sequence[NewInteraction]
    auto_create: bool


@dataclass
class Recording:
    """Several calls that share a commit, in order.

    Attributes:
        seen: Content hash and sequence by event id.
        refs: Refs by (kind, id).
        forgotten: Event ids that were forgotten.
    """

    end: LogEnd
    seen: dict[str, tuple[str, int]]
    refs: Refs
    forgotten: AbstractSet[str] = frozenset()
    accepted: list[NewInteraction] = field(default_factory=list)
    created: list[Client] = field(default_factory=list)
    outcomes: list[RecordOutcome | None] = field(default_factory=list)
    creators: list[int] = field(default_factory=list)

    def take(self, call: RecordCall) -> None:
        """Add a call: decide the outcome of each of its events."""
        for event in call.events:
            outcome = (
                FORGOTTEN
                if event.event_id in self.forgotten
                else repeated(self.seen.get(event.event_id), event)
            )
            if outcome is None and not call.auto_create:
                outcome = self._unknown(event)
            self.outcomes.append(outcome)
            if outcome is None:
                self._create(event)
                self.seen[event.event_id] = (event.content_hash, -len(self.accepted) - 1)
                self.accepted.append(event)
        self.creators.append(len(self.created))

    def _unknown(self, event: NewInteraction) -> RecordOutcome | None:
        if (USER, event.user_id) not in self.refs:
            return RecordOutcome(status=RecordStatus.UNKNOWN_USER)
        if (ITEM, event.item_id) not in self.refs:
            return RecordOutcome(status=RecordStatus.UNKNOWN_ITEM)
        if event.negative_id is not None and (ITEM, event.negative_id) not in self.refs:
            return RecordOutcome(status=RecordStatus.UNKNOWN_NEGATIVE)
        return None

    def _create(self, event: NewInteraction) -> None:
        """Create the event's unknown clients."""
        for kind, id_ in ((USER, event.user_id), (ITEM, event.item_id), (ITEM, event.negative_id)):
            if id_ is not None and (kind, id_) not in self.refs:
                ref = self.refs[kind, id_] = self.end.take_ref(kind)
                self.created.append(Client(ref=ref, key=ClientKey(kind=kind, id=id_)))

    def rows(self, first: int) -> list[list[object]]:
        """Return the rows of cypher/record/events/create_interactions."""
        return [
            [
                first + place,
                event.event_id,
                event.content_hash,
                self.refs[USER, event.user_id],
                self.refs[ITEM, event.item_id],
                None if event.negative_id is None else self.refs[ITEM, event.negative_id],
                event.time,
                event.weight,
                _signed(event.seed),
                orjson.dumps(dict(event.metadata)).decode() if event.metadata else None,
            ]
            for place, event in enumerate(self.accepted)
        ]

    def answers(self, calls: Sequence[RecordCall], first: int) -> list[RecordResult]:
        """Return each caller's result."""
        outcomes = placed(self.outcomes, first)
        answers, start, known = [], 0, 0
        for call, created in zip(calls, self.creators, strict=True):
            answers.append(
                RecordResult(
                    outcomes=outcomes[start : start + len(call.events)],
                    created={
                        (int(client.key.kind), client.key.id): client.ref
                        for client in self.created[known:created]
                    },
                )
            )
            start, known = start + len(call.events), created
        return answers


def _signed(value: int) -> int:
    """Convert an unsigned 64-bit number to the signed one that the server stores."""
    return value - (1 << 64) if value >> 63 else value
