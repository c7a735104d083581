"""The history of operations: bootstraps, rounds, evolution runs, retractions and erasures."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from propagation.model import EntryKind, EvolutionRun, LogEntry, Round
from propagation.ports import GraphStore

OPERATIONS = frozenset(EntryKind) - {EntryKind.CLIENTS}
NEWEST = 1 << 56  # above every number of an entry or a run
RUNS_A_READ = 1_000


@dataclass(frozen=True)
class Operation:
    """An operation that was committed.

    Attributes:
        sequence: Of its log entry; 0 for an evolution run that was not published.
        time: Milliseconds since 1970.
        entry: Its log entry; None for an evolution run.
        round: The round, of kind ROUND.
        run: The run, of kind EVOLUTION.
    """

    kind: EntryKind
    sequence: int
    time: int
    entry: LogEntry | None = None
    round: Round | None = None
    run: EvolutionRun | None = None


@dataclass(frozen=True)
class OperationPlace:
    """A place in the history: before an entry and before a run.

    Attributes:
        sequence: Of the log's entry.
        run: Number of the evolution run.
    """

    sequence: int
    run: int


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
        return OperationPlace(NEWEST, NEWEST)
    sequence = await store.get_sequence_at(until - 1)
    run = NEWEST
    while runs := await store.get_evolution_runs(RUNS_A_READ, run):
        older = next((one for one in runs if one.time < until), None)
        if older is not None:
            return OperationPlace(sequence + 1, older.run + 1)
        run = runs[-1].run
    return OperationPlace(sequence + 1, 1)


async def list_operations(
    store: GraphStore,
    kinds: Collection[EntryKind],
    since: int,
    place: OperationPlace,
    size: int,
) -> OperationPage:
    """List operations, newest first.

    Evolution runs that were not published have no entry in the log. So all runs are read from their
    own list, and joined with the log's other entries by time.

    Args:
        kinds: A part of OPERATIONS.
        since: Only operations at this time or later, in milliseconds since 1970.
        place: Only operations before this place.
        size: How many operations at most.
    """
    logged = [kind for kind in kinds if kind != EntryKind.EVOLUTION]
    entries = await store.get_entries_before(place.sequence, logged, size + 1) if logged else ()
    runs = (
        await store.get_evolution_runs(size + 1, place.run) if EntryKind.EVOLUTION in kinds else ()
    )
    rounds = await _load_rounds(store, entries)
    merged = sorted(
        (
            *(
                Operation(entry.kind, entry.sequence, entry.time, entry, rounds.get(entry.sequence))
                for entry in entries
            ),
            *(Operation(EntryKind.EVOLUTION, run.sequence, run.time, run=run) for run in runs),
        ),
        key=lambda one: -one.time,  # both lists are in this order already, and it is kept
    )
    recent = [one for one in merged if one.time >= since]
    shown = recent[:size]
    if len(recent) == len(shown):
        return OperationPage(shown, None)
    last_entry = next((one.entry for one in reversed(shown) if one.entry is not None), None)
    last_run = next((one.run for one in reversed(shown) if one.run is not None), None)
    following = OperationPlace(
        last_entry.sequence if last_entry else place.sequence,
        last_run.run if last_run else place.run,
    )
    return OperationPage(shown, following)


async def _load_rounds(store: GraphStore, entries: Sequence[LogEntry]) -> dict[int, Round]:
    """Load the rounds of these entries, by sequence."""
    numbers = [entry.number for entry in entries if entry.kind == EntryKind.ROUND]
    if not numbers:
        return {}
    first = min(numbers)
    rounds = await store.get_rounds_after(first - 1, max(numbers) - first + 1)
    return {round_.sequence: round_ for round_ in rounds}
