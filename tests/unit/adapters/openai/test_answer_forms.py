"""Against a server that is not ours: what can be read is read in one call, what can't is asked for
once more, and whatever comes, nothing is lost and nothing crashes."""

import asyncio
from contextlib import asynccontextmanager, suppress

import numpy as np
import pytest

from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.openai.answers.json_mode import Mode
from propagation.adapters.openai.embedder import create_openai_embedder
from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.paper_reasoner import create_openai_reasoner
from propagation.model import ReasonerFailed, ReasonerGaveUp, ReasonerUnavailable
from services.assembly import build_engine
from services.config.settings import Settings
from tests.unit.adapters.openai.other_server import (
    BADLY,
    READ,
    UNANSWERED,
    other_server,
    text_completion,
)
from tests.unit.adapters.openai.test_server_habits import parties
from tests.unit.parties import work
from tests.unit.workflow.reason.test_pipeline import SETTINGS, events, items

LINE = 'It\'s drawn to soul, as "others" are'


@pytest.fixture(scope="module")
def server():
    with other_server() as other:
        yield other


@asynccontextmanager
async def open_reasoner_of(server, store, **options):
    server.prompts.clear()
    told = OpenAIOptions(
        **{
            "base_url": server.base_url,
            "model": "other",
            "timeout": 5.0,
            "attempts": 2,
            "cached_answers": 0,
            "embeddings": {"model": "other", "dimension": 4},
            **options,
        }
    )
    reasoner = create_openai_reasoner(
        create_openai_endpoint(told, None, store, "test"), store, extract_lines
    )
    reasoner._asker._json_modes._mode = Mode.PLAIN
    try:
        yield reasoner
    finally:
        await reasoner.close()


async def ask_both(reasoner):
    reader, positive, negative = parties()
    return (
        await reasoner.forward(work(), reader, [positive, negative], None),
        await reasoner.backward(work(), 1, reader, positive, negative),
    )


@pytest.mark.parametrize("form", READ)
async def test_what_can_be_read_is_read_in_one_call(server, store, form):
    server.form = READ[form]
    async with open_reasoner_of(server, store) as reasoner:
        forward, backward = await ask_both(reasoner)
    assert len(server.prompts) == 2
    [heard] = forward.merges[0].edits
    assert (heard.line.text, heard.line.attributes, forward.prediction) == (
        LINE,
        ("soul",),
        True,
    )
    assert [[edit.line.text for edit in part.edits] for part in backward.clients] == [[LINE]] * 3
    assert len(backward.gradients) == 5, "of three profiles, one filter memory and one router"
    assert [rule.router for rule in backward.clients[0].rules] == [3]


@pytest.mark.parametrize("form", BADLY)
async def test_what_can_not_is_asked_for_once_more_and_then_a_typed_failure(server, store, form):
    server.form = BADLY[form]
    async with open_reasoner_of(server, store) as reasoner:
        with pytest.raises(ReasonerFailed) as raised:
            await ask_both(reasoner)
    assert not isinstance(raised.value, ReasonerUnavailable | ReasonerGaveUp)
    assert ["Answer again" in prompt for prompt in server.prompts] == [False, True]


@pytest.mark.parametrize("form", UNANSWERED)
async def test_what_is_no_answer_makes_the_work_wait(server, store, form):
    server.form = UNANSWERED[form]
    async with open_reasoner_of(server, store) as reasoner:
        reasoner.endpoint.limiter.pause = lambda seconds: 0.0
        with pytest.raises(ReasonerUnavailable):
            await ask_both(reasoner)


async def test_a_dead_letter_keeps_the_last_question_and_its_answer(server, tmp_path):
    said = "I would choose the first one,\0 and that is all."
    server.form = READ["as it should be"]
    told = OpenAIOptions(base_url=server.base_url, model="other", timeout=5.0, cached_answers=0)
    engine = build_engine(
        Settings(database=tmp_path / "graph.db", reasoner="openai", openai=told, workflow=SETTINGS)
    )
    await engine.open()
    try:
        await engine.upsert_clients(items())
        await engine.drain()
        server.form = lambda answer: text_completion(said)
        server.prompts.clear()
        await engine.record(events(1))
        await engine.drain()
        [letter] = await engine.store.get_failed_reasoning(9)
        assert letter.attempts == SETTINGS.reason_attempts
        assert letter.exchange.answered == said.replace("\0", "")
        assert "<data>" in letter.exchange.asked
        assert letter.exchange.asked.endswith(server.prompts[-1].strip()[-40:])
        server.form = READ["as it should be"]
        assert await engine.retry_dead_letters(None) == (1, 0)
        assert await engine.store.get_failed_reasoning(9) == []
    finally:
        await engine.close()


@pytest.mark.slow
async def test_under_all_of_it_together_nothing_is_lost(server, tmp_path):
    """Each answer in a form of its own: every interaction is reasoned or a dead letter with its
    reason, and what failed can be replayed."""
    server.form = READ["as it should be"]
    server.asked.clear()
    told = OpenAIOptions(base_url=server.base_url, model="other", timeout=5.0, cached_answers=0)
    engine = build_engine(
        Settings(database=tmp_path / "graph.db", reasoner="openai", openai=told, workflow=SETTINGS)
    )
    await engine.open()
    try:
        await engine.upsert_clients(items())
        await engine.drain()
        [ref] = await engine.store.find_refs([items()[0].key])
        assert [
            one["written_by"]
            async for kind, one in engine.store.export_client(ref)
            if kind == "profile_version"
        ] == ["extract@2"]
        server.form = None
        server.prompts.clear()
        await engine.record(events(16))
        async with asyncio.timeout(20):
            while (
                await engine.store.get_reasoned_through()
                < await engine.store.get_recorded_through()
            ):
                with suppress(ReasonerUnavailable):
                    await engine.drain()
                await asyncio.sleep(0.02)
        letters = await engine.store.get_dead_letters(100)
        assert all(letter.reason for letter in letters)
        assert len(letters) < 5
        # Two calls an interaction, each asked again once, and drained again after what is no
        # answer: which call meets which form depends on their order.
        assert len(server.prompts) < 16 * 2 * 2 * 2
        server.form = READ["as it should be"]
        assert await engine.retry_dead_letters(None) == (len(letters), 0)
        await engine.run_round()
        assert engine.reasoner.expenses.this_run.total.calls == len(server.asked), (
            "counted at the server"
        )
        # Of the newest texts, all may have met a form that is no answer.
        assert "summarize@3" in {
            version.written_by
            for round_ in await engine.store.get_last_rounds(9)
            for version in await engine.store.get_messages_of(round_.number)
        }
    finally:
        await engine.close()


@pytest.mark.parametrize("form", ["numbers as text", "no places"])
async def test_embeddings_in_other_forms_are_read(server, store, form):
    rows = {
        "numbers as text": lambda n: {"index": n, "embedding": ["0", str(n + 1.0), "0.0", "0"]},
        "no places": lambda n: {"embedding": [0, n + 1, 0, 0]},
    }[form]
    server.embedding = lambda texts: {"data": [rows(n) for n in range(len(texts))]}
    async with open_reasoner_of(server, store) as reasoner:
        found = await create_openai_embedder(reasoner.endpoint, store).embed(["jazz", "opera"])
    assert np.array_equal(found, [[0, 1, 0, 0]] * 2)
