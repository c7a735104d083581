"""A whole service in this process, over real gRPC: `service` is a running one, `serving` starts one as told."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.engine import Engine
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import laptop_engine
from services.grpc.service import new_server
from services.settings import Settings
from services.worker import Worker

SMALL = {"session": BankSettings(k=4), "taste": BankSettings(k=4), "table_edges": 2, "update_size": 1_000_000}


@dataclass(frozen=True)
class Running:
    """A service that answers on `stub`; `engine` and `worker` are what it runs on."""

    stub: PropagationServiceStub
    channel: grpc.aio.Channel
    engine: Engine
    worker: Worker


Serving = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """Starts a service on this test's file: `async with serving(auto_create=True) as running`. Arguments are workflow settings."""

    @asynccontextmanager
    async def start(**workflow: object) -> AsyncIterator[Running]:
        settings = Settings(database=tmp_path / "graph.db", workflow=WorkflowSettings(**{**SMALL, **workflow}))
        engine = laptop_engine(settings)
        await engine.open()
        worker = Worker(engine)
        worker.start()
        server = new_server(engine, worker, settings.server.max_message_bytes)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                yield Running(PropagationServiceStub(channel), channel, engine, worker)
        finally:
            await server.stop(1)
            await worker.stop()
            await engine.close()

    return start


@pytest.fixture
async def service(serving: Serving) -> AsyncIterator[Running]:
    """A running service that creates users and items on the way."""
    async with serving(auto_create=True) as running:
        yield running
