"""Access for commands that open the database themselves; no service may hold it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from services.client.errors import UsageProblem

if TYPE_CHECKING:
    from propagation.ports import GraphStore
    from propagation.workflow.engine import Engine
    from services.config.settings import Settings

T = TypeVar("T")


def existing_database(settings: "Settings") -> "Settings":
    """Return the settings if their database exists.

    The existence of a server's database shows only when it is opened.

    Raises:
        UsageProblem: There is no such file.
    """
    if settings.store == "sqlite" and not settings.database.exists():
        raise UsageProblem(f"{settings.database} is not there; name the database with --database")
    return settings


def database_in_file(settings: "Settings") -> "Settings":
    """Return the settings if their database is an existing file.

    Raises:
        UsageProblem: It is not.
    """
    if settings.store != "sqlite":
        raise UsageProblem(
            f"the graph lies on {settings.graph}: keep and restore it with the server's own "
            "tools (neo4j-admin)"
        )
    return existing_database(settings)


def with_engine(
    settings: "Settings",
    work: "Callable[[Engine], Awaitable[T]]",
    *,
    create: bool = False,
    adopt: bool = False,
) -> T:
    """Open the engine, run `work` on it, and close it in any case.

    Args:
        create: Create a file that does not exist.
        adopt: Open data that was made with other settings, to make it fit.

    Raises:
        StoreBusy: Another process holds the database; the message names it.
        UsageProblem: There is no such file.
    """
    if not create:
        existing_database(settings)
    from services.assembly import build_engine
    from services.runtime.process import collect_garbage_rarely

    async def run() -> T:
        engine = build_engine(settings)
        await (engine.open(adopt=True) if adopt else engine.open())
        try:
            return await work(engine)
        finally:
            await engine.close()

    collect_garbage_rarely()
    return asyncio.run(run())


def with_store(settings: "Settings", work: "Callable[[GraphStore], Awaitable[T]]") -> T:
    """Open the graph alone, which repairs nothing, and run `work` on it."""
    existing_database(settings)
    from services.assembly import graph_store

    async def run() -> T:
        store = graph_store(settings)
        await store.open()
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())
