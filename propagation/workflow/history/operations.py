"""The history of operations: rounds, evolution runs, withdrawals, back-ups, bootstraps."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import merge

from propagation.model import Backup, EntryKind, EvolutionRun, LogEntry, Round
from propagation.ports import GraphStore


class OperationKind(StrEnum):
    """Kinds of operations.

    Those of the log have the value of their EntryKind.
    """

    BOOTSTRAP = "bootstrap"
    ROUND = "round"
    EVOLUTION = "evolution"
    RETRACTION = "retraction"
    ERASURE = "erasure"
    FACTORS = "factors"
    BACKUP = "backup"


# Evolution runs that were not published have no entry in the log, so all have a list of their own.
LISTED_ELSEWHERE = {OperationKind.EVOLUTION, OperationKind.BACKUP}
NEWEST = 1 << 56  # above every number of an entry or a run, and every time
RUNS_A_READ = 1_000


@dataclass(frozen=True)
class Operation:
    """An operation that was committed.

    Attributes:
        time: Milliseconds since 1970.
        entry: Its log entry; None for an evolution run and a back-up.
        round: The round, of kind ROUND.
        run: The run, of kind EVOLUTION.
        backup: The back-up, of kind BACKUP.
    """

    kind: OperationKind
    time: int
    entry: LogEntry | None = None
    round: Round | None = None
    run: EvolutionRun | None = None
    backup: Backup | None = None

    @property
    def sequence(self) -> int:
        """Return the sequence of the log; 0 if it has none."""
        if self.run is not None:
            return self.run.sequence
        return 0 if self.entry is None else self.entry.sequence


@dataclass(frozen=True)
class OperationPlace:
    """A place in the history.

    It is before an entry, before a run and before a back-up.

    Attributes:
        sequence: Of the log's entry.
        run: Number of the evolution run.
        backup: Time of the back-up, in milliseconds since 1970.
    """

    sequence: int
    run: int
    backup: int


@dataclass(frozen=True)
class OperationPage:
    """One page of the history.

    Attributes:
        next_place: The place before which the next page begins; None on the last page.
    """

    operations: Sequence[Operation]
    next_place: OperationPlace | None


async def find_operation_place(store: GraphStore, until: int | None) -> OperationPlace:
    """Return the place before which operations are older than a time.

    Args:
        until: Milliseconds since 1970; None: the newest end of the history.
    """
    if until is None:
        return OperationPlace(NEWEST, NEWEST, NEWEST)
    sequence = await store.get_sequence_at(until - 1)
    run = NEWEST
    while runs := await store.get_evolution_runs(RUNS_A_READ, run):
        older = next((one for one in runs if one.time < until), None)
        if older is not None:
            return OperationPlace(sequence + 1, older.run + 1, until)
        run = runs[-1].run
    return OperationPlace(sequence + 1, 1, until)


async def list_operations(
    store: GraphStore,
    kinds: Collection[OperationKind],
    since: int,
    place: OperationPlace,
    size: int,
) -> OperationPage:
    """List operations, newest first: those of the log, evolution runs and back-ups.

    Args:
        since: Only operations at this time or later, in milliseconds since 1970.
        place: Only operations before this place.
        size: How many operations at most.
    """
    lists: list[list[Operation]] = []
    if logged := [EntryKind(kind) for kind in kinds if kind not in LISTED_ELSEWHERE]:
        entries = await store.get_entries_before(place.sequence, logged, size + 1)
        rounds = await _load_rounds(store, entries)
        lists.append(
            [
                Operation(OperationKind(entry.kind), entry.time, entry, rounds.get(entry.sequence))
                for entry in entries
            ]
        )
    if OperationKind.EVOLUTION in kinds:
        runs = await store.get_evolution_runs(size + 1, place.run)
        lists.append([Operation(OperationKind.EVOLUTION, run.time, run=run) for run in runs])
    if OperationKind.BACKUP in kinds:
        lists.append(
            [
                Operation(OperationKind.BACKUP, backup.time, backup=backup)
                for backup in reversed(await store.list_backups())
                if backup.time < place.backup
            ]
        )
    # Each list keeps its order, also where a clock went back: `_move` goes by it.
    found = merge(*lists, key=lambda one: -one.time)
    recent = [one for one in found if one.time >= since]
    shown = recent[:size]
    return OperationPage(shown, _move(place, shown) if len(recent) > size else None)


def _move(place: OperationPlace, shown: Sequence[Operation]) -> OperationPlace:
    """Return the place behind the operations of a page."""
    sequence, run, backup = place.sequence, place.run, place.backup
    for one in shown:
        if one.entry is not None:
            sequence = one.entry.sequence
        elif one.run is not None:
            run = one.run.run
        else:
            backup = one.time
    return OperationPlace(sequence, run, backup)


async def _load_rounds(store: GraphStore, entries: Sequence[LogEntry]) -> dict[int, Round]:
    """Load the rounds of these entries, by sequence."""
    numbers = [entry.number for entry in entries if entry.kind == EntryKind.ROUND]
    if not numbers:
        return {}
    first = min(numbers)
    rounds = await store.get_rounds_after(first - 1, max(numbers) - first + 1)
    return {round_.sequence: round_ for round_ in rounds}
