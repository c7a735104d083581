"""GetStatus says what fails."""

import grpc
import pytest

from propagation.model import NewInteraction
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.settings import WorkflowSettings
from services.config.settings import QdrantSettings, ServerSettings, Settings
from services.security.roles import Role
from services.server import run_service
from tests.service.conftest import SMALL
from tests.silent_server import silent_server

TIMEOUT_SECONDS = 1.0


async def test_a_reasoner_that_was_told_to_pause_is_among_what_fails(service, monkeypatch):
    assert "reasoner" not in (await service.stub.GetStatus(pb.GetStatusRequest())).failing
    monkeypatch.setattr(service.engine.reasoner, "pause_reason", "429: the next call is in 60 s")
    status = await service.stub.GetStatus(pb.GetStatusRequest())
    assert status.failing["reasoner"] == "429: the next call is in 60 s"


async def test_the_oldest_waiting_entries_and_the_callers_roles(start_service):
    async with start_service(roles=(Role.WRITE, Role.ANALYST), auto_create=True) as service:
        await service.worker.stop()
        event = NewInteraction(event_id="e", user_id="ann", item_id="i1", time=1, content_hash="h")
        await service.engine.record([event])
        recorded = await service.engine.store.get_time_of_next(0)
        waiting = await service.stub.GetStatus(pb.GetStatusRequest())
        assert 0 <= waiting.oldest_to_learn.ToMilliseconds() - recorded < 100
        assert 0 <= waiting.oldest_to_reason.ToMilliseconds() - recorded < 100
        while await service.engine.learn():
            pass
        learned = await service.stub.GetStatus(pb.GetStatusRequest())
        assert not learned.HasField("oldest_to_learn")
        assert 0 <= learned.oldest_to_reason.ToMilliseconds() - recorded < 100
        while await service.engine.reason():
            pass
        done = await service.stub.GetStatus(pb.GetStatusRequest())
        assert not done.HasField("oldest_to_reason")
    assert list(done.caller_roles) == ["analyst", "persons", "read", "write"]


@pytest.mark.slow
async def test_an_index_that_does_not_answer_fails_before_a_step_has_waited_for_it(tmp_path):
    """The log reports it during the start; the step that looks for it takes as long again."""
    async with silent_server() as port:
        settings = Settings(
            database=tmp_path / "graph.db",
            reasoning_in="loop",
            index="qdrant",
            qdrant=QdrantSettings(
                url="http://127.0.0.1:1", grpc_port=port, timeout_seconds=TIMEOUT_SECONDS
            ),
            server=ServerSettings(port=0),
            workflow=WorkflowSettings(**SMALL),
        )
        async with (
            run_service(settings) as started,
            grpc.aio.insecure_channel(started.address) as channel,
        ):
            status = await PropagationServiceStub(channel).GetStatus(pb.GetStatusRequest())
            assert "does not answer" in status.failing["index"]
