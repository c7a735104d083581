"""Interactions that are recorded and not learned yet: what `exclude_seen` must know before the numbers do."""

from collections import deque
from collections.abc import Sequence

from propagation.model.interaction import NewInteraction, RecordOutcome, RecordStatus
from propagation.model.log import Interactions

Name = str | int


class Unlearned:
    """(user, item) pairs by user, from the record path by id and from the log at start by row; dropped once learned."""

    def __init__(self) -> None:
        self._items: dict[Name, deque[tuple[int, Name]]] = {}
        self._order: deque[tuple[int, Name]] = deque()

    def __len__(self) -> int:
        return len(self._order)

    def recorded(self, events: Sequence[NewInteraction], outcomes: Sequence[RecordOutcome]) -> None:
        """What this process just recorded."""
        for event, outcome in zip(events, outcomes, strict=True):
            if outcome.status is RecordStatus.ACCEPTED:
                self._note(outcome.sequence, event.user_id, event.item_id)

    def logged(self, interactions: Interactions) -> None:
        """A part of the log that no one has learned."""
        for sequence, user, item in zip(interactions.sequence.tolist(), interactions.user.tolist(), interactions.item.tolist(),
                                        strict=True):
            self._note(sequence, user, item)

    def _note(self, sequence: int, user: Name, item: Name) -> None:
        self._items.setdefault(user, deque()).append((sequence, item))
        self._order.append((sequence, user))

    def learned(self, through: int) -> None:
        """Numbers reflect everything up to `through`."""
        while self._order and self._order[0][0] <= through:
            _, user = self._order.popleft()
            items = self._items.get(user)
            while items and items[0][0] <= through:
                items.popleft()
            if not items:
                self._items.pop(user, None)

    def ids_of(self, user_id: str) -> list[str]:
        """Items, by id, of a user's recorded interactions."""
        return [item for _, item in self._items.get(user_id, ()) if isinstance(item, str)]

    def rows_of(self, user_row: int) -> list[int]:
        """Items, by row, of a user's interactions from the log."""
        return [item for _, item in self._items.get(user_row, ()) if isinstance(item, int)]
