"""Interactions that are recorded and not learned yet, for `exclude_seen`."""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter

from propagation.model import LogSlice, NewInteraction, RecordOutcome, RecordStatus

Name = str | int


class PendingEvents:
    """Recorded (user, item) pairs by user, dropped once they are learned.

    A pair has ids if this process recorded it, and rows if it was read from the log. Events of
    other processes are gaps until their part of the log is read.
    """

    def __init__(self) -> None:
        self._items: dict[Name, deque[tuple[int, Name]]] = {}
        self._order: deque[tuple[int, Name]] = deque()
        self._known: list[list[int]] = []
        self._learned = 0

    def __len__(self) -> int:
        return len(self._order)

    def add_recorded(
        self,
        events: Sequence[NewInteraction],
        outcomes: Sequence[RecordOutcome],
        *,
        has_clients_entry: bool = False,
    ) -> None:
        """Add events that this process has recorded.

        Args:
            events: The events.
            outcomes: What became of each.
            has_clients_entry: Whether an entry for created clients stands just before the events.
        """
        new = [
            (outcome.sequence, event.user_id, event.item_id)
            for event, outcome in zip(events, outcomes, strict=True)
            if outcome.status is RecordStatus.ACCEPTED
        ]
        if not new:
            return
        last = max(self._known[-1][1] if self._known else 0, self._learned)
        is_newer = new[0][0] > last  # nearly always
        for sequence, user, item in new:
            if is_newer:
                self._items.setdefault(user, deque()).append((sequence, item))
                self._order.append((sequence, user))
            elif not self._knows(sequence):
                self._note(sequence, user, item)
        self._mark_range_known(new[0][0] - (2 if has_clients_entry else 1), new[-1][0])

    def note_entry(self, sequence: int) -> None:
        """Note this process' entry without interactions, so that it is no gap."""
        self._mark_range_known(sequence - 1, sequence)

    def add_log(self, after: int, part: LogSlice) -> None:
        """Add a part of the log that begins after a sequence."""
        for sequence, user, item in zip(
            part.interactions.sequence.tolist(),
            part.interactions.user.tolist(),
            part.interactions.item.tolist(),
            strict=True,
        ):
            if not self._knows(sequence):
                self._note(sequence, user, item)
        self._mark_range_known(after, part.through)

    def find_gaps(self, through: int) -> list[tuple[int, int]]:
        """Return the unread parts of the log up to a sequence.

        Returns:
            Pairs (after, through), ascending.
        """
        found, at = [], self._learned
        for after, end in self._known:
            if after > at and at < through:
                found.append((at, min(after, through)))
            at = max(at, end)
        return [*found, (at, through)] if at < through else found

    def drop_learned(self, through: int) -> None:
        """Drop events that the numbers reflect, up to a sequence."""
        self._learned = max(self._learned, through)
        while self._known and self._known[0][1] <= self._learned:
            del self._known[0]
        while self._order and self._order[0][0] <= through:
            _, user = self._order.popleft()
            items = self._items.get(user)
            while items and items[0][0] <= through:
                items.popleft()
            if not items:
                self._items.pop(user, None)

    def forget(self, names: Iterable[Name]) -> None:
        """Drop the events of erased users, given by id or row."""
        for name in names:
            self._items.pop(name, None)

    def drop_withdrawn(self, sequences: Collection[int]) -> None:
        """Drop events that were withdrawn."""
        for name, items in list(self._items.items()):
            remaining = deque(pair for pair in items if pair[0] not in sequences)
            if len(remaining) < len(items):
                self._items[name] = remaining

    def list_ids(self, user_id: str) -> list[str]:
        """Return ids of a user's pending items that this process recorded."""
        return [item for _, item in self._items.get(user_id, ()) if isinstance(item, str)]

    def list_rows(self, user_row: int) -> list[int]:
        """Return rows of a user's pending items that the log named."""
        return [item for _, item in self._items.get(user_row, ()) if isinstance(item, int)]

    def _note(self, sequence: int, user: Name, item: Name) -> None:
        """Insert an event by its sequence.

        An event that is read late comes before those that were recorded here meanwhile.
        """
        insort(self._items.setdefault(user, deque()), (sequence, item), key=itemgetter(0))
        insort(self._order, (sequence, user), key=itemgetter(0))

    def _knows(self, sequence: int) -> bool:
        place = bisect_left(self._known, sequence, key=lambda part: part[1])
        return sequence <= self._learned or (
            place < len(self._known) and self._known[place][0] < sequence
        )

    def _mark_range_known(self, after: int, through: int) -> None:
        """Add a known part (after, through], and join parts that touch."""
        if through <= self._learned:
            return
        place = bisect_left(self._known, after, key=lambda part: part[1])
        end = place
        while end < len(self._known) and self._known[end][0] <= through:
            after, through = min(after, self._known[end][0]), max(through, self._known[end][1])
            end += 1
        self._known[place:end] = [[after, through]]
