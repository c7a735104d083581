"""Removal of the traces that SQLite leaves of deleted rows.

`PRAGMA secure_delete` overwrites rows with zeros as they are deleted. Two kinds of traces stay:
copies of rows in pages that were split or merged, and frames of the write-ahead log. Writing the
file anew removes the copies; emptying the log removes the frames.
"""

import asyncio
import sqlite3

from propagation.adapters.sqlite.connection import read_progress, reads
from propagation.adapters.sqlite.forget.learned_rows import (
    clear_draws,
    find_blocks_naming,
    read_removed_items,
)
from propagation.adapters.sqlite.learn.checkpoints import SqliteCheckpoints
from propagation.model import StoreBusy

TO_WIPE = "to_wipe"
"""Name of the progress number: how many erasures may have left traces."""
LOG_TRIES, LOG_PAUSE_SECONDS = 300, 0.2
LOG_WAIT_MS, BUSY_MS = 50, 30_000


class SqliteWiping(SqliteCheckpoints):
    """Wipes the traces of every erasure so far."""

    wipes_in_seconds = False  # the file is written anew, which holds up commits

    @reads
    def _find_erasures_to_wipe(self, connection: sqlite3.Connection) -> int:
        return read_progress(connection, TO_WIPE)

    async def is_wiping_due(self) -> bool:
        return await self._find_erasures_to_wipe() > 0

    async def wipe(self) -> None:
        erasures = await self._find_erasures_to_wipe()
        await self._clear_draws()
        # Sweep first: numbers that are dropped later would stay in free pages of the new file.
        await self.sweep()
        await self._empty_log()
        # VACUUM is a transaction of its own: if it is killed, the file is as it was.
        await self._database.write(lambda connection: connection.execute("VACUUM"), alone=True)
        await self._empty_log()
        # The number stays if another erasure came since.
        await self._database.write(
            lambda connection: connection.execute(
                "DELETE FROM progress WHERE name = ? AND value = ?", (TO_WIPE, erasures)
            )
        )

    async def _clear_draws(self) -> None:
        """Remove what was drawn of removed items.

        A withdrawal does it for its own; earlier versions left some.
        """
        marked = await self._database.read(read_removed_items)
        if await self._database.read(
            lambda connection: any(find_blocks_naming(connection, marked))
        ):
            await self._database.write(lambda connection: clear_draws(connection, marked))

    async def _empty_log(self) -> None:
        """Empty the write-ahead log.

        Raises:
            StoreBusy: A reader has needed the log for a minute.
        """
        for _ in range(LOG_TRIES):
            if await self._database.write(_empty_log, alone=True):
                return
            await asyncio.sleep(LOG_PAUSE_SECONDS)
        raise StoreBusy(
            f"{self._database.path}: another program has been reading the file for a minute, so"
            " traces of what was erased stay in it; repeat the command when that program has ended"
            " (of forgotten clients, the service wipes them in the night)"
        )


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log into the file, and empty the log.

    Call it outside of a transaction.

    Returns:
        False if a reader, such as a back-up, still needs the log. The call waits only LOG_WAIT_MS
        for readers, because commits wait meanwhile.
    """
    connection.execute(f"PRAGMA busy_timeout={LOG_WAIT_MS}")
    try:
        return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
