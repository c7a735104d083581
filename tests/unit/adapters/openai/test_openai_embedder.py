"""Embeddings through the endpoint: in order, unit rows, kept; what is none is refused by name."""

import asyncio
from unittest.mock import patch

import numpy as np
import pytest

from propagation.adapters.openai.embedder import OpenAIEmbedder, create_openai_embedder
from propagation.adapters.openai.options import OpenAIOptions
from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
    IncompatibleSettings,
    ReasonerGaveUp,
    index_of,
)
from propagation.workflow.index.embedding import embed_within_deadline
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.grpc.handlers.get_status import spending_to_proto

STYLES = ("opera", "jazz")
TEXTS = ["jazz trumpet", "opera", "", "jazz trumpet", "jazz piano"]


def make_embedder(asked):
    return create_openai_embedder(asked.reasoner.endpoint, asked.store)


@pytest.fixture
def open_embedding_reasoner(open_reasoner):
    return lambda habits=(), **options: open_reasoner(
        habits=habits, embeddings={"model": "scripted", "dimension": 16} | options
    )


@pytest.mark.parametrize("habits", [(), ("unordered_embeddings",)])
async def test_rows_come_in_order_as_unit_vectors_and_nothing_for_nothing(
    open_embedding_reasoner, habits
):
    async with open_embedding_reasoner(habits) as asked:
        found = await make_embedder(asked).embed(TEXTS)
        assert np.allclose(np.linalg.norm(found, axis=1), [1, 1, 0, 1, 1], atol=1e-6)
        assert np.array_equal(found[0], found[3])
        assert found[0] @ found[4] > found[0] @ found[1], "texts that share a word are nearer"
        assert asked.server.seen.calls["embeddings"] == 1


async def test_what_was_embedded_once_is_kept(open_embedding_reasoner):
    async with open_embedding_reasoner() as asked:
        first = await make_embedder(asked).embed(TEXTS)
        again = await make_embedder(asked).embed(TEXTS)
        assert np.array_equal(first, again)
        assert asked.server.seen.calls["embeddings"] == 1


async def test_a_withdrawal_meanwhile_keeps_nothing(open_embedding_reasoner, monkeypatch):
    async with open_embedding_reasoner() as asked:
        withdrawals = iter(range(1, 9))

        async def count_withdrawals():
            return next(withdrawals)

        monkeypatch.setattr(asked.store, "get_last_withdrawal", count_withdrawals)
        await make_embedder(asked).embed(TEXTS)
        await make_embedder(asked).embed(TEXTS)
        assert asked.server.seen.calls["embeddings"] == 2


@pytest.mark.parametrize(
    ("habit", "error", "words"),
    [
        ("short_embeddings", IncompatibleSettings, "8 dimensions, .*propagation init"),
        ("token_embeddings", ReasonerGaveUp, "unusable embeddings"),
        ("no_embeddings", ReasonerGaveUp, "501"),
    ],
)
async def test_what_is_no_embedding_is_refused(open_embedding_reasoner, habit, error, words):
    async with open_embedding_reasoner((habit,)) as asked:
        with pytest.raises(error, match=words):
            await make_embedder(asked).embed(TEXTS)


@pytest.mark.parametrize("cached", [0, 1 << 20])
async def test_a_text_that_the_server_refuses_is_a_row_of_zeros_and_the_others_are_embedded(
    open_embedding_reasoner, caplog, cached
):
    texts = [f"record {n}" for n in range(70)]
    texts[11] = texts[66] = "forbidden words"
    async with open_embedding_reasoner(("filtered_embeddings",), cached=cached) as asked:
        opened = make_embedder(asked)
        found = await opened.embed(texts)
        assert np.flatnonzero(~found.any(1)).tolist() == [11, 66]
        assert np.allclose(np.linalg.norm(found, axis=1)[found.any(1)], 1, atol=1e-6)
        assert [
            record.levelname
            for record in caplog.records
            if "text of 15 characters" in record.message
        ] == ["WARNING"]
        calls = asked.server.seen.calls["embeddings"]
        await opened.embed(texts)
        assert asked.server.seen.calls["embeddings"] - calls == (0 if cached else 2)
        assert sum("does not embed" in record.message for record in caplog.records) == 1, (
            "told once"
        )
        assert not (await make_embedder(asked).embed(["forbidden words"])).any(), (
            "of another process, too"
        )
        assert asked.server.seen.calls["embeddings"] - calls == (2 if cached else 4), (
            "which asks for itself: no refusal is stored"
        )


async def test_a_text_that_was_refused_is_asked_for_again_after_a_while(open_embedding_reasoner):
    now = [0.0]
    async with open_embedding_reasoner(("filtered_embeddings",)) as asked:
        opened = OpenAIEmbedder(
            asked.reasoner.endpoint,
            asked.store,
            asked.reasoner.endpoint.options.embeddings,
            clock=lambda: now[0],
        )
        assert not (await opened.embed(["forbidden words"])).any()
        asked.server.script = Script()
        now[0] = 899.0
        assert not (await opened.embed(["forbidden words"])).any()
        now[0] = 901.0
        assert (await opened.embed(["forbidden words"])).any()


async def test_an_item_whose_text_was_refused_is_embedded_in_the_end(tmp_path):
    changes = [
        ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
            title=f"forbidden {n}" if n == 3 else f"record {n}",
        )
        for n in range(5)
    ]
    async with fake_llm(Script(habits=frozenset({"filtered_embeddings"}))) as server:
        engine = build_engine(make_settings(tmp_path, server))
        await engine.open()
        await engine.upsert_clients(changes)
        await engine.drain()
        [ref] = await engine.store.find_refs([changes[3].key])
        drawn = engine.numbers.view.state.content[index_of(ref)].copy()
        assert await engine.refused_texts.retry() == 0, "it is refused still"
        server.script = Script()
        engine.embedder._refused.clear()  # as after a quarter of an hour
        assert await engine.retain() == 0, "not due"
        engine.refused_texts._due = 0.0
        assert await engine.retain() == 1
        [vector] = await engine.embedder.embed(["forbidden 3"])
        assert np.array_equal(engine.numbers.view.state.content[index_of(ref)], vector)
        assert not np.array_equal(drawn, vector)
        assert await engine.refused_texts.retry() == 0
        await engine.close()


async def test_a_read_does_not_wait_for_an_embedder_that_is_slow(caplog):
    class Slow:
        async def embed(self, texts):
            await asyncio.sleep(60)

    with patch("propagation.workflow.index.embedding.READ_DEADLINE_SECONDS", 0.02):
        assert await embed_within_deadline(Slow(), ["jazz"], "a newcomer's text") is None
    assert "left out a newcomer's text" in caplog.text


async def test_what_an_embedder_alone_costs_is_shown(tmp_path):
    async with fake_llm() as server:
        engine = build_engine(make_settings(tmp_path, server))
        await engine.open()
        assert spending_to_proto(engine) is None
        await engine.upsert_clients(
            [ClientChange(key=ClientKey(kind=ClientKind.ITEM, id="i"), title="A record")]
        )
        await engine.drain()
        [prompt] = spending_to_proto(engine).prompts
        await engine.close()
    assert (prompt.prompt, prompt.calls) == ("embed@1", server.seen.calls["embeddings"])
    assert prompt.prompt_tokens > 0


def make_settings(tmp_path, server, **embeddings):
    told = OpenAIOptions(
        base_url=server.base_url,
        attempts=1,
        embeddings={"model": "scripted", "dimension": 16} | embeddings,
    )
    workflow = WorkflowSettings(
        session=BankSettings(k=4), taste=BankSettings(k=4), table_edges=2, bootstrap_items=8
    )
    return Settings(
        database=tmp_path / "whole.db", embedder="openai", openai=told, workflow=workflow
    )


async def test_a_service_embeds_through_the_endpoint_and_refuses_another_model(
    tmp_path,
):
    changes = [
        ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"), title=f"Record {n} of {STYLES[n % 2]}"
        )
        for n in range(10)
    ]
    async with fake_llm() as server:
        engine = build_engine(make_settings(tmp_path, server))
        await engine.open()
        await engine.upsert_clients(changes)
        await engine.drain()
        assert engine.numbers.view.epoch == 1
        calls = server.seen.calls["embeddings"]
        assert 0 < calls < 20
        found = await engine.embedder.embed(["Record 1 of opera"])
        assert found.shape == (1, 16)
        await engine.close()
        again = build_engine(make_settings(tmp_path, server))
        await again.open()
        await again.close()
        for told, words in (
            ({"model": "other"}, "openai:scripted, now it is openai:other"),
            ({"dimension": 32}, "was 16, now it is 32"),
        ):
            other = build_engine(make_settings(tmp_path, server, **told))
            with pytest.raises(
                IncompatibleSettings, match=f"{words}.*propagation init.*propagation reindex"
            ):
                await other.open()
            await other.close()


async def test_embeddings_of_another_address_are_of_an_endpoint_of_their_own(open_reasoner):
    async with (
        fake_llm() as server,
        open_reasoner(embeddings={"base_url": server.base_url, "dimension": 16}) as asked,
    ):
        opened = make_embedder(asked)
        await opened.embed(TEXTS)
        await opened.close()
        assert (server.seen.calls["embeddings"], asked.server.seen.calls["embeddings"]) == (1, 0)
        assert asked.reasoner.expenses.this_run.total.calls == 1, (
            "what both spend is counted in one place"
        )


async def test_a_catalogue_is_embedded_in_batches(open_embedding_reasoner):
    async with open_embedding_reasoner() as asked:
        await make_embedder(asked).embed([f"record {n}" for n in range(150)])
        assert asked.server.seen.calls["embeddings"] == 3
