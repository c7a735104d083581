"""Decorators that make a port's method one transaction on the database."""

import sqlite3
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from propagation.adapters.sqlite.connection.database import Database
from propagation.ports import Lease


class SqlitePart:
    """Base of the classes that implement the ports on one database."""

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
    """Run a port's method in one snapshot, on a read connection.

    The method is written as f(self, connection, ...); its callers await f(self, ...).
    """

    @wraps(method)
    async def read(self: S, /, *arguments: P.args, **named: P.kwargs) -> T:
        return await self._database.read(
            lambda connection: method(self, connection, *arguments, **named)
        )

    return read


def writes(
    method: Callable[Concatenate[S, sqlite3.Connection, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Run a method of a port in the writer's transaction.

    The method is written as f(self, connection, ...); its callers await f(self, ...), which returns
    after the durable commit.
    """

    @wraps(method)
    async def write(self: S, /, *arguments: P.args, **named: P.kwargs) -> T:
        return await self._database.write(
            lambda connection: method(self, connection, *arguments, **named)
        )

    return write


def writes_under_lease(
    method: Callable[Concatenate[S, sqlite3.Connection, P], T],
) -> Callable[Concatenate[S, Lease, P], Coroutine[Any, Any, T]]:
    """Run a method like `writes`, if the caller's lease still holds.

    The caller passes the lease first.

    Raises:
        LeaseLost: Another holder has taken the lease over.
    """

    @wraps(method)
    async def write(self: S, lease: Lease, /, *arguments: P.args, **named: P.kwargs) -> T:
        return await self._database.write(
            lambda connection: method(self, connection, *arguments, **named), lease
        )

    return write
