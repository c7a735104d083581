"""Start, health, reflection and graceful stop of a server."""

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from propagation.v1 import propagation_pb2 as pb
from services.config.settings import ServerSettings, Settings
from services.grpc.service import SERVICE_NAME
from services.runtime.errors import NotLoopback, PortTaken
from services.security.address import is_loopback, refuse_open_address
from services.server import run_service


@pytest.mark.parametrize("name", ["", SERVICE_NAME])
async def test_health_is_serving(service, name):
    stub = health_pb2_grpc.HealthStub(service.channel)
    answer = await stub.Check(health_pb2.HealthCheckRequest(service=name))
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_reflection_lists_the_service(service):
    stub = reflection_pb2_grpc.ServerReflectionStub(service.channel)
    call = stub.ServerReflectionInfo(
        iter([reflection_pb2.ServerReflectionRequest(list_services="")])
    )
    answer = await call.read()
    assert SERVICE_NAME in [found.name for found in answer.list_services_response.service]


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_only_loopback_is_served_without_insecure(host, own):
    assert is_loopback(host) is own
    refuse_open_address(ServerSettings(host=host, insecure=True))
    if not own:
        with pytest.raises(NotLoopback, match="--insecure"):
            refuse_open_address(ServerSettings(host=host))


async def test_a_taken_port_is_named(service, tmp_path):
    taken = int(service.address.rsplit(":", 1)[1])
    with pytest.raises(PortTaken, match=str(taken)):
        async with run_service(
            Settings(database=tmp_path / "other.db", server=ServerSettings(port=taken))
        ):
            pass


async def test_an_acknowledged_event_survives_a_restart(start_service):
    event = pb.Interaction(event_id="e", user_id="ann", item_id="i")
    async with start_service(auto_create=True) as first:
        ack = await first.stub.RecordInteractions(
            pb.RecordInteractionsRequest(interactions=[event])
        )
    async with start_service(auto_create=True) as second:
        again = await second.stub.RecordInteractions(
            pb.RecordInteractionsRequest(interactions=[event])
        )
    assert again.outcomes[0].status == pb.INTERACTION_STATUS_DUPLICATE
    assert again.outcomes[0].sequence == ack.outcomes[0].sequence


async def test_nothing_answers_after_the_stop(start_service):
    async with start_service() as service:
        address = service.address
    async with grpc.aio.insecure_channel(address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=1
            )
    assert caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
