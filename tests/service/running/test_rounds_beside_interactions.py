"""A slow model spends its calls on interactions first, whatever rounds have to ask."""

from collections import Counter
from contextlib import asynccontextmanager

import pytest

from propagation.adapters.openai.options import OpenAIOptions
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.settings import BankSettings, WorkflowSettings
from propagation_client import Credentials
from services.cli.operator.service import _list_facts
from services.config.settings import ServerSettings, Settings
from services.fake_llm.script import Script
from services.fake_llm.server import FakeLLM, fake_llm
from services.server import run_service
from tests.service.conftest import Client
from tests.service.scenarios import upsert_records
from tests.waiting import wait_until

STYLES = 60
ITEMS, USERS, EVENTS = 180, 20, 100
LATENCY = 0.15
MARK = "summarize:offline-1"
WORKFLOW = WorkflowSettings(
    session=BankSettings(k=4),
    taste=BankSettings(k=STYLES),
    bootstrap_items=ITEMS,
    auto_create=True,
    # A round a minute, where a call takes 20 seconds.
    round_interval=3 * LATENCY,
)
# The form of `preset=small-model`: a call is about one client or one router.
SMALL_MODEL = {
    "fused": False,
    "clients_a_call": 1,
    "edits": 1,
    "items": "titles",
    "attributes": "known",
    "context_tokens": 4_096,
}


class BadAtRouters(FakeLLM):
    """Writes routers' texts of one word, as a small model does; they are refused."""

    def write_answer(self, messages, response_format, *, obeying):
        answer = super().write_answer(messages, response_format, obeying=obeying)
        return {
            name: {"name": "Things", "text": "Things"} if name.startswith("router_") else part
            for name, part in answer.items()
        }


@asynccontextmanager
async def start_service(folder, model, **options):
    settings = Settings(
        database=folder / "graph.db",
        reasoner="openai",
        openai=OpenAIOptions(
            base_url=model.base_url, model="scripted", **{**SMALL_MODEL, "in_flight": 4, **options}
        ),
        server=ServerSettings(port=0, grace_seconds=1),
        workflow=WORKFLOW,
    )
    async with (
        run_service(settings) as service,
        Credentials().channel(service.address) as channel,
    ):
        yield Client(PropagationServiceStub(channel), channel, service)


async def describe_catalogue(service, model):
    """Create the catalogue, and wait until a fast model has described it."""
    await upsert_records(
        service, [(f"i{n}", f"style {n % STYLES}", f"shelf {n % 7}") for n in range(ITEMS)]
    )
    engine = service.engine
    await wait_until(lambda: engine.numbers.view.epoch == 1, 120)
    await wait_until(lambda: not engine.cold_start.outstanding and not engine.index_problem, 240)


async def record_events(service):
    events = [
        pb.Interaction(
            event_id=f"e{n}",
            user_id=f"u{n % USERS}",
            item_id=f"i{(7 * n) % ITEMS}",
            negative_item_id=f"i{(7 * n + 11) % ITEMS}",
        )
        for n in range(EVENTS)
    ]
    await service.stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=events))


async def count_calls(model, calls):
    """Return how many of the next calls were for interactions, routers and descriptions."""
    before = Counter(model.seen.calls)
    await wait_until(lambda: (model.seen.calls - before).total() >= calls, 240, pause=0.01)
    found = model.seen.calls - before
    return found["forward"] + found["backward"], found["summarize"], found["extract"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [FakeLLM, BadAtRouters], ids=["good", "bad at routers' texts"])
@pytest.mark.parametrize(("in_flight", "calls"), [(1, 80), (4, 300)])
async def test_at_least_half_of_a_slow_models_calls_are_for_interactions(
    tmp_path, kind, in_flight, calls
):
    async with (
        fake_llm(kind=kind) as model,
        start_service(tmp_path, model, in_flight=in_flight) as service,
    ):
        await describe_catalogue(service, model)
        model.script = Script(latency=LATENCY)
        await record_events(service)
        interactions, routers, descriptions = await count_calls(model, calls)
        status = await service.stub.GetStatus(pb.GetStatusRequest())
        assert status.interactions_to_reason > 0, "interactions waited all the time"
        assert interactions >= routers + descriptions, (interactions, routers, descriptions)


async def run_round(service):
    """Return the routers with texts after a round, and the status."""
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    listed = await service.stub.ListRouters(pb.ListRoutersRequest(bank=pb.BANK_TASTE))
    status = await service.stub.GetStatus(pb.GetStatusRequest())
    return [router for router in listed.routers if router.text], status


@pytest.mark.slow
async def test_routers_whose_texts_are_refused_get_the_offline_reasoners_and_messages_travel(
    tmp_path,
):
    async with (
        fake_llm(kind=BadAtRouters) as model,
        start_service(tmp_path, model) as service,
    ):
        await describe_catalogue(service, model)
        await record_events(service)
        routers, status = await run_round(service)
        assert len(routers) > STYLES / 2
        assert {router.written_by for router in routers} == {MARK}
        assert not any("router" in name for name in status.failing)
        [spent] = [one for one in status.spending.prompts if one.prompt.startswith("summarize")]
        assert spent.lost_parts > 0
        warnings = [text for name, text in _list_facts(status) if name == "warning"]
        assert any("openai.router_texts=offline" in text for text in warnings)
        assert status.router_writer == status.reasoner
        engine = service.engine
        reach = await engine.store.count_message_reach(1_000)
        assert sum(one.merged for one in reach) > 0, "messages were heard"
        assert await engine.store.check() == []


@pytest.mark.slow
async def test_a_model_that_is_not_to_write_routers_texts_is_asked_for_none(tmp_path):
    async with (
        fake_llm() as model,
        start_service(tmp_path, model, router_texts="offline") as service,
    ):
        await describe_catalogue(service, model)
        await record_events(service)
        routers, status = await run_round(service)
        assert model.seen.calls["summarize"] == 0
        assert {router.written_by for router in routers} == {MARK}
        assert status.router_writer == "offline-1"
        [said] = [text for name, text in _list_facts(status) if name == "routers' texts"]
        assert said.startswith("offline-1 writes them")
