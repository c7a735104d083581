"""The log: interactions and entries of other kinds, ordered by sequence."""

import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import orjson

from propagation.adapters.sqlite.connection import (
    Directory,
    SqlitePart,
    get_sequence_at,
    read_many,
    read_one,
    read_recorded_through,
    reads,
    to_json,
)
from propagation.model import F64, I64, EntryKind, Interactions, LogEntry, LogSlice, to_seconds


class SqliteLog(SqlitePart):
    """Reads the log."""

    @reads
    def read_log(self, connection: sqlite3.Connection, after: int, limit: int) -> LogSlice:
        through = min(after + limit, read_recorded_through(connection))
        columns = read_many(
            connection,
            "SELECT json_array(json_group_array(sequence), json_group_array(user >> 1),"
            " json_group_array(item >> 1), json_group_array(coalesce(negative >> 1, -1)),"
            " json_group_array(seed), json_group_array(at / 86400000), json_group_array(time)) FROM"
            " (SELECT * FROM interaction WHERE sequence > ? AND sequence <= ? ORDER BY sequence)",
            after,
            through,
        )
        sequence, user, item, negative, seed, day, time = (
            np.array(column, np.int64) for column in columns
        )
        return LogSlice(
            interactions=Interactions(
                sequence=sequence,
                user=user,
                item=item,
                negative=negative,
                weight=_read_weights(connection, sequence, after, through),
                seed=seed.view(np.uint64),
                day=day,
                time=to_seconds(time),
            ),
            entries=tuple(_read_entries(connection, after, through)),
            through=max(through, after),
        )

    async def read_entries(self, after: int, through: int) -> Sequence[LogEntry]:
        return await self._database.read(
            lambda connection: _read_entries(connection, after, through)
        )

    @reads
    def get_entries_before(
        self,
        connection: sqlite3.Connection,
        sequence: int,
        kinds: Collection[EntryKind],
        limit: int,
    ) -> Sequence[LogEntry]:
        rows = connection.execute(
            "SELECT * FROM log INDEXED BY log_operation WHERE kind <> 'clients' AND sequence < ?"
            " AND kind IN (SELECT value FROM json_each(?)) ORDER BY sequence DESC LIMIT ?",
            (sequence, to_json([kind.value for kind in kinds]), limit),
        )
        return [_build_entry(row) for row in rows]

    async def get_recorded_through(self) -> int:
        return await self._database.read(read_recorded_through, 1)

    async def get_sequence_at(self, time_ms: int) -> int:
        return await self._database.read(lambda connection: get_sequence_at(connection, time_ms))

    @reads
    def get_time_of_next(self, connection: sqlite3.Connection, after: int) -> int:
        times = (
            read_one(
                connection,
                f"SELECT at FROM {table} WHERE sequence > ? ORDER BY sequence LIMIT 1",
                after,
            )
            for table in ("interaction", "log")
        )
        return min((int(time) for time in times if time is not None), default=0)


def append_entry(
    connection: sqlite3.Connection,
    directory: Directory,
    kind: EntryKind,
    refs: Sequence[int] = (),
    number: int = 0,
) -> int:
    """Append a log entry that is no interaction; return its sequence."""
    sequence = directory.take_sequences(1)
    connection.execute(
        "INSERT INTO log VALUES (?, ?, ?, ?, ?)",
        (sequence, kind, to_json(refs), number, directory.now()),
    )
    return sequence


def _read_entries(connection: sqlite3.Connection, after: int, through: int) -> list[LogEntry]:
    return [
        _build_entry(row)
        for row in connection.execute(
            "SELECT * FROM log WHERE sequence > ? AND sequence <= ? ORDER BY sequence",
            (after, through),
        )
    ]


def _build_entry(row: Sequence[Any]) -> LogEntry:
    sequence, kind, refs, number, at = row
    return LogEntry(
        sequence=sequence,
        kind=EntryKind(kind),
        refs=tuple(orjson.loads(refs)),
        number=number,
        time=at,
    )


def _read_weights(connection: sqlite3.Connection, sequence: I64, after: int, through: int) -> F64:
    """Return weights as stored, since JSON would keep 15 digits.

    Nearly all weights are 1, so only the others are read.
    """
    weights = np.ones(len(sequence))
    for number, weight in connection.execute(
        "SELECT sequence, weight FROM interaction WHERE sequence > ? AND sequence <= ? AND weight"
        " <> 1",
        (after, through),
    ):
        weights[np.searchsorted(sequence, number)] = weight
    return weights
