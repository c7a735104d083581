"""Commands that open the database themselves: no service may hold it meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from services.client.errors import UsageProblem

if TYPE_CHECKING:
    from propagation.ports.graph.graph_store import GraphStore
    from propagation.workflow.engine import Engine
    from services.config.settings import Settings

T = TypeVar("T")


def there(settings: "Settings") -> "Settings":
    """The same. Raises UsageProblem where there is no such file; whether a server is there, opening
    says."""
    if settings.store == "sqlite" and not settings.database.exists():
        raise UsageProblem(f"{settings.database} is not there; name the database with --database")
    return settings


def in_a_file(settings: "Settings") -> "Settings":
    """The same. Raises UsageProblem where the graph is no file that is there."""
    if settings.store != "sqlite":
        raise UsageProblem(
            f"the graph lies on {settings.graph}: keep and restore it with the server's own tools (neo4j-admin)"
        )
    return there(settings)


def with_engine(
    settings: "Settings",
    work: "Callable[[Engine], Awaitable[T]]",
    *,
    create: bool = False,
    adopt: bool = False,
) -> T:
    """Run `work` on the opened engine, and close it whatever happens. `create`: a file that is not
    there is made. `adopt`: open data that was made with other settings, to make it fit. Raises
    StoreBusy naming the holder, UsageProblem where there is no such file."""
    if not create:
        there(settings)
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
    """Run `work` on the opened graph alone, which mends nothing; the same otherwise."""
    there(settings)
    from services.assembly import graph_store

    async def run() -> T:
        store = graph_store(settings)
        await store.open()
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())
