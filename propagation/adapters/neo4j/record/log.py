"""The log, whose end is one node.

A transaction that appends locks that node until its commit.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from propagation.adapters.neo4j.connection import StorePart, Transaction
from propagation.model import (
    ClientKind,
    EntryKind,
    Interactions,
    LogEntry,
    LogSlice,
    compute_ref,
    to_seconds,
)


@dataclass
class LogEnd:
    """The end of the log inside a transaction that has locked it.

    Attributes:
        sequence: The last sequence that was taken.
        next_index: The index of the next user, and that of the next item.
        at: The time of the commit, in milliseconds since 1970.
    """

    sequence: int
    next_index: list[int]
    at: int

    def take_sequences(self, count: int) -> int:
        """Take `count` new sequences; return the first."""
        first = self.sequence + 1
        self.sequence += count
        return first

    def take_ref(self, kind: ClientKind) -> int:
        ref = compute_ref(kind, self.next_index[kind])
        self.next_index[kind] += 1
        return ref


async def lock_log(transaction: Transaction) -> LogEnd:
    """Lock the end of the log until the commit.

    Commits then come in the order of their sequences.
    """
    return build_log_end(
        await transaction.read_single_row("record/log/lock_log", now=transaction.now())
    )


def build_log_end(row: Sequence[Any]) -> LogEnd:
    """Build the end of the log from the first columns of cypher/record/log/lock_log."""
    sequence, users, items, at = row[:4]
    return LogEnd(sequence, [users, items], at)


async def append_entry(
    transaction: Transaction,
    end: LogEnd,
    kind: EntryKind,
    refs: Sequence[int] = (),
    number: int = 0,
) -> int:
    """Append an entry other than an interaction; the caller calls `set_log_end` later.

    Args:
        refs: The clients that the entry concerns, as in LogEntry.
        number: Number of the round, epoch or run, as in LogEntry.

    Returns:
        The entry's sequence.
    """
    sequence = end.take_sequences(1)
    await transaction.execute(
        "record/log/create_entry",
        sequence=sequence,
        kind=kind.value,
        refs=list(refs),
        number=number,
        at=end.at,
    )
    return sequence


async def set_log_end(transaction: Transaction, end: LogEnd) -> None:
    """Store the new end of the log.

    A commit that appends runs this statement last.
    """
    await transaction.execute("record/log/set_log_end", **build_end_parameters(end))


def build_end_parameters(end: LogEnd) -> dict[str, int]:
    """Return the parameters of cypher/record/log/set_log_end."""
    return {
        "sequence": end.sequence,
        "at": end.at,
        "users": end.next_index[0],
        "items": end.next_index[1],
    }


class Neo4jLog(StorePart):
    """Reads the log.

    Neo4j may show the nodes of a commit a moment before or after the end of the log that it set.
    Only withdrawn interactions leave gaps in the log. So if a part has other gaps, it is read again
    after the running commit.
    """

    async def get_recorded_through(self) -> int:
        return int(await self._database.value("record/log/log_end"))

    async def get_sequence_at(self, time_ms: int) -> int:
        return await self._database.value("record/log/sequence_at_time", time=time_ms) or 0

    async def get_time_of_next(self, after: int) -> int:
        return await self._database.value("record/log/time_of_next", after=after) or 0

    async def get_entries_before(
        self, sequence: int, kinds: Collection[EntryKind], limit: int
    ) -> Sequence[LogEntry]:
        rows = await self._database.rows(
            "record/log/entries_before",
            sequence=sequence,
            kinds=[kind.value for kind in kinds],
            limit=limit,
        )
        return [_build_entry(row) for row in rows]

    async def read_log(self, after: int, limit: int) -> LogSlice:
        through = max(after, min(after + limit, await self.get_recorded_through()))
        part = await self._read(after, through)
        short = through - after - len(part.interactions) - len(part.entries)
        if short and short > await self._database.value(
            "record/log/count_gaps", after=after, through=through
        ):
            await self._database.execute("record/log/wait_for_log")
            part = await self._read(after, through)
        return part

    async def _read(self, after: int, through: int) -> LogSlice:
        async def work(transaction: Transaction) -> LogSlice:
            (
                sequence,
                user,
                item,
                negative,
                weight,
                seed,
                day,
                time,
            ) = await transaction.read_single_row(
                "record/log/interactions", after=after, through=through
            )
            interactions = Interactions(
                sequence=np.array(sequence, np.int64),
                user=np.array(user, np.int64) >> 1,
                item=np.array(item, np.int64) >> 1,
                negative=np.array(negative, np.int64) >> 1,
                weight=np.array(weight, np.float64),
                seed=np.array(seed, np.int64).view(np.uint64),
                day=np.array(day, np.int64),
                time=to_seconds(np.array(time, np.int64)),
            )
            return LogSlice(
                interactions=interactions,
                entries=tuple(await _read_entries(transaction, after, through)),
                through=through,
            )

        return await self._database.read(work)

    async def read_entries(self, after: int, through: int) -> Sequence[LogEntry]:
        return await self._database.read(
            lambda transaction: _read_entries(transaction, after, through)
        )


async def _read_entries(transaction: Transaction, after: int, through: int) -> list[LogEntry]:
    return [
        _build_entry(row)
        for row in await transaction.rows("record/log/entries", after=after, through=through)
    ]


def _build_entry(row: Sequence[Any]) -> LogEntry:
    sequence, kind, refs, number, at = row
    return LogEntry(
        sequence=sequence, kind=EntryKind(kind), refs=tuple(refs), number=number, time=at
    )
