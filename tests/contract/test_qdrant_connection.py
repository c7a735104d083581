"""The connection to a Qdrant server."""

import asyncio

import pytest
from grpc import RpcError

from propagation.adapters.qdrant.server import connect
from propagation.adapters.shared.plain_secrets import PlainSecret

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
    await asyncio.sleep(0.5)  # a connection that was accepted last is closed, too
    server.close()
    await server.wait_closed()
    assert len([moment for moment in tried if moment > end - LAST_SECONDS]) >= 3


async def test_a_key_for_this_machine_raises_no_warning_of_the_library():
    await connect("http://127.0.0.1:6333", 6334, "very-secret", 1).close()


async def test_a_key_for_another_machine_needs_tls_or_a_setting():
    with pytest.raises(PlainSecret, match=r"qdrant\.api_key would cross .*qdrant\.insecure"):
        connect("http://qdrant.example:6333", 6334, "very-secret", 1)
    for client in (
        connect("https://qdrant.example:6333", 6334, "very-secret", 1),
        connect("http://qdrant.example:6333", 6334, "very-secret", 1, insecure=True),
        connect("http://qdrant.example:6333", 6334, None, 1),
    ):
        await client.close()
