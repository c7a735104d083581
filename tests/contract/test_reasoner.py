"""The contract of a reasoner: what ports/reasoner.py promises, for every implementation.

A new reasoner joins with one entry in REASONERS. The ones behind an endpoint are asked against the
scripted server.
"""

from contextlib import asynccontextmanager, suppress

import pytest

from propagation.adapters.fallback.reasoner import FallbackReasoner
from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.paper_reasoner import create_openai_reasoner
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    AddLine,
    Author,
    DropLine,
    EvolutionKind,
    Gradient,
    Module,
    ReasonerFailed,
    ReasonerUnavailable,
    ReasonWork,
    ReplaceLine,
    RouterCase,
    RouterHalf,
    compute_ref,
)
from propagation.ports import Integration
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.runtime.process import SystemClock
from tests.unit.parties import (
    NEGATIVE,
    POSITIVE,
    USER,
    ClientKind,
    item,
    line,
    message,
    party,
    user,
    work,
)

HEARD = message(3, "soul", "funk", text="A community for soul and funk")
EDITS = (AddLine, DropLine, ReplaceLine)


@asynccontextmanager
async def open_offline(folder):
    yield OfflineReasoner()


@asynccontextmanager
async def open_endpoint(folder, script=None, **options):
    store = SqliteStore(folder / "graph.db", SystemClock())
    await store.open()
    async with fake_llm(script or Script()) as server:
        told = OpenAIOptions(
            base_url=server.base_url, model="scripted", timeout=5.0, attempts=1, **options
        )
        reasoner = create_openai_reasoner(
            create_openai_endpoint(told, None, store, "test"), store, extract_lines
        )
        yield reasoner
        await reasoner.close()
    await store.close()


@asynccontextmanager
async def open_paper(folder):
    async with open_endpoint(folder, fused=False) as reasoner:
        yield reasoner


@asynccontextmanager
async def open_fallback(folder):
    async with open_endpoint(folder) as first:
        yield FallbackReasoner(first, OfflineReasoner(), unavailable=True)


@asynccontextmanager
async def open_fallback_of_failing_model(folder):
    async with open_endpoint(folder, Script(faults={"refusal": 1.0})) as first:
        yield FallbackReasoner(first, OfflineReasoner(), unavailable=True)


REASONERS = {
    "offline": open_offline,
    "openai, fused": open_endpoint,
    "openai, as in the paper": open_paper,
    "fallback": open_fallback,
    "fallback of a failing model": open_fallback_of_failing_model,
}


@pytest.fixture(params=REASONERS)
async def reasoner(request, tmp_path):
    async with REASONERS[request.param](tmp_path) as reasoner:
        yield reasoner


def reader(*messages):
    return party(user(), line(1, "jazz", text="Likes jazz trumpet"), messages=messages)


def chosen_item(*messages):
    return party(item(), line(1, "jazz", text="A record of jazz trumpet"), messages=messages)


def passed_item(*messages):
    client = item(NEGATIVE, "Tosca", ("opera",))
    return party(client, line(1, "opera", text="Opera by Puccini"), messages=messages)


def work_without_negative():
    return ReasonWork(
        sequence=50,
        user=USER,
        item=POSITIVE,
        negative=None,
        weight=1.0,
        score_positive=None,
        score_negative=None,
    )


def router(number, **fields):
    given = {"arrived": {"soul": 2}, "standing": {"jazz": 3.0}, "common": {}, "examples": ["Tosca"]}
    return Integration(router=number, before=None, **{**given, **fields})


def is_usable(part):
    return not isinstance(part, ReasonerFailed)


async def await_answer_or_failure(asked):
    """Return an answer, or the failure that was raised; it must not be that nobody answers now."""
    try:
        return await asked
    except ReasonerUnavailable:
        raise
    except ReasonerFailed as error:
        return error


async def test_it_has_a_name_and_says_how_much_it_takes_at_once(reasoner):
    assert reasoner.name
    assert reasoner.concurrency >= 1
    assert reasoner.router_batch_size >= 1
    assert reasoner.pause_reason == ""
    assert reasoner.expenses.this_run.total.calls >= 0


async def test_extract_gives_each_client_its_own_lines_in_order(reasoner):
    clients = [item(compute_ref(ClientKind.ITEM, n), f"Record {n}", ("jazz",)) for n in range(3)]
    answer = await reasoner.extract([*clients, user()])
    assert len(answer.edits) == 4
    assert all(is_usable(part) for part in answer.edits)
    for n, edits in enumerate(answer.edits[:3]):
        assert f"Record {n}" in edits[0].line.text
        assert {edit.line.author for edit in edits} == {Author.CATALOGUE}
    assert list(answer.edits[3]) == [], "a client without any text has no lines"


async def test_merge_changes_lines_that_were_heard_and_says_what_became_of_each_message(reasoner):
    answer = await reasoner.merge(reader(HEARD))
    assert all(isinstance(edit, EDITS) for edit in answer.edits)
    assert set(answer.outcomes) == {(HEARD.router, HEARD.version)}
    for edit in answer.edits:
        assert edit.line.author is Author.RECEPTION
        assert [source.router for source in edit.line.sources] == [HEARD.router]


async def test_forward_merges_for_every_party_and_predicts(reasoner):
    answer = await reasoner.forward(
        work(), reader(HEARD), [chosen_item(HEARD), passed_item()], (0.7, 0.2)
    )
    assert len(answer.merges) == 3
    assert all(is_usable(part) for part in answer.merges)
    assert answer.merges[0].outcomes, "the user had a message"
    assert list(answer.merges[2].edits) == [], "without messages there is nothing to merge"
    assert is_usable(answer.prediction)
    assert answer.prediction is True, "by the scores and by the profiles"


async def test_the_prediction_follows_the_candidates_and_not_their_places(reasoner):
    answer = await reasoner.forward(work(), reader(), [passed_item(), chosen_item()], (0.2, 0.7))
    assert answer.prediction is False


async def test_forward_with_one_candidate_and_no_messages_asks_nothing(reasoner):
    calls = reasoner.expenses.this_run.total.calls
    answer = await reasoner.forward(work_without_negative(), reader(), [chosen_item()], None)
    assert [list(part.edits) for part in answer.merges] == [[], []]
    assert answer.prediction is None
    assert reasoner.expenses.this_run.total.calls == calls


@pytest.mark.parametrize("reward", [0, 1])
async def test_backward_gives_gradients_of_the_modules_that_took_part_and_edits_for_each_party(
    reasoner, reward
):
    parties = reader(HEARD), chosen_item(), passed_item()
    answer = await reasoner.backward(work(), reward, *parties)
    assert len(answer.clients) == 3
    assert all(is_usable(part) for part in answer.clients)
    modules = [(one.module, one.owner) for one in answer.gradients]
    assert modules
    assert len(set(modules)) == len(modules), "one gradient for each module"
    clients = {one.client.ref for one in parties}
    for one in answer.gradients:
        assert one.sequence == 50
        assert one.reward in (0, 1)
        assert one.owner in (clients if one.module != Module.ROUTER else {HEARD.router})
    for part in answer.clients:
        for edit in part.edits:
            assert isinstance(edit, DropLine) or edit.line.author is Author.INTERACTION


async def test_without_a_negative_there_is_no_reward_and_no_gradient(reasoner):
    answer = await reasoner.backward(
        work_without_negative(), None, reader(HEARD), chosen_item(), None
    )
    assert list(answer.gradients) == []
    assert len(answer.clients) == 2
    assert all(is_usable(part) for part in answer.clients)


async def test_summarize_gives_each_router_a_short_text_in_order(reasoner):
    answer = await reasoner.summarize(
        [router(0, arrived={"jazz": 2}, standing={"jazz": 2.0}), router(1, standing={"opera": 2.0})]
    )
    assert len(answer.summaries) == 2
    for number, summary in enumerate(answer.summaries):
        if is_usable(summary):
            assert 1 <= len(summary.text.split()) <= 60
            assert ("jazz" in f"{summary.name} {summary.text}") == (number == 0)


async def test_rank_gives_each_place_once_or_fails(reasoner):
    answer = await await_answer_or_failure(reasoner.rank(reader(), [passed_item(), chosen_item()]))
    assert not is_usable(answer) or sorted(answer.order) == [0, 1]


async def test_a_decision_on_a_router_can_be_carried_out_or_fails(reasoner):
    told = Gradient(
        sequence=9, module=Module.ROUTER, owner=3, writer=USER, reward=0, text="Say more of opera."
    )
    case = RouterCase(
        router=HEARD,
        gradients=(told,),
        praised=1,
        blamed=40,
        choices={"opera": 50, "jazz": 4},
        common={},
        halves=(
            RouterHalf(0.4, {"jazz": 4}, {"jazz": 1.0}),
            RouterHalf(0.6, {"opera": 50}, {"opera": 1.0}),
        ),
        distance=0.9,
    )
    texts = {None: 0, EvolutionKind.SPLIT: 2, EvolutionKind.MERGE: 1, EvolutionKind.REWRITE: 1}
    decision = await await_answer_or_failure(reasoner.decide_router(case))
    if is_usable(decision):
        assert len(decision.texts) == texts[decision.kind]
        assert all(text for _, text in decision.texts)


async def test_after_the_service_stops_nothing_is_asked(reasoner):
    calls = reasoner.expenses.this_run.total.calls
    reasoner.stop_within(0.0)
    with suppress(ReasonerUnavailable):
        await reasoner.merge(reader(HEARD))
    assert reasoner.expenses.this_run.total.calls == calls


@pytest.mark.parametrize("script", [Script(faults={"500": 1.0}), Script(faults={"refusal": 1.0})])
async def test_without_an_answer_it_raises_and_says_what_that_cost(tmp_path, script):
    async with open_endpoint(tmp_path, script) as model:
        with pytest.raises(ReasonerFailed) as raised:
            await model.forward(work(), reader(HEARD), [chosen_item(), passed_item()], None)
        unavailable = isinstance(raised.value, ReasonerUnavailable)
        assert unavailable == ("500" in script.faults)
        assert raised.value.usage.total.calls >= 1
