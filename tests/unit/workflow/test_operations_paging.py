"""Pages of the history, where a clock went back."""

import pytest

from propagation.model import Backup, EntryKind, LogEntry
from propagation.workflow.history.operations import (
    OperationKind,
    find_operation_place,
    list_operations,
)

SEQUENCES_AND_TIMES = ((10, 5), (9, 8), (8, 3))
BACKUP_TIMES = (4, 6)


class Log:
    """A store that has entries and back-ups only."""

    async def get_entries_before(self, sequence, kinds, limit):
        return [
            LogEntry(sequence=number, time=time, kind=EntryKind.ERASURE, refs=(1,), number=0)
            for number, time in SEQUENCES_AND_TIMES
            if number < sequence and EntryKind.ERASURE in kinds
        ][:limit]

    async def get_evolution_runs(self, limit, before):
        return []

    async def list_backups(self):
        return [Backup(time=time, file=f"b{time}", bytes=1) for time in BACKUP_TIMES]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
async def test_each_operation_is_shown_once(size):
    store, found = Log(), []
    place = await find_operation_place(store, None)
    while place is not None:
        page = await list_operations(store, list(OperationKind), 0, place, size)
        found += page.operations
        place = page.next_place
    entries = [one.sequence for one in found if one.entry is not None]
    assert entries == [10, 9, 8]
    assert [one.time for one in found if one.backup is not None] == [6, 4]
