"""One process erases a client while another asks a model about it."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.paper_reasoner import create_openai_reasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ClientChange, ClientKey, ClientKind, LeaseLost, NewInteraction
from propagation.workflow.compose import compose
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.runtime.process import SystemClock
from tests.unit.workflow.small_database import find_in_rows
from tests.unit.workflow.test_replica_sync import SETTINGS, Shared

SECRET = "zugwang"
VERA, ITEM = (ClientKey(kind=kind, id="v") for kind in (ClientKind.USER, ClientKind.ITEM))


@asynccontextmanager
async def open_two_engines(folder):
    """Yield two engines with interactions to reason, and the second one's model."""
    async with fake_llm(Script()) as server:
        store = SqliteStore(folder / "graph.db", SystemClock())
        await store.open()
        told = OpenAIOptions(base_url=server.base_url, model="scripted")
        model = create_openai_reasoner(
            create_openai_endpoint(told, None, store, "there"), store, extract_lines
        )
        index = NumpyIndex(SqlitePoints(store.database))
        here, there = (
            compose(Shared(store), HashedEmbedder(SETTINGS.seed), index, reasoner, SETTINGS, name)
            for name, reasoner in (("here", OfflineReasoner()), ("there", model))
        )
        await here.open()
        await there.open()
        await here.upsert_clients(
            [
                ClientChange(key=ITEM, title="Record", attributes=("jazz",)),
                ClientChange(key=VERA, title="Vera", attributes=(SECRET,)),
            ]
        )
        await here.drain()
        await here.record(
            [
                NewInteraction(
                    event_id=f"e{n}", user_id="v", item_id="v", time=n, content_hash=f"{n}"
                )
                for n in range(2)
            ]
        )
        await here.learn()
        try:
            yield here, there, model
        finally:
            await there.close()
            await here.close()
            await store.close()


async def test_an_answer_on_texts_of_before_is_not_kept(tmp_path):
    async with open_two_engines(tmp_path) as (here, there, model):
        read, erased, ask = asyncio.Event(), asyncio.Event(), model.backward

        async def ask_later(*asked):
            read.set()
            await erased.wait()
            return await ask(*asked)

        model.backward = ask_later
        reasoning = asyncio.create_task(there.reason())
        await read.wait()
        await here.forget(VERA, wipe=True)
        erased.set()
        await asyncio.gather(reasoning, there.reasoning.settle(), return_exceptions=True)
        await model.close()
        assert await find_in_rows(here, [SECRET]) == []


async def test_an_interaction_whose_client_was_erased_is_given_up(tmp_path):
    async with open_two_engines(tmp_path) as (here, there, _):
        interactions = there.reasoning.pipeline.interactions
        plain = interactions.yield_to_calls

        async def erase():
            interactions.yield_to_calls = plain
            await here.forget(VERA)

        interactions.yield_to_calls = erase
        with pytest.raises(LeaseLost, match="erased"):
            await there.drain()
        assert await there.drain() == 0
        assert await there.store.get_dead_letters(9) == []
