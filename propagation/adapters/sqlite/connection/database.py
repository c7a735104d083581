"""A SQLite file with one writer thread and a few readers.

The file is in WAL mode with synchronous=FULL, and the writer commits in groups.

Rows go in and out as JSON in one statement (`json_each`, `json_group_array`). So a statement leaves
the interpreter lock once, however many rows it has.
"""

import asyncio
import contextlib
import logging
import os
import queue
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from propagation.adapters.shared.background import BackgroundWork
from propagation.adapters.sqlite.connection.client_ids import Directory
from propagation.adapters.sqlite.connection.json_rows import read_one
from propagation.adapters.sqlite.connection.lock import hold_database
from propagation.adapters.sqlite.connection.schema import (
    ReadConnection,
    make_file,
    open_file,
    translate_error,
    translate_errors,
)
from propagation.atomic_file import drop_partial_files
from propagation.graph_rules import check_lease
from propagation.grouping import group_pairs
from propagation.model import StoreBusy, StoreCorrupt
from propagation.ports import Lease

GROUP = 64
READERS = 4
FEW_ROWS = 64
T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(slots=True)
class QueuedWork:
    """A function that waits for the writer.

    Attributes:
        done: Belongs to the caller's event loop, so only `_deliver` sets it.
        alone: Whether it must run outside of a transaction.
        error: Why it failed; None: it has a result.
    """

    run: Callable[[sqlite3.Connection], object]
    done: "asyncio.Future[Any]"
    alone: bool
    result: object = None
    error: BaseException | None = None


class Database:
    """Runs functions on connections: writes in grouped commits, reads concurrently.

    Args:
        directory: The ids that the store holds in memory; they follow every commit and rollback.

    Attributes:
        after_commit: Background work that follows commits; it must be finished before closing.
    """

    def __init__(self, path: Path, directory: Directory) -> None:
        self.path = path.resolve()
        self.directory = directory
        self._damage: StoreCorrupt | None = None
        self._queue: queue.SimpleQueue[QueuedWork | None] = queue.SimpleQueue()
        self._readers: ThreadPoolExecutor | None = None
        # The event loop must not wait while another program locks the file.
        self._on_loop = ReadConnection(self.path, patience_seconds=0)
        # Each thread that reads has a connection of its own.
        self._by_thread: defaultdict[int, ReadConnection] = defaultdict(
            lambda: ReadConnection(self.path)
        )
        self._opened = contextlib.ExitStack()
        self.after_commit = BackgroundWork()

    def open(self) -> None:
        """Lock the file, check and migrate its schema, and start the threads.

        All leases and claims are freed, because the processes that held them have ended.
        """
        make_file(self.path)
        with contextlib.ExitStack() as opened:
            opened.enter_context(hold_database(self.path))
            with translate_errors(self.path):
                connection = opened.enter_context(contextlib.closing(open_file(self.path)))
                self.directory.load(connection)
                free_all(connection)
            if partials := drop_partial_files(self.path):
                log.warning(
                    "deleted %s: a copy that a killed command had begun",
                    ", ".join(path.name for path in partials),
                )
            self._place = self.path.stat()
            writer = threading.Thread(
                target=self._write_loop, args=(connection,), name="sqlite-writer", daemon=True
            )
            writer.start()
            # Callbacks run in reverse order: the writer is told to end, then it is joined.
            opened.callback(writer.join)
            opened.callback(self._queue.put, None)
            self._opened = opened.pop_all()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")

    def close(self) -> None:
        """Commit all queued work, then release the file."""
        if self._readers is not None:
            self._readers.shutdown()
            self._readers = None
        for reader in (self._on_loop, *self._by_thread.values()):
            reader.close()
        self._opened.close()

    async def write(
        self, work: Callable[[sqlite3.Connection], T], *leases: Lease, alone: bool = False
    ) -> T:
        """Run `work` in a transaction that waiting writes share.

        The call returns after the durable commit. If it is cancelled before its turn, nothing is
        written; if it is cancelled later, `work` is committed all the same.

        Args:
            leases: Leases that are checked in the same transaction, before the work.
            alone: Run `work` between commits instead, outside any transaction.

        Returns:
            The result of `work`.

        Raises:
            LeaseLost: Another holder has taken a lease over.
        """

        def run(connection: sqlite3.Connection) -> T:
            for lease in leases:
                check_lease(
                    lease,
                    read_one(connection, "SELECT token FROM lease WHERE name = ?", lease.name),
                )
            return work(connection)

        if self._readers is None:
            raise StoreBusy(f"{self.path} is closed")
        if self._damage is not None:
            raise StoreCorrupt(str(self._damage))
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(QueuedWork(run, done, alone))
        return await done

    async def read(self, work: Callable[[sqlite3.Connection], T], rows: int | None = None) -> T:
        """Run `work` on a read connection, in one snapshot.

        Args:
            rows: An upper bound of the rows that `work` reads by key; None: unknown. Few rows are
                read on the event loop, because the round trip to a thread would take longer.
        """
        if self._readers is None:
            raise StoreBusy(f"{self.path} is closed")
        if rows is not None and rows <= FEW_ROWS:
            with contextlib.suppress(StoreBusy):  # a thread may wait for the file
                return self._read(self._on_loop, work)
        return await asyncio.get_running_loop().run_in_executor(
            self._readers, lambda: self._read(self._by_thread[threading.get_ident()], work)
        )

    def _read(self, reader: ReadConnection, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return reader.read(work)
        except StoreCorrupt as damage:
            self._translate(damage)  # remembers the damage
            raise

    def _translate(self, error: BaseException) -> BaseException:
        """Translate an error, and remember damage to the file.

        No write is accepted after damage, because its acknowledgement could not be trusted.
        """
        ours = translate_error(error, self.path)
        if type(ours) is StoreCorrupt:  # damaged numbers can be made again from the log
            self._damage = ours
        return ours

    def _write_loop(self, connection: sqlite3.Connection) -> None:
        stopping = False
        while not stopping:
            group, stopping = self._take_next_group()
            ready = [work for work in group if not work.done.cancelled()]
            together = [work for work in ready if not work.alone]
            self._commit(together, connection)
            _deliver(together)
            for work in ready:
                if work.alone:
                    self._run_alone(work, connection)
                    _deliver([work])

    def _take_next_group(self) -> tuple[list[QueuedWork], bool]:
        """Wait for work, and take what is queued, up to GROUP functions.

        Work that runs alone ends a group, so that work keeps its order.

        Returns:
            The group, and whether the database is closing.
        """
        group: list[QueuedWork] = []
        work = self._queue.get()
        while work is not None:
            group.append(work)
            if work.alone or len(group) == GROUP:
                return group, False
            try:
                work = self._queue.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _run_alone(self, work: QueuedWork, connection: sqlite3.Connection) -> None:
        try:
            self._check_place()
            work.result = work.run(connection)
        except Exception as error:
            work.error = self._translate(error)

    def _commit(self, group: list[QueuedWork], connection: sqlite3.Connection) -> None:
        """Run functions in one transaction.

        If a function fails, it alone is rolled back; if the commit fails, all functions fail.
        """
        if not group:
            return
        start = self.directory.mark()
        try:
            self._check_place()
            connection.execute("BEGIN IMMEDIATE")
            if len(group) == 1:
                _run(group[0], connection)
            else:
                for work in group:
                    self._run_one(work, connection)
            connection.execute("COMMIT")
            self.directory.keep()
        except Exception as error:
            self.directory.undo(start)
            with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back
                connection.execute("ROLLBACK")
            for work in group:
                work.error = work.error or self._translate(error)

    def _check_place(self) -> None:
        """Check that the file was neither removed nor replaced.

        Otherwise writes would be lost with the old file.

        Raises:
            StoreCorrupt: The file was removed or replaced.
        """
        try:
            in_place = os.path.samestat(self.path.stat(), self._place)
        except FileNotFoundError:
            in_place = False
        if not in_place:
            raise StoreCorrupt(
                f"{self.path} was removed or replaced while the service held it; nothing more is"
                " acknowledged: stop the service, then put the file back or restore a back-up"
            )

    def _run_one(self, work: QueuedWork, connection: sqlite3.Connection) -> None:
        """Run one function of several in a transaction.

        Raise only if SQLite rolled the whole transaction back.
        """
        mark = self.directory.mark()
        connection.execute("SAVEPOINT one")
        try:
            _run(work, connection)
            connection.execute("RELEASE one")
        except Exception as error:
            if not connection.in_transaction:
                raise
            self.directory.undo(mark)
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
            work.error = self._translate(error)


def _deliver(group: Sequence[QueuedWork]) -> None:
    """Answer a group's callers.

    An event loop is woken once for all of them, which costs a system call.
    """
    by_loop = group_pairs((work.done.get_loop(), work) for work in group)
    for loop, some in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_answer, some)


def _answer(group: Sequence[QueuedWork]) -> None:
    for work in group:
        if work.done.done():
            continue
        if work.error is None:
            work.done.set_result(work.result)
        else:
            work.done.set_exception(work.error)


def _run(work: QueuedWork, connection: sqlite3.Connection) -> None:
    work.result = work.run(connection)
    if isinstance(work.result, sqlite3.Cursor):
        # Closing a cursor resets its statement. On the caller's thread this could happen while the
        # writer uses the statement again.
        work.result.close()


def free_all(connection: sqlite3.Connection) -> None:
    """Free all leases and claims."""
    connection.execute("UPDATE lease SET expires = 0")
    connection.execute("DELETE FROM claim")
