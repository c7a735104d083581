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
from services.grpc.roles import CallerOf, anybody
from services.server import Running, running
from services.settings import ServerSettings, Settings
from services.worker import Worker

SMALL = {"session": BankSettings(k=4), "taste": BankSettings(k=4), "table_edges": 2, "update_size": 1_000_000}


@dataclass(frozen=True)
class Client:
    """A caller of a running service."""

    stub: PropagationServiceStub
    channel: grpc.aio.Channel
    running: Running

    @property
    def address(self) -> str:
        return self.running.address

    @property
    def engine(self) -> Engine:
        return self.running.engine

    @property
    def worker(self) -> Worker:
        return self.running.worker


Serving = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """Starts a service on this test's file: `async with serving(auto_create=True) as service`. Arguments are workflow settings;
    `callers` says who calls."""

    @asynccontextmanager
    async def start(callers: CallerOf = anybody, **workflow: object) -> AsyncIterator[Client]:
        settings = Settings(database=tmp_path / "graph.db", server=ServerSettings(port=0, grace_seconds=1),
                            workflow=WorkflowSettings(**{**SMALL, **workflow}))
        async with running(settings, callers) as service, grpc.aio.insecure_channel(service.address) as channel:
            yield Client(PropagationServiceStub(channel), channel, service)

    return start


@pytest.fixture
async def service(serving: Serving) -> AsyncIterator[Client]:
    """A running service that creates users and items on the way."""
    async with serving(auto_create=True) as client:
        yield client
