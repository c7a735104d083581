"""AgentCF over HTTP: through the service's adapter, from a scripted server."""

from collections import Counter
from contextlib import asynccontextmanager

import numpy as np
import pytest

from propagation.adapters.openai.answers.questions import QuestionAsker
from propagation.adapters.openai.endpoint import endpoint
from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.sqlite.store import SqliteStore
from propagation.laboratory.agentcf.studies.advertisements import Advertisements
from propagation.laboratory.agentcf.studies.spread import Spread
from propagation.laboratory.protocols.drawn_negatives import DrawnNegatives
from propagation.laboratory.protocols.two_way_choice import TwoWayChoice
from propagation.model import ReasonerFailed
from services.fake_llm import server
from services.fake_llm.rule import read_data, write_scripted_answer
from services.fake_llm.script import Script
from services.runtime.process import SystemClock
from tests.unit.laboratory.planted_agentcf import Planted, build_agentcf, build_titled_dataset

USERS, EACH = 20, 4
INTERACTIONS = USERS * (EACH - 1)


@pytest.fixture
def open_asker(tmp_path, monkeypatch):
    """Return a function that starts a planted server, and the adapter that asks it."""
    monkeypatch.setattr(endpoint, "BACKOFF_SECONDS", 0.01)

    @asynccontextmanager
    async def start(planted, *, latency=0.0, faults=None, in_flight=20):
        def answer(messages, response_format, *, obeying):
            data = read_data(messages)
            if not data or planted is None:
                return write_scripted_answer(messages, response_format, obeying=obeying)
            found = planted.answer(data)
            [wanted] = response_format["json_schema"]["schema"]["properties"]
            return {wanted: found[wanted]} if wanted in found else {}

        monkeypatch.setattr(server, "write_scripted_answer", answer)
        store = SqliteStore(tmp_path / "answers.db", SystemClock())
        await store.open()
        async with server.fake_llm(Script(latency=latency, faults=faults or {})) as model:
            options = OpenAIOptions(
                base_url=model.base_url,
                model="planted",
                timeout=5.0,
                in_flight=in_flight,
                cached_answers=1 << 20,
            )
            opened = create_openai_endpoint(options, None, store, "test")
            asker = QuestionAsker(opened, store)
            try:
                yield asker, model
            finally:
                await asker.keeping.finish()
                await opened.client.close()
                await store.close()

    return start


def count_calls(model):
    """How many calls reached the server, without probes and pings."""
    return Counter(model.seen.calls).total() - sum(
        model.seen.calls[name] for name in ("probe", "ping")
    )


async def run(ask, name="agentcf", seed=1):
    dataset = build_titled_dataset(USERS, each=EACH)
    protocol = DrawnNegatives()
    history, targets = protocol.split(dataset)
    return await protocol.run(build_agentcf(dataset, ask, name), history, targets, seed)


async def test_a_second_run_asks_nothing_and_variants_share_what_they_learned(open_asker):
    async with open_asker(Planted(right=0.6)) as (asker, model):
        first = await run(asker.ask)
        asked = count_calls(model)
        assert asked <= 5.1 * INTERACTIONS + USERS
        assert not first["invalid"].any()
        await asker.keeping.finish()
        again = await run(asker.ask)
        assert count_calls(model) == asked
        assert all(np.array_equal(first[name], again[name]) for name in first)
        await run(asker.ask, "agentcf-h")
        assert count_calls(model) == asked + USERS, "only the rankings differ"


async def test_the_figures_do_not_depend_on_how_many_calls_are_in_flight(open_asker, tmp_path):
    found = []
    for in_flight in (1, 20):
        (tmp_path / "answers.db").unlink(missing_ok=True)
        async with open_asker(Planted(right=0.5), in_flight=in_flight) as (asker, model):
            found.append(await run(asker.ask))
            assert (model.seen.most_at_once > 1) == (in_flight > 1)
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


async def test_an_unusable_answer_is_asked_for_once_more_and_then_counted(open_asker):
    async with open_asker(Planted(right=1.0, unusable=0.2)) as (asker, model):
        spent = []

        async def ask(question):
            try:
                answered = await asker.ask(question)
            except ReasonerFailed as error:
                spent.append(error.usage)
                raise
            spent.append(answered.usage)
            return answered

        values = await run(ask)
        repeats = sum("Answer again with one JSON" in prompt for prompt in model.seen.prompts)
        lost = sum(cost.lost for usage in spent for _, cost in usage.by_prompt)
        assert repeats == lost > 0
        assert 0 < values["invalid"].sum() < lost, "choices and reflections were lost, too"
        assert count_calls(model) == len(spent) + repeats


@pytest.mark.slow
async def test_the_scripted_model_has_a_rule_for_every_prompt(open_asker):
    """It writes what was liked into the memories, so that it is right after a reflection."""
    async with open_asker(None) as (asker, model):
        for name in ("agentcf-h", "agentcf-no-interaction", "agentcf-no-users"):
            assert not (await run(asker.ask, name))["invalid"].any()
        dataset = build_titled_dataset(USERS, each=EACH)
        history, targets = TwoWayChoice().split(dataset)
        values = await TwoWayChoice().run(build_agentcf(dataset, asker.ask), history, targets, 1)
        assert values["after_1"].mean() > values["before_1"].mean() + 0.2
        assert not values["invalid"].any()
        for study in (Spread(), Advertisements()):
            history, targets = study.split(dataset)
            method = build_agentcf(dataset, asker.ask)
            assert not (await study.run(method, history, targets, 1))["invalid"].any()
        prompts = {"agentcf_choose", "agentcf_reflect", "agentcf_rank", "agentcf_express"}
        prompts |= {f"agentcf_{name}" for name in ("draft", "criticise", "revise")}
        prompts |= {"agentcf_choose_advertisement"}
        assert {name for name in model.seen.calls if name != "probe"} == prompts


async def test_calls_that_fail_and_are_retried_change_no_figure(open_asker, tmp_path):
    found = []
    for faults in ({}, {"429": 0.03, "500": 0.03, "disconnect": 0.02}):
        (tmp_path / "answers.db").unlink(missing_ok=True)
        async with open_asker(Planted(right=0.6), faults=faults) as (asker, model):
            found.append(await run(asker.ask))
            assert ("500" in model.seen.faults) == bool(faults)
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])
