"""The way to a Qdrant server that is away."""

import asyncio

import pytest
from grpc import RpcError

from propagation.adapters.qdrant.connection import connect

AWAY_SECONDS = 25
LAST_SECONDS = 10


@pytest.mark.slow
async def test_a_server_that_is_away_is_tried_again_every_few_seconds_however_long_it_was():
    """gRPC's own pause grows to two minutes: a service would go without its index that long after
    the server is back."""
    tried: list[float] = []
    clock = asyncio.get_running_loop().time

    async def refuse(reader, writer):
        tried.append(clock())
        writer.transport.abort()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    client = connect("http://127.0.0.1:1", server.sockets[0].getsockname()[1], None, 1)
    end = clock() + AWAY_SECONDS
    while clock() < end:
        with pytest.raises(RpcError):
            await client.info()
        await asyncio.sleep(0.2)
    await client.close()
    server.close()
    assert len([moment for moment in tried if moment > end - LAST_SECONDS]) >= 3
