"""The service itself on a graph server, over real gRPC: the same flow as on a file, and two
services on one graph."""

import itertools
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.config.settings import ServerSettings, Settings
from services.server import run_service
from tests.neo4j_server.shared import get_server
from tests.service.calls.test_propagation import test_an_event_reaches_another_clients_profile
from tests.service.calls.test_retract_and_forget import (
    service_without_ann,
    test_a_forgotten_client_is_unknown,
    test_a_retracted_event_cannot_be_recorded_or_retracted_again,
    test_events_of_a_forgotten_client_are_rejected,
    test_the_id_of_a_forgotten_client_starts_anew,
    test_the_item_of_a_retracted_event_can_be_recommended_again,
)
from tests.service.conftest import Client

__all__ = [
    "service_without_ann",
    "test_a_forgotten_client_is_unknown",
    "test_a_retracted_event_cannot_be_recorded_or_retracted_again",
    "test_an_event_reaches_another_clients_profile",
    "test_events_of_a_forgotten_client_are_rejected",
    "test_the_id_of_a_forgotten_client_starts_anew",
    "test_the_item_of_a_retracted_event_can_be_recommended_again",
]
pytestmark = pytest.mark.neo4j
SMALL = WorkflowSettings(
    session=BankSettings(k=4),
    taste=BankSettings(k=4),
    table_edges=2,
    update_size=1_000_000,
    auto_create=True,
)


@asynccontextmanager
async def start_service(folder):
    settings = Settings(
        store="neo4j",
        neo4j=get_server(folder).settings,
        workflow=SMALL,
        server=ServerSettings(port=0, grace_seconds=1),
    )
    async with (
        run_service(settings) as service,
        grpc.aio.insecure_channel(service.address) as channel,
    ):
        yield Client(PropagationServiceStub(channel), channel, service)


@pytest.fixture
async def service(tmp_path):
    async with start_service(tmp_path) as client:
        yield client


async def test_what_one_service_records_the_other_has_learned(tmp_path, monkeypatch):
    """Two that name themselves differently in leases, as processes and machines do."""
    hosts = itertools.count()
    monkeypatch.setattr("socket.gethostname", lambda: f"host-{next(hosts)}")
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(start_service(tmp_path)) for _ in range(2)]
        for place, (writer, reader) in enumerate(((first, second), (second, first))):
            events = [
                pb.Interaction(event_id=f"{place}-{n}", user_id="ann", item_id=f"i{place}-{n}")
                for n in range(10)
            ]
            answer = await writer.stub.RecordInteractions(
                pb.RecordInteractionsRequest(interactions=events)
            )
            sequence = max(outcome.sequence for outcome in answer.outcomes)
            for service in (reader, writer):
                await service.stub.Recommend(
                    pb.RecommendRequest(user_id="ann", limit=5, min_sequence=sequence), timeout=20
                )
                assert service.engine.numbers.view.applied_through >= sequence
        views = [
            service.engine.numbers.view.state.taste.trust[:1].tolist()
            for service in (first, second)
        ]
        assert views[0] == views[1]
        assert await first.engine.store.check() == []
