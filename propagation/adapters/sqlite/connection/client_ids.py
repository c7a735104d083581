"""Ids, the last sequence and the last commit time, held in memory."""

import sqlite3
from bisect import bisect_right

from propagation.adapters.sqlite.connection.json_rows import read_one, read_progress
from propagation.model import ClientKey, ClientKind, compute_ref, get_kind
from propagation.ports import Clock

Changes = dict[tuple[int, str], int | None]
"""Refs of new clients, and None for forgotten ones, by (kind, id)."""
Mark = tuple[Changes, list[int], int, int]


class Directory:
    """Maps ids to refs and back.

    The writer sees the changes of its transaction at once, readers after its commit. The changes of
    a failed transaction are undone.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._committed: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._ids: dict[int, str] = {}
        self._changes: Changes = {}
        self._next = [0, 0]
        self._sequence = 0
        self._at = 0

    def load(self, connection: sqlite3.Connection) -> None:
        """Load all ids, the last sequence and the last commit time."""
        for kind, id_, ref in connection.execute("SELECT kind, id, ref FROM client"):
            self._committed[kind][id_] = ref
            self._ids[ref] = id_
        for kind in ClientKind:
            given = read_progress(connection, f"refs_given_{int(kind)}")
            self._next[kind] = max(
                given, 1 + max((ref >> 1 for ref in self._committed[kind].values()), default=-1)
            )
        self._sequence = read_recorded_through(connection)
        self._at = get_commit_time(connection, self._sequence)

    def mark(self) -> Mark:
        """Return a copy of the state, to which `undo` can go back."""
        return dict(self._changes), list(self._next), self._sequence, self._at

    def undo(self, mark: Mark) -> None:
        """Undo all changes since a mark; a mark can be used once."""
        self._changes, self._next, self._sequence, self._at = mark

    def keep(self) -> None:
        """Make additions and removals visible to readers, after the commit."""
        for (kind, id_), ref in self._changes.items():
            before = self._committed[kind].pop(id_, None)
            if before is not None:
                del self._ids[before]
            if ref is not None:
                self._committed[kind][id_] = ref
                self._ids[ref] = id_
        self._changes.clear()

    def ref(self, kind: int, id_: str) -> int | None:
        """Return the ref that readers see; None for an unknown id."""
        return self._committed[kind].get(id_)

    def key(self, ref: int) -> ClientKey | None:
        """Return the key that readers see; None for an unknown ref."""
        id_ = self._ids.get(ref)
        return None if id_ is None else ClientKey(get_kind(ref), id_)

    def ref_now(self, kind: int, id_: str) -> int | None:
        """Return the ref that the writer sees; None for an unknown id."""
        return self._changes.get((kind, id_), self._committed[kind].get(id_))

    def count(self, kind: ClientKind) -> int:
        """Count the clients of a kind that are committed and not erased."""
        return len(self._committed[kind])

    def add(self, kind: ClientKind, id_: str) -> int:
        """Give a new client a ref."""
        ref = compute_ref(kind, self._next[kind])
        self._next[kind] += 1
        self._changes[int(kind), id_] = ref
        return ref

    def forget(self, kind: int, id_: str) -> None:
        """Remove a client with this transaction; its ref is not given again."""
        self._changes[int(kind), id_] = None

    def take_sequences(self, count: int) -> int:
        """Take `count` new sequences; return the first."""
        self._sequence += count
        return self._sequence - count + 1

    def now(self) -> int:
        """Return the commit time in milliseconds since 1970.

        It never goes back: while the clock is behind the last commit time, it stays at that time.
        """
        self._at = max(self.clock.now_ms(), self._at)
        return self._at


def read_recorded_through(connection: sqlite3.Connection) -> int:
    """Return the last committed sequence."""
    return int(
        read_one(
            connection,
            "SELECT max(coalesce((SELECT max(sequence) FROM interaction), 0),"
            " coalesce((SELECT max(sequence) FROM log), 0))",
        )
    )


def get_commit_time(connection: sqlite3.Connection, sequence: int) -> int:
    """Return when the last stored sequence up to this one was committed.

    The time never falls as the sequence rises. It is 0 if there is none.
    """
    return max(
        read_one(
            connection,
            f"SELECT at FROM {table} WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1",
            sequence,
        )
        or 0
        for table in ("interaction", "log")
    )


def get_sequence_at(connection: sqlite3.Connection, time_ms: int) -> int:
    """Return the last sequence committed at or before a time.

    It is 0 if there is none.
    """
    sequences = range(1, read_recorded_through(connection) + 1)
    return bisect_right(
        sequences, time_ms, key=lambda sequence: get_commit_time(connection, sequence)
    )
