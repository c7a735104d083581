"""A server that takes connections and answers nothing, as a frozen process does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def silent_server(*, only_first: bool = False) -> AsyncIterator[int]:
    """Its port. `only_first`: all connections after the first are refused."""
    writers = []

    def accept(_, writer):
        writers.append(writer)
        if only_first:
            server.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
