"""One SQLite file: WAL, synchronous=FULL, one writer thread with group commit, a few readers.

Rows go in and out by JSON in one statement each (`json_each`, `json_group_array`): a statement is then one step outside
the interpreter lock, however many rows it carries."""

import asyncio
import fcntl
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Protocol, TypeVar

from propagation.model.errors import SchemaTooNew, StoreBusy, StoreCorrupt, StoreFull

SCHEMA_VERSION = 1
APPLICATION_ID = 0x50525031
GROUP = 64
READERS = 2
T = TypeVar("T")


class Memory(Protocol):
    """What a store keeps in memory beside the file: it follows every rollback, on the writer's thread."""

    def mark(self) -> int: ...

    def undo(self, mark: int) -> None: ...


class Database:
    """Runs functions of a connection: writes grouped into commits, reads beside them."""

    def __init__(self, path: Path, memory: Memory, max_bytes: int | None = None) -> None:
        self.path = path
        self._memory = memory
        self._max_bytes = max_bytes
        self._queue: queue.SimpleQueue[tuple[Callable[[sqlite3.Connection], object], Future[object]] | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._readers: ThreadPoolExecutor | None = None
        self._local = threading.local()
        self._open_connections: list[sqlite3.Connection] = []
        self._lock: int | None = None

    def open(self) -> None:
        """Lock the file for this process, check and migrate the schema, start the threads."""
        self._lock = self._take_lock()
        try:
            connection = self._connect()
            self._migrate(connection)
        except BaseException as error:
            self._release_lock()
            raise translated(error, self.path) from error
        self._writer = threading.Thread(target=self._write_loop, args=(connection,), name="sqlite-writer", daemon=True)
        self._writer.start()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")

    def close(self) -> None:
        if self._writer is not None:
            self._queue.put(None)
            self._writer.join()
            self._writer = None
        if self._readers is not None:
            self._readers.shutdown()
            self._readers = None
        for connection in self._open_connections:
            connection.close()
        self._open_connections.clear()
        self._release_lock()

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction shared with whatever else waits; returns after the durable commit."""
        done: Future[T] = Future()
        self._queue.put((work, done))  # type: ignore[arg-type]
        return await asyncio.wrap_future(done)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on a read connection, in one snapshot."""
        if self._readers is None:
            raise StoreBusy(f"{self.path} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        try:
            connection.execute("BEGIN")
            try:
                return work(connection)
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise translated(error, self.path) from error

    def _write_loop(self, connection: sqlite3.Connection) -> None:
        stopping = False
        while not stopping:
            group = [self._queue.get()]
            while len(group) < GROUP and group[-1] is not None:
                try:
                    group.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            stopping = group[-1] is None
            self._commit([entry for entry in group if entry is not None], connection)

    def _commit(self, group: list[tuple[Callable[[sqlite3.Connection], object], Future[object]]],
                connection: sqlite3.Connection) -> None:
        """One transaction; a function that fails is rolled back alone, a commit that fails fails them all."""
        results: list[tuple[Future[object], object]] = []
        start = self._memory.mark()
        try:
            connection.execute("BEGIN IMMEDIATE")
            for work, done in group:
                mark = self._memory.mark()
                connection.execute("SAVEPOINT one")
                try:
                    results.append((done, work(connection)))
                    connection.execute("RELEASE one")
                except Exception as error:
                    if not connection.in_transaction:
                        raise
                    self._memory.undo(mark)
                    connection.execute("ROLLBACK TO one")
                    connection.execute("RELEASE one")
                    done.set_exception(translated(error, self.path))
            connection.execute("COMMIT")
        except Exception as error:
            self._memory.undo(start)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for _, done in group:
                if not done.done():
                    done.set_exception(translated(error, self.path))
            return
        for done, result in results:
            done.set_result(result)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=-65536")
        connection.execute("PRAGMA wal_autocheckpoint=4000")
        if self._max_bytes is not None:
            page = connection.execute("PRAGMA page_size").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count={max(self._max_bytes // page, 1)}")
        self._open_connections.append(connection)
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if tables and application != APPLICATION_ID:
            raise StoreCorrupt(f"{self.path} is another program's database; name a file of your own with --database")
        if version > SCHEMA_VERSION:
            raise SchemaTooNew(f"{self.path} has schema {version}, this release knows up to {SCHEMA_VERSION}; upgrade the service")
        if version == 0:
            script = files("propagation.adapters.sqlite").joinpath("schema.sql").read_text()
            connection.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA application_id={APPLICATION_ID}; "
                                     f"PRAGMA user_version={SCHEMA_VERSION}; COMMIT")

    def _take_lock(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(handle, 64).decode() or "another process"
            os.close(handle)
            raise StoreBusy(f"{self.path} is held by {holder}; stop it, or name another file with --database") from error
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()}".encode())
        return handle

    def _release_lock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def translated(error: BaseException, path: Path) -> BaseException:
    """SQLite's error as ours; anything else as it is."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR:
        return StoreFull(f"{path}: {error}; free space, then try again: nothing was written")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(f"{path}: {error}; restore it from a back-up")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN):
        return StoreBusy(f"{path}: {error}")
    return error
