"""RetractInteractions: events taken back, with what they wrote (DESIGN, "State")."""

from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model.interactions.interaction import InteractionRow
from propagation.model.interactions.withdrawal import EventStatus
from propagation.ports.graph.forget import ErasureStore
from propagation.workflow.forget.withdrawal import Outcome, TakingBack


@dataclass(frozen=True)
class RetractionResult:
    """By event id, in the caller's order: whether this call took it back, and how it stood before.
    `sequence`: of the log's entry, 0 where nothing was taken back."""

    events: Sequence[tuple[str, bool, EventStatus]]
    sequence: int = 0
    outcome: Outcome | None = None
    interactions: Sequence[InteractionRow] = ()


class Retraction:
    """All events of a call in one commit."""

    def __init__(self, store: ErasureStore, taking_back: TakingBack) -> None:
        self._store = store
        self._taking_back = taking_back

    async def commit(self, event_ids: Sequence[str]) -> RetractionResult:
        """An id that is named twice is taken back once. A repeat of a retracted event stays a
        repeat. Raises LeaseLost."""
        events: list[tuple[str, bool, EventStatus]] = []
        rows: dict[str, InteractionRow] = {}
        for event_id, (standing, row) in zip(
            event_ids, await self._store.event_statuses(event_ids), strict=True
        ):
            fresh = row is not None and event_id not in rows
            if fresh and row is not None:
                rows[event_id] = row
            events.append(
                (
                    event_id,
                    fresh,
                    EventStatus.RETRACTED if row is not None and not fresh else standing,
                )
            )
        if not rows:
            return RetractionResult(events)
        interactions = sorted(rows.values(), key=lambda row: row.sequence)
        outcome = await self._taking_back.withdraw(interactions)
        return RetractionResult(events, outcome.done.sequence, outcome, interactions)

    async def show(self, outcome: Outcome) -> None:
        """In the vector index and in the view's profiles."""
        await self._taking_back.show(outcome, None, frozenset())
