"""What the ports of the store share: methods that are one transaction each, on one database."""

import sqlite3
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from propagation.adapters.sqlite.connection.database import Database
from propagation.adapters.sqlite.connection.json_rows import one
from propagation.model import LeaseLost
from propagation.ports import Lease


class SqlitePart:
    """One port of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._directory = database.directory
        self._clock = database.directory.clock


S = TypeVar("S", bound=SqlitePart)
P = ParamSpec("P")
T = TypeVar("T")


def reads(
    method: Callable[Concatenate[S, sqlite3.Connection, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Run a method of a port in one snapshot, on a read connection."""

    @wraps(method)
    async def read(self: S, /, *arguments: P.args, **named: P.kwargs) -> T:
        return await self._database.read(
            lambda connection: method(self, connection, *arguments, **named)
        )

    return read


def writes(
    method: Callable[Concatenate[S, sqlite3.Connection, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Run a method of a port in the writer's transaction; return after the durable commit."""

    @wraps(method)
    async def write(self: S, /, *arguments: P.args, **named: P.kwargs) -> T:
        return await self._database.write(
            lambda connection: method(self, connection, *arguments, **named)
        )

    return write


def check_fence(connection: sqlite3.Connection, lease: Lease) -> None:
    """Check a lease in the transaction of what it protects.

    Raises:
        LeaseLost: Its token is not the newest.
    """
    token = one(connection, "SELECT token FROM lease WHERE name = ?", lease.name)
    if token != lease.token:
        raise LeaseLost(
            f"lease {lease.name!r} was taken over by token {token}; this holder had {lease.token}"
        )
