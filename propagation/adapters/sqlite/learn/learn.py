"""LearnStore on SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence

from propagation.adapters.shared.learned_blocks import packed, taste_written_by, unpacked
from propagation.adapters.sqlite.connection.client_ids import Directory
from propagation.adapters.sqlite.connection.database import Database
from propagation.adapters.sqlite.connection.json_rows import one
from propagation.adapters.sqlite.connection.leases import check_fence
from propagation.adapters.sqlite.learn.checkpoints import SqliteCheckpoints, completed, covers
from propagation.adapters.sqlite.record.record import append_entry
from propagation.model import Checkpoint, EntryKind, Epoch, LearnedBlock, LeaseLost
from propagation.ports import Lease

BLOCK = "start, through, epoch, size, columns"
EPOCH = "number, sequence, session_k, taste_k, tau, embedder, era"


class SqliteLearn(SqliteCheckpoints):
    """Stores blocks of learned columns, checkpoints and epochs."""

    def __init__(self, database: Database, directory: Directory) -> None:
        SqliteCheckpoints.__init__(self, database)
        self._database = database
        self._directory = directory

    async def commit_learned(self, lease: Lease, block: LearnedBlock) -> None:
        row = _row(block)

        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            through = learned_through(connection)
            if block.after != through:
                raise LeaseLost(
                    f"this block starts after sequence {block.after}, but the store has "
                    "learned "
                    f"through {through}"
                )
            connection.execute(f"INSERT INTO learned ({BLOCK}) VALUES (?, ?, ?, ?, ?)", row)
            connection.execute(
                "INSERT INTO trust_delta VALUES (?, ?, ?)",
                (block.through, block.trust.tobytes(), block.combiner.tobytes()),
            )

        await self._database.write(work)

    async def read_learned(self, after: int, limit: int) -> Sequence[LearnedBlock]:
        def work(connection: sqlite3.Connection) -> Sequence[LearnedBlock]:
            rows = connection.execute(
                "SELECT start, l.through, epoch, size, columns, trust, combiner FROM learned l "
                "LEFT JOIN trust_delta t"
                " ON t.through = l.through WHERE l.through > ? ORDER BY l.through LIMIT ?",
                (after, limit),
            )
            return [unpacked(*row) for row in rows]

        return await self._database.read(work)

    async def taste_written(
        self, sequences: Sequence[int]
    ) -> Mapping[int, Sequence[tuple[int, float]]]:
        def work(connection: sqlite3.Connection) -> Mapping[int, Sequence[tuple[int, float]]]:
            found: dict[int, Sequence[tuple[int, float]]] = {}
            block: LearnedBlock | None = None
            for sequence in sorted(set(sequences)):
                if block is None or sequence > block.through:
                    row = connection.execute(
                        f"SELECT {BLOCK} FROM learned WHERE through >= ? ORDER BY through LIMIT 1",
                        (sequence,),
                    ).fetchone()
                    if row is None:
                        break
                    block = unpacked(*row)
                if written := taste_written_by(block, sequence):
                    found[sequence] = written
            return found

        return await self._database.read(work)

    async def learned_through(self) -> int:
        return await self._database.read(learned_through)

    async def replace_learned(
        self, lease: Lease, blocks: Sequence[LearnedBlock], *, first: bool
    ) -> None:
        rows = [_row(block) for block in blocks]

        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            if first:
                connection.execute("DELETE FROM staged_learned")
            connection.executemany(
                f"INSERT INTO staged_learned ({BLOCK}) VALUES (?, ?, ?, ?, ?)", rows
            )

        await self._database.write(work)

    async def open_epoch(self, lease: Lease, epoch: Epoch, start: Checkpoint) -> int:
        id_ = (await self.stage_checkpoint(lease, start)).id

        def work(connection: sqlite3.Connection) -> int:
            check_fence(connection, lease)
            sequence = append_entry(
                connection, self._directory, EntryKind.BOOTSTRAP, (), epoch.number
            )
            connection.execute("DELETE FROM learned WHERE through <= ?", (start.sequence,))
            connection.execute(f"INSERT INTO learned ({BLOCK}) SELECT {BLOCK} FROM staged_learned")
            connection.execute("DELETE FROM staged_learned")
            connection.execute(
                "UPDATE vacant SET learned = 0 WHERE sequence <= ?", (start.sequence,)
            )
            put_epoch(connection, epoch, sequence)
            completed(connection, id_)
            covers(connection, start.sequence)
            return sequence

        sequence = await self._database.write(work)
        await self.sweep_checkpoints()
        return sequence

    async def current_epoch(self) -> Epoch | None:
        epochs = await self.epochs()
        return epochs[-1] if epochs else None

    async def fix_tau(self, lease: Lease, number: int, tau: float) -> None:
        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            connection.execute("UPDATE epoch SET tau = ? WHERE number = ?", (tau, number))

        await self._database.write(work)

    async def epochs(self) -> Sequence[Epoch]:
        return await self._database.read(
            lambda connection: [
                Epoch(**dict(zip(EPOCH.split(", "), row, strict=True)))
                for row in connection.execute(f"SELECT {EPOCH} FROM epoch ORDER BY number")
            ]
        )


def put_epoch(connection: sqlite3.Connection, epoch: Epoch, sequence: int) -> None:
    """Insert an epoch."""
    connection.execute(
        f"INSERT INTO epoch ({EPOCH}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            epoch.number,
            sequence,
            epoch.session_k,
            epoch.taste_k,
            epoch.tau,
            epoch.embedder,
            epoch.era,
        ),
    )


def learned_through(connection: sqlite3.Connection) -> int:
    """Return the last learned sequence."""
    return int(one(connection, "SELECT coalesce(max(through), 0) FROM learned"))


def _row(block: LearnedBlock) -> tuple[object, ...]:
    return block.after, block.through, block.epoch, len(block.sequence), packed(block)
