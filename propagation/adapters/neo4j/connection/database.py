"""The official driver, as the adapter uses it: named statements inside managed transactions, errors
as ours."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction, unit_of_work
from neo4j.exceptions import DriverError, Neo4jError

from propagation.adapters.neo4j.connection.after_commit import Beside
from propagation.adapters.neo4j.connection.errors import translated
from propagation.adapters.neo4j.connection.settings import Neo4jSettings
from propagation.adapters.neo4j.connection.statements import Statement
from propagation.model.errors import StoreBusy

CONNECT_SECONDS = 5.0
APART = 2
RETRY_AFTER_SECONDS = 0.05
THERE_ALREADY = "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"
T = TypeVar("T")


class Transaction:
    """One attempt of a managed transaction; the driver may make several, so work does nothing but
    ask and answer."""

    def __init__(self, transaction: AsyncManagedTransaction, database: "Neo4jDatabase") -> None:
        self._transaction = transaction
        self._database = database

    async def rows(self, name: str, /, **parameters: object) -> list[list[Any]]:
        """Every row of a statement, as lists."""
        result = await self._transaction.run(self._database.query(name, parameters), parameters)
        return await result.values()

    async def table(self, name: str, /, **parameters: object) -> list[list[Any]]:
        """The rows of a statement that collects them: one record, where each would cost the driver
        a turn of the loop."""
        found: list[list[Any]] = await self.value(name, **parameters) or []
        return found

    async def row(self, name: str, /, **parameters: object) -> list[Any] | None:
        """The first row; None without rows."""
        rows = await self.rows(name, **parameters)
        return rows[0] if rows else None

    async def value(self, name: str, /, **parameters: object) -> Any:
        """The first column of the first row; None without rows."""
        row = await self.row(name, **parameters)
        return None if row is None else row[0]

    async def do(self, name: str, /, **parameters: object) -> None:
        """A statement whose rows nobody asks for."""
        result = await self._transaction.run(self._database.query(name, parameters), parameters)
        await result.consume()


class Neo4jDatabase:
    """One server, one database. `sent` counts statements; what is begun `beside` ends before it is
    closed. Transactions say of which `process` they are, once it shows life."""

    def __init__(self, settings: Neo4jSettings, statements: Mapping[str, Statement]) -> None:
        self.settings = settings
        self._statements = statements
        self._driver: AsyncDriver | None = None
        self._apart: AsyncDriver | None = None
        self.beside = Beside()
        self.sent = 0
        self.process = ""

    def connect(self) -> AsyncDriver:
        """The driver; nothing is asked yet."""
        self._driver, self._apart = (
            self._connected(self.settings.connections),
            self._connected(APART),
        )
        return self._driver

    def _connected(self, connections: int) -> AsyncDriver:
        settings = self.settings
        return AsyncGraphDatabase.driver(
            settings.uri,
            auth=(settings.user, settings.password.get_secret_value()),
            connection_timeout=CONNECT_SECONDS,
            max_transaction_retry_time=settings.retry_seconds,
            initial_retry_delay=RETRY_AFTER_SECONDS,
            max_connection_pool_size=connections,
            notifications_min_severity="OFF",
        )

    async def close(self) -> None:
        await self.beside.done()
        drivers, self._driver, self._apart = (self._driver, self._apart), None, None
        for driver in drivers:
            if driver is not None:
                await driver.close()

    def query(self, name: str, parameters: Mapping[str, object]) -> str:
        """The statement of a file, counted. Raises KeyError on another name, TypeError on other
        parameters than declared."""
        statement = self._statements[name]
        if statement.parameters != parameters.keys():
            raise TypeError(
                f"{name} takes {sorted(statement.parameters)}, was given {sorted(parameters)}"
            )
        self.sent += 1
        return statement.text

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """`work` in a read transaction. Raises StoreUnreachable, StoreRefused."""
        return await self._run("READ", work)

    async def write(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """`work` in one transaction, committed when this returns. It is begun again where the
        server asks for that (deadlocks, a new leader), never after a commit whose answer was lost.
        Raises StoreUnreachable, StoreFull."""
        return await self._run("WRITE", work)

    async def write_apart(self, work: Callable[[Transaction], Awaitable[T]], seconds: float) -> T:
        """As `write`, within so many seconds and over connections of its own: also where all others
        wait for locks."""
        return await self._managed(
            "WRITE",
            lambda transaction: work(Transaction(transaction, self)),
            self._apart,
            min(seconds, self.settings.answer_seconds),
        )

    async def _run(self, mode: str, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self._managed(
            mode,
            lambda transaction: work(Transaction(transaction, self)),
            self._driver,
            self.settings.answer_seconds,
        )

    async def _managed(
        self,
        mode: str,
        work: Callable[[AsyncManagedTransaction], Awaitable[T]],
        driver: AsyncDriver | None,
        seconds: float,
    ) -> T:
        if driver is None:
            raise StoreBusy(f"{self.settings.uri} is closed")
        try:
            async with (
                asyncio.timeout(seconds),
                driver.session(database=self.settings.database) as session,
            ):
                told = {"propagation_process": self.process} if self.process else None
                bounded = unit_of_work(told, seconds)(work)
                return await (session.execute_read if mode == "READ" else session.execute_write)(
                    bounded
                )
        except (Neo4jError, DriverError, TimeoutError) as error:
            raise translated(error, self.settings.uri, writing=mode == "WRITE") from error

    async def define(self, text: str) -> None:
        """A statement of cypher/schema, in a transaction of its own. What another process made
        meanwhile is there."""

        async def work(transaction: AsyncManagedTransaction) -> None:
            await (await transaction.run(text)).consume()

        try:
            await self._managed("WRITE", work, self._driver, self.settings.answer_seconds)
        except Neo4jError as error:
            if error.code != THERE_ALREADY:
                raise

    async def rows(self, name: str, /, **parameters: object) -> list[list[Any]]:
        """One statement that reads."""
        return await self.read(lambda transaction: transaction.rows(name, **parameters))

    async def table(self, name: str, /, **parameters: object) -> list[list[Any]]:
        """One statement that reads and collects its rows."""
        return await self.read(lambda transaction: transaction.table(name, **parameters))

    async def row(self, name: str, /, **parameters: object) -> list[Any] | None:
        """One statement that reads one row; None without rows."""
        return await self.read(lambda transaction: transaction.row(name, **parameters))

    async def value(self, name: str, /, **parameters: object) -> Any:
        """One statement that reads one value; None without rows."""
        return await self.read(lambda transaction: transaction.value(name, **parameters))
