"""Runs named statements with the official driver.

Writes and longer reads are managed transactions, single statements that read commit by themselves.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from neo4j import (
    READ_ACCESS,
    WRITE_ACCESS,
    AsyncDriver,
    AsyncGraphDatabase,
    AsyncManagedTransaction,
    AsyncResult,
    AsyncSession,
    Query,
    unit_of_work,
)
from neo4j.exceptions import ClientError, DriverError, Neo4jError

from propagation.adapters.neo4j.connection.errors import (
    ENTITY_NOT_FOUND,
    EntityDeleted,
    translate,
)
from propagation.adapters.neo4j.connection.probe import ServerProbe
from propagation.adapters.neo4j.connection.statements import PARAMETER_MAP, Statement
from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.adapters.shared.background import BackgroundWork
from propagation.graph_rules import check_lease
from propagation.model import StoreBusy
from propagation.ports import Clock, Lease

T = TypeVar("T")
log = logging.getLogger(__name__)


class Parameters(dict[str, Any]):
    """The parameters of a statement, with a short `repr`.

    The driver makes the `repr` of all parameters for a line of its log, even if nobody reads the
    log. That took 5% of this process's time while it processed interactions.
    """

    def __repr__(self) -> str:
        return f"<{', '.join(self)}>"


class Transaction:
    """One attempt of a managed transaction.

    The driver may make several attempts, so work must have no effects outside of the database.
    """

    def __init__(self, transaction: AsyncManagedTransaction, database: "Neo4jDatabase") -> None:
        self.driver_transaction = transaction
        self.last_statement = "its begin"
        self._database = database

    def now(self) -> int | None:
        """Return the statements' parameter `now`; see `Neo4jDatabase.now`."""
        return self._database.now()

    async def rows(self, name: str, /, **parameters: object) -> list[list[Any]]:
        """Return every row of a statement, as lists."""
        return await (await self._run(name, parameters)).values()

    async def table(self, name: str, /, **parameters: object) -> list[list[Any]]:
        """Return the rows of a statement that collects them into one record.

        Separate records would each cost the driver a turn of the event loop.
        """
        return await self.value(name, **parameters) or []

    async def row(self, name: str, /, **parameters: object) -> list[Any] | None:
        """Return the first row; None without rows."""
        rows = await self.rows(name, **parameters)
        return rows[0] if rows else None

    async def read_single_row(self, name: str, /, **parameters: object) -> list[Any]:
        """Return the row of a statement that always has one."""
        (row,) = await self.rows(name, **parameters)
        return row

    async def value(self, name: str, /, **parameters: object) -> Any:
        """Return the first column of the first row; None without rows."""
        row = await self.row(name, **parameters)
        return None if row is None else row[0]

    async def execute(self, name: str, /, **parameters: object) -> None:
        """Run a statement and ignore its rows."""
        await (await self._run(name, parameters)).consume()

    async def _run(self, name: str, parameters: dict[str, Any]) -> AsyncResult:
        self.last_statement = name
        query = self._database.query(name, parameters)
        return await self.driver_transaction.run(query, {PARAMETER_MAP: Parameters(parameters)})

    async def check_lease(self, lease: Lease) -> None:
        """Check that a lease is still held, and lock it.

        No other holder can acquire the lease until the transaction ends.

        Raises:
            LeaseLost: Another holder has taken it over.
        """
        check_lease(lease, await self.value("connection/lease_token", name=lease.name))


def create_driver(settings: Neo4jSettings, connections: int, seconds: float) -> AsyncDriver:
    """Create a driver, which connects at its first message.

    Args:
        seconds: The longest time that getting a connection may take.
    """
    # The driver logs an unreachable server at every attempt; its caller tells the failure anyway.
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    return AsyncGraphDatabase.driver(
        settings.uri,
        auth=settings.credentials(),
        connection_timeout=seconds,
        connection_acquisition_timeout=seconds,
        max_transaction_retry_time=settings.retry_seconds,
        initial_retry_delay=0.05,
        # By default, the driver doubles its pauses: they soon outlast a deadlock, then
        # `retry_seconds`.
        retry_delay_multiplier=1.2,
        max_connection_pool_size=connections,
        notifications_min_severity="OFF",
    )


class Neo4jDatabase:
    """One database on one server.

    Attributes:
        sent: How many statements were sent.
        retries: How often transactions were begun again, by the metric's name and the statement at
            which the first attempt stopped.
        after_commit: The background work that follows commits; `close` waits until it has ended.
    """

    def __init__(
        self,
        settings: Neo4jSettings,
        statements: Mapping[str, Statement],
        clock: Clock | None = None,
    ) -> None:
        """Prepare the database; nothing is connected yet.

        Args:
            clock: None means the server's clock. Tests pass a clock that they set.

        Raises:
            PlainSecret: The password would be sent over a network unencrypted.
        """
        settings.credentials()  # raise PlainSecret now, before a caller does long work
        self.settings = settings
        self.sent = 0
        self.retries: Counter[tuple[str, str]] = Counter()
        self._statements = statements
        self._clock = clock
        self._driver: AsyncDriver | None = None
        self._probe: ServerProbe | None = None
        self.after_commit = BackgroundWork()

    def now(self) -> int | None:
        """Return the statements' parameter `now`, in milliseconds; None means the server's clock.

        The clocks of machines differ, so all processes use the server's.
        """
        return None if self._clock is None else self._clock.now_ms()

    async def connect(self) -> str:
        """Connect to the server, and return its name and version.

        Raises:
            StoreUnreachable: The server does not answer.
            StoreRefused: The server refuses the user or the password.
        """
        settings = self.settings
        try:
            self._driver = create_driver(settings, settings.connections, settings.answer_seconds)
            self._probe = ServerProbe(
                lambda connections, seconds: create_driver(settings, connections, seconds),
                settings.retry_seconds,
            )
        except DriverError as error:
            raise translate(error, settings.uri, writing=False) from error
        async with self.limit_transaction(writing=False):
            return (await self._driver.get_server_info()).agent

    async def close(self) -> None:
        """Wait for the work after commits, then disconnect."""
        await self.after_commit.finish()
        driver, self._driver = self._driver, None
        if self._probe is not None:
            await self._probe.close()
        if driver is not None:
            await driver.close()

    def query(self, name: str, parameters: Mapping[str, object]) -> str:
        """Return the text of a statement and count it as sent.

        Raises:
            KeyError: No file has this name.
            TypeError: The parameters differ from those that the file declares.
        """
        statement = self._statements[name]
        if statement.parameters != parameters.keys():
            raise TypeError(
                f"{name} takes {sorted(statement.parameters)}, but got {sorted(parameters)}"
            )
        self.sent += 1
        return statement.sent

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run work in a read transaction.

        Raises:
            StoreUnreachable: The server did not answer in time.
            StoreRefused: The server refused the user, the password or the database.
        """
        return await self._run(work, writing=False)

    async def write(self, work: Callable[[Transaction], Awaitable[T]], *leases: Lease) -> T:
        """Run work in one transaction, which is committed when this returns.

        The driver starts the transaction again if the server asks for that (deadlock, new leader),
        but never after a commit whose answer was lost.

        Args:
            leases: Checked in the same transaction before the work, and locked until it ends.

        Raises:
            LeaseLost: Another holder has taken a lease over.
            StoreUnreachable: The server did not answer in time.
            StoreRefused: The server refused the user, the password or the database.
            StoreFull: The server's disk is full.
        """

        async def run(transaction: Transaction) -> T:
            for lease in leases:
                await transaction.check_lease(lease)
            return await work(transaction)

        return await self._run(run, writing=True)

    async def _run(self, work: Callable[[Transaction], Awaitable[T]], *, writing: bool) -> T:
        """Run work under the caller's and the server's time limits.

        If this process freezes, the server's limit ends the transaction and releases its locks.
        """
        attempts: list[Transaction] = []

        async def attempt(transaction: AsyncManagedTransaction) -> T:
            attempts.append(Transaction(transaction, self))
            with translate_deletions():
                return await work(attempts[-1])

        try:
            async with self._open_session(writing=writing) as session:
                execute = session.execute_write if writing else session.execute_read
                return await execute(unit_of_work(timeout=self.settings.answer_seconds)(attempt))
        finally:
            if len(attempts) > 1:
                self._note_retries(len(attempts) - 1, attempts[0].last_statement)

    @asynccontextmanager
    async def _open_session(self, *, writing: bool) -> AsyncIterator[AsyncSession]:
        """Open a session for one transaction, within `limit_transaction`."""
        async with (
            self.limit_transaction(writing=writing) as driver,
            driver.session(
                database=self.settings.database,
                default_access_mode=WRITE_ACCESS if writing else READ_ACCESS,
            ) as session,
        ):
            yield session

    def _note_retries(self, times: int, statement: str) -> None:
        """Count and log in one line that a transaction was begun again.

        The driver's own log is silenced, because its line is longer.
        """
        self.retries["transactions_retried_total", statement] += times
        log.warning(
            "a transaction was repeated, as the graph server asked (after a deadlock, for example)",
            extra={"times": times, "first_at": statement},
        )

    @asynccontextmanager
    async def limit_transaction(self, *, writing: bool) -> AsyncIterator[AsyncDriver]:
        """Limit the time of a call, and translate its errors."""
        if self._driver is None or self._probe is None:
            raise StoreBusy(f"{self.settings.uri} is closed")
        try:
            async with self._probe.limit(self.settings.answer_seconds):
                yield self._driver
        except (Neo4jError, DriverError, OSError) as error:  # TimeoutError is an OSError
            raise translate(error, self.settings.uri, writing=writing) from error

    async def define(self, text: str) -> None:
        """Run a statement of cypher/schema in its own transaction."""

        async def work(transaction: Transaction) -> None:
            await (await transaction.driver_transaction.run(text)).consume()

        try:
            await self._run(work, writing=True)
        except Neo4jError as error:
            # Another process may have created the same index at the same time.
            if error.code != "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists":
                raise

    async def plan(self, name: str) -> None:
        """Let the server plan a statement.

        A later transaction need not wait for it. A server that has just started takes 0.1 to 1 s
        for the plan of a statement. It keeps plans.
        """
        query = self.query(name, dict.fromkeys(self._statements[name].parameters))
        async with self._open_session(writing=False) as session:
            await (await session.run(f"EXPLAIN {query}", {PARAMETER_MAP: {}})).consume()

    async def execute(self, name: str, /, *leases: Lease, **parameters: object) -> None:
        """Run one statement that writes.

        Raises:
            LeaseLost: Another holder has taken one of the leases over.
        """
        await self.write(lambda transaction: transaction.execute(name, **parameters), *leases)

    async def rows(self, name: str, /, **parameters: object) -> list[list[Any]]:
        """Return every row of one statement that reads.

        The first attempt commits by itself, which takes one exchange with the server instead of
        three. If that fails and may be tried again, the driver does so in a transaction, which has
        `answer_seconds` of its own.
        """
        async with self._open_session(writing=False) as session:
            try:
                query = Query(self.query(name, parameters), timeout=self.settings.answer_seconds)
                with translate_deletions():
                    found = await session.run(query, {PARAMETER_MAP: Parameters(parameters)})
                    return await found.values()
            except (Neo4jError, DriverError) as error:
                if not error.is_retryable():
                    raise
                if isinstance(error, (Neo4jError, EntityDeleted)):  # the server answered
                    self._note_retries(1, name)
        return await self.read(lambda transaction: transaction.rows(name, **parameters))

    async def table(self, name: str, /, **parameters: object) -> list[list[Any]]:
        """Return the rows that one reading statement collects into one record."""
        return await self.value(name, **parameters) or []

    async def row(self, name: str, /, **parameters: object) -> list[Any] | None:
        """Return the first row of one statement that reads; None without rows."""
        rows = await self.rows(name, **parameters)
        return rows[0] if rows else None

    async def value(self, name: str, /, **parameters: object) -> Any:
        """Return one value of one statement that reads; None without rows."""
        row = await self.row(name, **parameters)
        return row[0] if row else None


@contextmanager
def translate_deletions() -> Iterator[None]:
    """Translate the error for a node that was deleted meanwhile."""
    try:
        yield
    except ClientError as error:
        if error.code != ENTITY_NOT_FOUND:
            raise
        raise EntityDeleted(error.message) from error


class StorePart:
    """One port of the store; all ports share a database."""

    def __init__(self, database: Neo4jDatabase) -> None:
        self._database = database
