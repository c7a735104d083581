"""The connection to a Qdrant server."""

import asyncio

import pytest
from grpc import RpcError

from propagation.adapters.qdrant.server import connect, exposes_key

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


@pytest.mark.parametrize(
    ("url", "exposed"),
    [
        ("http://qdrant.example:6333", True),
        ("http://10.0.0.7:6333", True),
        ("https://qdrant.example:6333", False),
        ("http://localhost:6333", False),
        ("http://127.0.0.1:6333", False),
        ("http://[::1]:6333", False),
    ],
)
def test_a_key_is_exposed_on_a_network_without_tls(url, exposed):
    assert exposes_key(url, "secret") is exposed
    assert not exposes_key(url, None)


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
async def test_connecting_warns_of_an_exposed_key_and_does_not_show_it(caplog):
    client = connect("http://qdrant.example:6333", 6334, "very-secret", 1)
    await client.close()
    (record,) = [record for record in caplog.records if "qdrant.api_key" in record.getMessage()]
    assert record.levelname == "WARNING"
    assert "very-secret" not in record.getMessage()
