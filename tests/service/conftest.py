"""A whole service in this process, over real gRPC.

The fixture `service` is a running service; `start_service` starts one with settings;
`evolving_service` is one whose next evolution is published.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from propagation.optimization.holdout_judge import Verdict
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.engine import Engine
from propagation.workflow.settings import BankSettings, WorkflowSettings
from propagation_client import Credentials
from services.config.settings import ServerSettings, Settings
from services.security.roles import Role
from services.security.tokens import create_token, write_tokens
from services.server import Running, run_service
from services.worker.worker import Worker
from tests.unit.workflow.evolve.planted_communities import (
    STYLES,
    build_catalogue,
    draw_events,
    push,
)

SMALL = {
    "session": BankSettings(k=4),
    "taste": BankSettings(k=4),
    "table_edges": 2,
    "update_size": 1_000_000,
}
EVOLVING = {
    "auto_create": True,
    "taste": BankSettings(k=2),
    "update_size": 20,
    "bootstrap_items": 1_000,
    "holdout": 60,
    "evolve_support": 10,
}


@dataclass(frozen=True)
class Client:
    """A caller of a running service.

    Attributes:
        token: The caller's token; empty if the service needs none.
    """

    stub: PropagationServiceStub
    channel: grpc.aio.Channel
    running: Running
    token: str = ""

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
def start_service(tmp_path: Path) -> Serving:
    """Return a function that starts a service on this test's file.

    Use: `async with start_service(auto_create=True) as service`. Arguments are workflow settings;
    `roles` are those of the caller's token (None: no tokens).
    """

    @asynccontextmanager
    async def start(
        roles: Sequence[Role] | None = None, **workflow: object
    ) -> AsyncIterator[Client]:
        tokens, credentials = None, Credentials()
        if roles is not None:
            tokens = tmp_path / "tokens"
            secret, token = create_token("test", roles)
            write_tokens(tokens, [token])
            credentials = Credentials(token=secret)
        # A drafting process would cost each test half a second; other tests start it.
        settings = Settings(
            database=tmp_path / "graph.db",
            reasoning_in="loop",
            server=ServerSettings(port=0, grace_seconds=1, tokens=tokens),
            workflow=WorkflowSettings(**{**SMALL, **workflow}),
        )
        async with (
            run_service(settings) as service,
            credentials.channel(service.address) as channel,
        ):
            yield Client(PropagationServiceStub(channel), channel, service, credentials.token or "")

    return start


@pytest.fixture
async def service(start_service: Serving) -> AsyncIterator[Client]:
    """Yield a running service that creates users and items on the way."""
    async with start_service(auto_create=True) as client:
        yield client


@pytest.fixture
async def evolving_service(
    start_service: Serving, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Client]:
    """Yield a service with two routers whose next evolution is published."""
    monkeypatch.setattr(Verdict, "published", True)
    async with start_service(**EVOLVING) as service:
        await service.engine.upsert_clients(build_catalogue(STYLES[:3]))
        await service.engine.drain()
        await service.engine.init()
        await push(service.engine, draw_events(STYLES[:3], 200, loyal=1.0))
        yield service
