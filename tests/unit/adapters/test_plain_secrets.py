"""No command sends a secret over a network unencrypted, to any server.

0.0.0.0 is an address of this machine that is not loopback: what is sent there reaches a listener.
"""

import asyncio
import contextlib
import socket
import threading

import pytest
from openai import APIConnectionError

from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.adapters.openai.endpoint.client import ModelClient
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.qdrant.server import connect
from propagation.adapters.shared.plain_secrets import PlainSecret, refuse_plain_secret
from services import server
from services.cli.app import app

SECRET = "very-secret"
VARIABLES = {
    "PROPAGATION_NEO4J__PASSWORD": SECRET,
    "PROPAGATION_QDRANT__API_KEY": SECRET,
    "OPENAI_API_KEY": SECRET,
}
NEO4J = {"PROPAGATION_STORE": "neo4j", "PROPAGATION_NEO4J__URI": "bolt://0.0.0.0:{port}"}
ALLOWED = {"PROPAGATION_NEO4J__INSECURE": "true"}
QDRANT = {"PROPAGATION_INDEX": "qdrant", "PROPAGATION_QDRANT__URL": "http://0.0.0.0:{port}"}
OPENAI = {"PROPAGATION_REASONER": "openai", "PROPAGATION_OPENAI__BASE_URL": "http://0.0.0.0:{port}"}
EMBEDDER = {
    "PROPAGATION_EMBEDDER": "openai",
    "PROPAGATION_OPENAI__EMBEDDINGS__BASE_URL": "http://0.0.0.0:{port}/v1",
}
PARAMETERS = {"model": "any", "messages": [{"role": "user", "content": "Say OK."}]}


@contextlib.contextmanager
def listener():
    """Yield (a port, what arrived at it); it answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        received: list[bytes] = []

        def take():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.settimeout(0.5)
                        received.append(connection.recv(1 << 16))

        threading.Thread(target=take, daemon=True).start()
        yield server.getsockname()[1], received
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("bolt://graph.example:7687", True),
        ("neo4j://graph.example", True),
        ("neo4j://127.0.0.1", True),  # its answer may name other machines
        ("bolt+s://graph.example", False),
        ("neo4j+s://graph.example", False),
        ("bolt+ssc://graph.example", False),
        ("bolt://127.0.0.1:7687", False),
        ("bolt://[::1]:7687", False),
        ("http://localhost:6333", False),
        ("http://localhost.example:6333", True),
        ("http://127.0.0.1.example", True),
        ("http://10.0.0.7:6333", True),
        ("http://0.0.0.0:6333", True),
        ("HTTP://model.example/v1", True),
        ("https://model.example/v1", False),
    ],
)
def test_an_address_without_tls_is_refused_unless_it_is_loopback(url, refused):
    for secret, allowed in ((SECRET, False), (SECRET, True), ("", False), (None, False)):
        context = (
            pytest.raises(
                PlainSecret, match=r"write that address with .* or set part\.insecure=true"
            )
            if refused and secret and not allowed
            else contextlib.nullcontext()
        )
        with context as caught:
            refuse_plain_secret("the key", secret, url, "part", allowed)
        assert SECRET not in str(caught and caught.value)


def test_a_password_within_an_address_is_a_secret_and_is_not_shown():
    with pytest.raises(PlainSecret) as caught:
        refuse_plain_secret("the key", None, "http://me:hunter2@model.example/v1", "openai", False)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("variables", "command", "named"),
    [
        (NEO4J, ["doctor"], "neo4j.password"),
        (NEO4J, ["rebuild"], "neo4j.password"),
        (NEO4J, ["dead-letters", "list"], "neo4j.password"),
        (NEO4J, ["inspect", "community"], "neo4j.password"),
        (NEO4J, ["evaluate", "{data}", "--protocol", "leave-one-out"], "neo4j.password"),
        (NEO4J, ["serve", "--port", "0"], "neo4j.password"),
        (NEO4J | QDRANT, ["doctor"], "neo4j.password"),
        (NEO4J | QDRANT | ALLOWED, ["reindex"], "qdrant.api_key"),
        (QDRANT, ["serve", "--port", "0"], "qdrant.api_key"),
        (OPENAI, ["serve", "--port", "0"], "OPENAI_API_KEY"),
        (EMBEDDER, ["serve", "--port", "0"], "OPENAI_API_KEY"),
        (OPENAI, ["evaluate", "{data}", "--protocol", "leave-one-out"], "OPENAI_API_KEY"),
    ],
)
def test_every_command_refuses_before_it_sends_anything(
    tmp_path, monkeypatch, variables, command, named
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "configure_logging", lambda _: None)  # of this process's tests
    monkeypatch.setattr(
        "services.runtime.kernel_cache.compile_kernels",
        lambda *_: pytest.fail("a minute went by before the refusal"),
    )
    (tmp_path / "clients.jsonl").write_text("")
    (tmp_path / "events.jsonl").write_text(
        "".join(
            f'{{"event_id": "e{n}", "user_id": "u{n % 3}", "item_id": "i{n}", "time": {n}}}\n'
            for n in range(12)
        )
    )
    with listener() as (port, received):
        reasoned = OPENAI if command[0] == "evaluate" and named != "OPENAI_API_KEY" else {}
        settings = VARIABLES | reasoned | variables
        if reasoned:
            settings |= {"PROPAGATION_OPENAI__BASE_URL": "https://model.example/v1"}
        for name, value in settings.items():
            monkeypatch.setenv(name, value.format(port=port))
        with pytest.raises(PlainSecret, match=named) as refused:
            app(
                [word.format(data=tmp_path) for word in command],
                prog_name="propagation",
                standalone_mode=False,
            )
        assert SECRET not in str(refused.value)
        assert received == []


async def test_where_the_setting_allows_it_the_secret_is_sent():
    """So that the listener of the tests above would have seen it."""
    with listener() as (port, received):
        options = OpenAIOptions(base_url=f"http://0.0.0.0:{port}/v1", insecure=True, timeout=2)
        client = ModelClient(options, SECRET)
        with pytest.raises(APIConnectionError):
            await client.complete(PARAMETERS)
        await client.close()
        assert SECRET.encode() in b"".join(received)
    assert Neo4jSettings(uri="bolt://graph.example", password=SECRET, insecure=True).credentials()


async def test_what_is_for_this_machine_passes_by_the_proxy_of_the_environment(monkeypatch):
    with listener() as (port, proxied), listener() as (own, received):
        for name in ("http_proxy", "HTTP_PROXY", "grpc_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
            monkeypatch.delenv(name, raising=False)
        model = ModelClient(OpenAIOptions(base_url=f"http://127.0.0.1:{own}/v1", timeout=2), SECRET)
        with pytest.raises(APIConnectionError):
            await model.complete(PARAMETERS)
        await model.close()
        index = connect(f"http://127.0.0.1:{own}", own, SECRET, 1)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(index.info(), 2)
        await index.close()
        assert len(received) >= 2
        assert proxied == []
