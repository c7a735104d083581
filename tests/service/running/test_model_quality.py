"""The service says how good its model is: planted models, over real gRPC."""

import logging
import time
from contextlib import asynccontextmanager
from functools import partial

import pytest

from propagation.adapters.openai.options import OpenAIOptions
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.reason import prediction_log
from propagation.workflow.settings import WorkflowSettings
from propagation_client import Credentials
from services.cli.operator.service import _list_facts
from services.config.settings import MonitoringSettings, ServerSettings, Settings
from services.fake_llm.rule import read_data
from services.fake_llm.script import Script
from services.fake_llm.server import FakeLLM, fake_llm
from services.report.collect import collect_report
from services.report.page import render_page
from services.server import run_service
from tests.service.conftest import SMALL, Client
from tests.service.running.test_monitoring import fetch, parse_samples
from tests.service.scenarios import USER, upsert_records
from tests.waiting import wait_until

MODEL, OFFLINE = "openai:scripted", "offline-1"
USERS, CHOICES = 12, 20
EVENTS = USERS * CHOICES


class RightWithShare(FakeLLM):
    """Chooses the item that the user chose in a share of the calls, evenly spread."""

    def __init__(self, script, share):
        super().__init__(script)
        self._share, self._due = share, 0.0

    def observe(self, messages, answer):
        data = read_data(messages)
        if "prediction" in answer:
            right = next(
                place for place in (1, 2) if is_chosen(data[f"candidate_{place}"]["title"])
            )
            self._due += self._share
            is_right = self._due >= 1
            self._due -= is_right
            answer["prediction"]["choice"] = right if is_right else 3 - right


def is_chosen(title):
    """Return whether users choose this item, one of the first half, or pass over it."""
    return int(title.split()[1]) < CHOICES


@asynccontextmanager
async def start_service(folder, model, *, monitoring=None, **options):
    settings = Settings(
        database=folder / "graph.db",
        reasoner="openai",
        openai=OpenAIOptions(base_url=model.base_url, model="scripted", **options),
        server=ServerSettings(port=0, grace_seconds=1),
        monitoring=monitoring or MonitoringSettings(),
        workflow=WorkflowSettings(**{**SMALL, "auto_create": True}),
    )
    async with (
        run_service(settings) as service,
        Credentials().channel(service.address) as channel,
    ):
        yield Client(PropagationServiceStub(channel), channel, service)


async def record_choices(service, users=range(USERS), choices=CHOICES):
    await upsert_records(
        service, [(f"i{n}", "jazz" if n < CHOICES else "opera", None) for n in range(2 * CHOICES)]
    )
    answer = await service.stub.RecordInteractions(
        pb.RecordInteractionsRequest(
            interactions=[
                pb.Interaction(
                    event_id=f"e{user}-{n}",
                    user_id=f"u{user}",
                    item_id=f"i{(n + 3 * user) % CHOICES}",
                    negative_item_id=f"i{(n + 3 * user) % CHOICES + CHOICES}",
                )
                for n in range(choices)
                for user in users
            ]
        )
    )
    return answer.sequence


async def get_status_after(service, sequence, seconds=120):
    async def find():
        status = await service.stub.GetStatus(pb.GetStatusRequest())
        return status if status.reasoned_through >= sequence else None

    return await wait_until(find, seconds, pause=0.1)


async def reason_choices(service):
    """Return the status after all choices, each of which was predicted."""
    await get_status_after(service, await record_choices(service))

    async def find():
        status = await service.stub.GetStatus(pb.GetStatusRequest())
        return status if status.predictors[0].predictions >= EVENTS else None

    return await wait_until(find)


@pytest.fixture(autouse=True)
def _save_often(monkeypatch):
    monkeypatch.setattr(prediction_log, "SAVE_SECONDS", 0.1)


@pytest.mark.slow
async def test_a_model_that_takes_the_first_place_is_said_to_answer_by_place(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    async with fake_llm(Script(habits=frozenset({"first_place"}))) as model:
        async with start_service(tmp_path, model, monitoring=MonitoringSettings(port=0)) as service:
            status = await reason_choices(service)
            [found] = status.predictors
            assert (found.name, found.in_use, found.judgement) == (MODEL, True, "by_place")
            assert (found.predictions, found.first_places) == (EVENTS, EVENTS)
            assert abs(found.share_right - 0.5) < 0.1
            assert 0.03 < found.standard_error < 0.033
            assert "answers by place" in found.warning
            assert "openai.predict=offline" in found.warning
            facts = _list_facts(status)
            assert ("warning", found.warning) in facts
            assert "1.000 the first candidate" in dict(facts)[f"predictions of {MODEL}"]
            _, text = await fetch(service.running.metrics)
            samples = parse_samples(text)
            assert samples["propagation_predictions", MODEL, "first_place"] == EVENTS
            assert samples["propagation_predictions", MODEL, "right"] == found.right
            assert samples["propagation_predictor_is_no_good", MODEL] == 1
            page = render_page(await collect_report(service.stub))
            assert page.count("answers by place") == 1
        async with start_service(tmp_path, model) as service:
            kept = await service.stub.GetStatus(pb.GetStatusRequest())
            assert kept.predictors == status.predictors, "a restart keeps the figures"
        port = MonitoringSettings(port=0)
        async with start_service(tmp_path, model, monitoring=port, predict="offline") as service:
            _, text = await fetch(service.running.metrics)
            assert parse_samples(text)["propagation_predictor_is_no_good", MODEL] == 0
            [kept] = (await service.stub.GetStatus(pb.GetStatusRequest())).predictors
            assert not kept.in_use
            assert "openai.predict" not in kept.warning, "nobody is told to do what was done"
    said = [message for message in caplog.messages if "by place" in message]
    assert len(said) == 1, "it is said once"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "judgement"), [(0.9, "above_chance"), (0.5, "at_chance")], ids=["good", "guesses"]
)
async def test_a_model_that_is_right_with_a_share_is_measured(tmp_path, caplog, share, judgement):
    caplog.set_level(logging.WARNING)
    async with (
        fake_llm(kind=partial(RightWithShare, share=share)) as model,
        start_service(tmp_path, model) as service,
    ):
        status = await reason_choices(service)
        [found] = status.predictors
        assert (found.predictions, found.judgement) == (EVENTS, judgement), found
        assert abs(found.share_right - share) < 3 * max(found.standard_error, 0.02)
        # A question that was asked before is answered from the cache: 240 predictions, 80 answers.
        assert abs(found.share_first - 0.5) < 0.2
        is_warned = share == 0.5
        assert ("not seen to predict better than chance" in found.warning) == is_warned
        assert ("not seen to predict better than chance" in caplog.text) == is_warned


@pytest.mark.slow
async def test_echoes_are_counted_as_refused_and_as_lost_by_reason(tmp_path):
    async with (
        fake_llm(Script(habits=frozenset({"echo"}))) as model,
        start_service(tmp_path, model, monitoring=MonitoringSettings(port=0)) as service,
    ):
        sequence = await record_choices(service, users=range(3), choices=4)
        status = await get_status_after(service, sequence)
        _, text = await fetch(service.running.metrics)
        page = render_page(await collect_report(service.stub))
    [spent] = [one for one in status.spending.prompts if one.prompt.startswith("backward")]
    refused = {one.reason: one for one in spent.refused}
    lost = {one.reason: one.count for one in spent.losses}
    assert spent.lost_parts == lost["echo"] == 3 * 12, "three parties of each interaction"
    assert spent.parts == 2 * spent.lost_parts, "each part is asked for once more"
    assert refused["echo"].count >= spent.parts
    assert refused["echo"].meaning.startswith("A text repeats the instructions")
    samples = parse_samples(text)
    assert samples["propagation_model_lost_parts_total", spent.prompt, "echo"] == 36
    assert samples["propagation_model_refused_total", spent.prompt, "echo"] >= 72
    assert "A text repeats the instructions" in page
    assert "36 parts lost: 36 echo" in dict(_list_facts(status))[f"refused of {spent.prompt}"]
    assert status.dead_letters == 0


@pytest.mark.slow
async def test_a_good_model_loses_nothing(tmp_path):
    async with fake_llm() as model, start_service(tmp_path, model) as service:
        status = await get_status_after(
            service, await record_choices(service, users=range(6), choices=1)
        )
        for spent in status.spending.prompts:
            assert (spent.lost_parts, *spent.losses, *spent.refused) == (0,)
        assert sum(spent.parts for spent in status.spending.prompts) >= 12


@pytest.mark.slow
async def test_the_offline_reasoner_predicts_in_the_models_stead_and_is_marked(tmp_path):
    async with (
        fake_llm(Script(habits=frozenset({"first_place"}))) as model,
        start_service(tmp_path, model, predict="offline") as service,
    ):
        status = await reason_choices(service)
        [found] = status.predictors
        assert (found.name, found.in_use, found.predictions) == (OFFLINE, True, EVENTS)
        assert found.judgement == "above_chance"
        assert model.seen.calls["forward"] == 0, "the model was not asked"
        answer = await service.stub.GetProfile(
            pb.GetProfileRequest(key=pb.ClientKey(kind=USER, id="u1"))
        )
        marks = {
            tuple(source.interaction.prompts)
            for line in answer.profile.lines
            for source in line.sources
        }
        [prompts] = [mark for mark in marks if mark]
        assert f"predict:{OFFLINE}" in prompts
        assert any(prompt.startswith("backward") for prompt in prompts)


@pytest.mark.slow
async def test_the_pace_says_when_the_backlog_is_done_and_how_much_is_done_out_of_order(tmp_path):
    latency = 0.25
    async with (
        fake_llm(Script(latency=latency)) as model,
        start_service(tmp_path, model, in_flight=4) as service,
    ):
        sequence = await record_choices(service, choices=8)

        async def find():
            status = await service.stub.GetStatus(pb.GetStatusRequest())
            done = 8 * USERS - status.interactions_to_reason
            return status if status.pace.HasField("per_hour") and done >= 24 else None

        status = await wait_until(find, 120, pause=0.05)
        now, pending = time.time(), status.interactions_to_reason
        pace = status.pace
        assert 2 * latency <= pace.seconds < 4 * latency, "two calls an interaction"
        assert pace.completion_tokens > 100
        ideal = 3_600 * 4 / (2 * latency)
        assert 0.4 * ideal < pace.per_hour <= 1.05 * ideal
        expected = now + 3_600 * pending / pace.per_hour
        assert abs(pace.done_at.ToSeconds() - expected) <= 2
        assert "will be done at about" in dict(_list_facts(status))["pace"]
        assert 0 <= status.reasoned_above < 8
        later = await get_status_after(service, sequence, 300)
        assert abs(time.time() - expected) < 0.35 * (expected - now) + 1, "the estimate held"
        assert (later.interactions_to_reason, later.reasoned_above) == (0, 0)
        assert not later.pace.HasField("done_at")
