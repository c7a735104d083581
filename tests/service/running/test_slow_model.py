"""Numbers wait for no language model, from the first minute on."""

import time
from contextlib import asynccontextmanager

from structlog.testing import capture_logs

from propagation.adapters.openai.options import OpenAIOptions
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.settings import WorkflowSettings
from propagation_client import Credentials
from services.config.settings import ServerSettings, Settings
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.server import run_service
from tests.service.conftest import SMALL, Client
from tests.service.scenarios import plant_two_communities, upsert_records
from tests.waiting import wait_until

ANSWER_SECONDS, PROMISED_SECONDS = 60.0, 2.0


@asynccontextmanager
async def start_service(folder, model, **workflow):
    settings = Settings(
        database=folder / "graph.db",
        reasoner="openai",
        openai=OpenAIOptions(base_url=model.base_url, model="scripted", timeout=90.0),
        server=ServerSettings(port=0, grace_seconds=1),
        workflow=WorkflowSettings(**{**SMALL, "auto_create": True, **workflow}),
    )
    async with (
        run_service(settings) as service,
        Credentials().channel(service.address) as channel,
    ):
        yield Client(PropagationServiceStub(channel), channel, service)


async def test_the_first_epoch_opens_and_recommendations_follow_while_the_model_is_silent(tmp_path):
    async with (
        fake_llm(Script(latency=ANSWER_SECONDS)) as model,
        start_service(tmp_path, model, bootstrap_items=20) as service,
    ):
        started = time.monotonic()
        await plant_two_communities(service)
        await wait_until(lambda: service.engine.numbers.view.epoch == 1, 20)
        for number in range(3):
            event = pb.Interaction(event_id=f"late-{number}", user_id="late", item_id=f"i{number}")
            recorded = await service.stub.RecordInteractions(
                pb.RecordInteractionsRequest(interactions=[event])
            )
            answer = await service.stub.Recommend(
                pb.RecommendRequest(user_id="late", min_sequence=recorded.sequence),
                timeout=PROMISED_SECONDS,
            )
            assert answer.reflects.applied_through >= recorded.sequence
            assert event.item_id not in {one.item_id for one in answer.recommendations}
        status = await service.stub.GetStatus(pb.GetStatusRequest())
        assert (status.bootstrapped, status.clients_to_describe > 0) == (True, True)
        assert time.monotonic() - started < ANSWER_SECONDS, "no answer can have come yet"


async def test_what_a_model_described_late_reaches_the_index_and_the_routers(tmp_path):
    async with (
        fake_llm(Script(latency=0.5)) as model,
        start_service(tmp_path, model, bootstrap_items=20, update_size=10) as service,
    ):
        engine = service.engine
        await plant_two_communities(service)
        await wait_until(lambda: engine.numbers.view.epoch == 1, 20)
        await wait_until(lambda: not engine.cold_start.outstanding, 60)
        await wait_until(lambda: not engine.index_problem, 60)
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
        messages = await engine.store.get_router_versions(range(4))
        assert messages, "the first round follows the descriptions"
        near = await service.stub.SimilarClients(
            pb.SimilarClientsRequest(
                key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="i0"),
                kind=pb.CLIENT_KIND_ITEM,
                by=pb.SIMILARITY_PROFILE,
            )
        )
        assert near.neighbours
        assert await engine.index_maintenance.repair() == 0
        assert await engine.store.check() == []


async def test_the_first_epoch_does_not_wait_for_a_round_that_asks_the_model(tmp_path):
    with capture_logs() as logs:
        async with (
            fake_llm() as model,
            start_service(tmp_path, model, bootstrap_items=30) as service,
        ):
            engine = service.engine
            await plant_two_communities(service, items=20)
            await wait_until(lambda: not engine.cold_start.outstanding, 30)
            await wait_until_reasoned(service)
            model.script = Script(latency=ANSWER_SECONDS)
            round_ = service.stub.RunRound(pb.RunRoundRequest())
            await wait_until(lambda: model.seen.calls["summarize"], 20)
            started = time.monotonic()
            await upsert_records(service, [(f"new{n}", "Folk", None) for n in range(15)])
            await wait_until(lambda: engine.numbers.view.epoch == 1, 20)
            event = pb.Interaction(event_id="late", user_id="late", item_id="i0")
            recorded = await service.stub.RecordInteractions(
                pb.RecordInteractionsRequest(interactions=[event])
            )
            answer = await service.stub.Recommend(
                pb.RecommendRequest(user_id="late", min_sequence=recorded.sequence),
                timeout=PROMISED_SECONDS,
            )
            assert answer.reflects.applied_through >= recorded.sequence
            assert time.monotonic() - started < ANSWER_SECONDS, "no answer can have come yet"
            ended = await round_
            assert not ended.HasField("round"), "its routers are replaced"
            reason = "the first epoch replaces its routers"
            assert ended.note == f"the round was abandoned: {reason}; the next one begins anew"
            [line] = [line for line in logs if line["event"].startswith("a round was abandoned")]
            assert (line["log_level"], line["reason"]) == ("warning", reason)
            assert service.worker.counters["rounds_abandoned_total", ""] == 1
            status = await service.stub.GetStatus(pb.GetStatusRequest())
            [part] = [part for part in status.parts if part.name == "round abandoned"]
            assert part.calls == 1
            assert part.seconds > 0


async def wait_until_reasoned(service):
    async def find():
        status = await service.stub.GetStatus(pb.GetStatusRequest())
        return status.reasoned_through == status.recorded_through

    await wait_until(find, 60)
