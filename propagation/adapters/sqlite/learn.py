"""LearnStore on SQLite."""

import sqlite3
from collections.abc import Sequence

import numpy as np
import orjson

from propagation.adapters.sqlite.columns import packed, unpacked
from propagation.adapters.sqlite.database import Database
from propagation.adapters.sqlite.leases import check_fence
from propagation.adapters.sqlite.record import SqliteRecords
from propagation.adapters.sqlite.rows import dumped, one
from propagation.model.epoch import Epoch
from propagation.model.learned import Checkpoint, LearnedBlock
from propagation.model.log import EntryKind
from propagation.ports.leases import Lease

PART_BYTES = 4 << 20


class SqliteLearn:
    """Blocks of learned columns, checkpoints in parts, epochs."""

    def __init__(self, database: Database, records: SqliteRecords) -> None:
        self._database = database
        self._records = records

    async def commit_learned(self, lease: Lease, block: LearnedBlock) -> None:
        columns = packed(block)

        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            connection.execute("INSERT INTO learned VALUES (?, ?, ?, ?)",
                               (block.through, block.epoch, len(block.sequence), columns))
            connection.execute("INSERT INTO trust_delta VALUES (?, ?, ?)",
                               (block.through, block.trust.tobytes(), block.combiner.tobytes()))

        await self._database.write(work)

    async def read_learned(self, after: int, limit: int) -> Sequence[LearnedBlock]:
        def work(connection: sqlite3.Connection) -> Sequence[LearnedBlock]:
            rows = connection.execute(
                "SELECT l.through, epoch, size, columns, trust, combiner FROM learned l LEFT JOIN trust_delta t"
                " ON t.through = l.through WHERE l.through > ? ORDER BY l.through LIMIT ?", (after, limit))
            return [unpacked(*row) for row in rows]

        return await self._database.read(work)

    async def learned_through(self) -> int:
        return await self._database.read(learned_through)

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        id_ = await self._stage_checkpoint(lease, checkpoint)
        await self._database.write(lambda connection: _complete(connection, lease, id_))

    async def _stage_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> int:
        def begin(connection: sqlite3.Connection) -> int:
            check_fence(connection, lease)
            connection.execute("DELETE FROM checkpoint_part WHERE checkpoint IN (SELECT id FROM checkpoint WHERE NOT complete)")
            connection.execute("DELETE FROM checkpoint WHERE NOT complete")
            return int(connection.execute("INSERT INTO checkpoint (sequence, epoch, barrier) VALUES (?, ?, ?)",
                                          (checkpoint.sequence, checkpoint.epoch, checkpoint.barrier)).lastrowid or 0)

        id_ = await self._database.write(begin)
        for name, array in checkpoint.arrays.items():
            data = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
            for part, start in enumerate(range(0, max(len(data), 1), PART_BYTES)):
                row = (id_, name, part, array.dtype.str, dumped(array.shape), bytes(data[start : start + PART_BYTES]))
                await self._database.write(lambda connection, row=row: connection.execute(  # type: ignore[misc]
                    "INSERT INTO checkpoint_part VALUES (?, ?, ?, ?, ?, ?)", row))
        return id_

    async def newest_checkpoint(self, *, barrier: bool = False) -> Checkpoint | None:
        def work(connection: sqlite3.Connection) -> Checkpoint | None:
            row = connection.execute("SELECT id, sequence, epoch, barrier FROM checkpoint WHERE complete AND barrier >= ?"
                                     " ORDER BY id DESC LIMIT 1", (barrier,)).fetchone()
            if row is None:
                return None
            parts: dict[str, list[bytes]] = {}
            forms: dict[str, tuple[str, str]] = {}
            for name, dtype, shape, data in connection.execute(
                    "SELECT name, dtype, shape, data FROM checkpoint_part WHERE checkpoint = ? ORDER BY name, part", (row[0],)):
                parts.setdefault(name, []).append(data)
                forms[name] = (dtype, shape)
            arrays = {name: np.frombuffer(bytearray(b"".join(data)), forms[name][0]).reshape(orjson.loads(forms[name][1]))
                      for name, data in parts.items()}
            return Checkpoint(sequence=row[1], epoch=row[2], barrier=bool(row[3]), arrays=arrays)

        return await self._database.read(work)

    async def replace_learned(self, lease: Lease, blocks: Sequence[LearnedBlock], *, first: bool) -> None:
        rows = [(block.through, block.epoch, len(block.sequence), packed(block)) for block in blocks]

        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            if first:
                connection.execute("DELETE FROM staged_learned")
            connection.executemany("INSERT INTO staged_learned VALUES (?, ?, ?, ?)", rows)

        await self._database.write(work)

    async def open_epoch(self, lease: Lease, epoch: Epoch, start: Checkpoint) -> int:
        id_ = await self._stage_checkpoint(lease, start)

        def work(connection: sqlite3.Connection) -> int:
            sequence = self._records.append_now(connection, EntryKind.BOOTSTRAP, epoch.number)
            connection.execute("DELETE FROM learned WHERE through <= ?", (start.sequence,))
            connection.execute("DELETE FROM trust_delta WHERE through <= ?", (start.sequence,))
            connection.execute("INSERT INTO learned SELECT * FROM staged_learned")
            connection.execute("DELETE FROM staged_learned")
            connection.execute("INSERT INTO epoch VALUES (?, ?, ?, ?, ?, ?)",
                               (epoch.number, sequence, epoch.session_k, epoch.taste_k, epoch.tau, epoch.embedder))
            _complete(connection, lease, id_)
            return sequence

        return await self._database.write(work)

    async def current_epoch(self) -> Epoch | None:
        def work(connection: sqlite3.Connection) -> Epoch | None:
            row = connection.execute("SELECT * FROM epoch ORDER BY number DESC LIMIT 1").fetchone()
            return None if row is None else Epoch(number=row[0], sequence=row[1], session_k=row[2], taste_k=row[3],
                                                  tau=row[4], embedder=row[5])

        return await self._database.read(work)


def learned_through(connection: sqlite3.Connection) -> int:
    return int(one(connection, "SELECT coalesce(max(through), 0) FROM learned"))


def _complete(connection: sqlite3.Connection, lease: Lease, id_: int) -> None:
    check_fence(connection, lease)
    connection.execute("UPDATE checkpoint SET complete = 1 WHERE id = ?", (id_,))
    connection.execute("DELETE FROM checkpoint_part WHERE checkpoint IN"
                       " (SELECT id FROM checkpoint WHERE id < ? AND NOT barrier)", (id_,))
    connection.execute("DELETE FROM checkpoint WHERE id < ? AND NOT barrier", (id_,))
    connection.execute("DELETE FROM trust_delta WHERE through <= (SELECT sequence FROM checkpoint WHERE id = ?)", (id_,))
