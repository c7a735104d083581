"""Helpers for tests on a Qdrant server, which QDRANT_URL names.

QDRANT_GRPC_PORT is the server's gRPC port; the default is 6334. Without QDRANT_URL tests use only
the client's local mode.
"""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from qdrant_client import AsyncQdrantClient

from propagation.adapters.qdrant.server import connect
from propagation.ports import VectorIndex

SECONDS = 10
THERE = "QDRANT_URL" in os.environ
GRPC_PORT = int(os.environ.get("QDRANT_GRPC_PORT", "6334"))


def connect_to_server(port: int = GRPC_PORT) -> AsyncQdrantClient:
    """Connect to the server by its own port or a relay's."""
    return connect(os.environ["QDRANT_URL"], port, None, SECONDS)


def build_prefix(name: str) -> str:
    """Return a prefix of collections that belongs to this name alone."""
    return f"test{uuid.uuid5(uuid.NAMESPACE_URL, name).hex}"


async def make_collections(index: VectorIndex, embedder: str, dimension: int) -> None:
    """Find the collections of an index, or make empty ones."""
    if not await index.find_collections(embedder, dimension):
        await rebuild(index, embedder, dimension)


async def rebuild(index: VectorIndex, embedder: str, dimension: int) -> None:
    """Serve an empty index in place of the present one."""
    async with index.rebuild(embedder, dimension):
        pass


async def drop_collections(client: AsyncQdrantClient, prefix: str) -> None:
    """Drop every collection whose name begins with the prefix."""
    for found in (await client.get_collections()).collections:
        if found.name.startswith(prefix):
            await client.delete_collection(found.name)


@asynccontextmanager
async def open_client(prefix: str) -> AsyncIterator[AsyncQdrantClient]:
    """Yield a client; afterwards drop the prefix's collections and close it."""
    client = connect_to_server()
    try:
        yield client
        await drop_collections(client, prefix)
    finally:
        await client.close()


class Relay:
    """A port that leads to the server and can be cut.

    A cut breaks off all connections, and no new ones are accepted.
    """

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._streams: set[asyncio.StreamWriter] = set()
        self._frozen = False
        self.port = 0

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._lead, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for stream in list(self._streams):
            stream.transport.abort()

    async def freeze(self) -> None:
        """Accept connections again after `cut`, but answer nothing."""
        self._frozen = True
        await self.mend()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._frozen:
            self._streams.add(writer)
            return
        there, back = await asyncio.open_connection(
            urlsplit(os.environ["QDRANT_URL"]).hostname, GRPC_PORT
        )
        streams = {writer, back}
        self._streams |= streams
        with suppress(ConnectionError, asyncio.CancelledError):
            await asyncio.gather(_copy_bytes(reader, back), _copy_bytes(there, writer))
        for stream in streams:
            stream.transport.abort()
        self._streams -= streams


async def _copy_bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(65_536):
        writer.write(part)
        await writer.drain()
    writer.close()
