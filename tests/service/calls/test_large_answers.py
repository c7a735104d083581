"""Answers that would be larger than a message may be."""

from contextlib import asynccontextmanager
from types import SimpleNamespace

import grpc
import pytest
from structlog.testing import capture_logs

from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.settings import WorkflowSettings
from propagation_client import CallFailed
from services.client.stub import connect
from services.config.settings import ServerSettings, Settings
from services.server import run_service
from tests.service.conftest import SMALL
from tests.service.scenarios import propagate_opera

MOST = 4_000


@asynccontextmanager
async def serve(folder, most=None):
    """Yield a service whose messages have at most so many bytes."""
    settings = Settings(
        database=folder / "graph.db",
        reasoning_in="loop",
        server=ServerSettings(
            port=0, grace_seconds=1, **({} if most is None else {"max_message_bytes": most})
        ),
        workflow=WorkflowSettings(**{**SMALL, "auto_create": True}),
    )
    async with run_service(settings) as service, connect(service.address) as stub:
        yield SimpleNamespace(stub=stub)


async def test_a_trace_has_as_many_paths_as_a_message_holds(tmp_path):
    request = pb.TracePropagationRequest(attribute="opera", limit=1_000)
    async with serve(tmp_path) as service:
        await propagate_opera(service)
        whole = await service.stub.TracePropagation(request)
        assert not whole.truncated
        assert whole.ByteSize() > MOST
    async with serve(tmp_path, MOST) as service:
        some = await service.stub.TracePropagation(request)
        assert some.truncated
        assert list(some.paths) == list(whole.paths)[: len(some.paths)]
        next_path = whole.paths[len(some.paths)].ByteSize()
        assert MOST - next_path - 100 < some.ByteSize() <= MOST, "one more does not fit"


async def test_any_other_answer_that_is_too_large_says_what_to_do(tmp_path):
    async with serve(tmp_path) as service:
        await propagate_opera(service)
    with capture_logs() as logs:
        async with serve(tmp_path, 1_024) as service:
            with pytest.raises(CallFailed, match="ask for fewer rows or paths") as refused:
                await service.stub.GetSettings(pb.GetSettingsRequest())
            await service.stub.GetStatus(pb.GetStatusRequest())
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (refused.value.reason, refused.value.facts["most"]) == ("TOO_LARGE", "1024")
    assert not [one for one in logs if one["log_level"] == "error"]
