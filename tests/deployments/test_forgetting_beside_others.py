"""Two processes on one graph: what one forgets, the other may be reading or writing just then. No
text is left that says it."""

import asyncio

import pytest

from propagation.adapters.neo4j.index.points import Neo4jPoints
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import ClientKind, compute_ref
from propagation.workflow.compose import compose
from propagation.workflow.settings import WorkflowSettings
from tests.neo4j_server.shared import get_server
from tests.unit.workflow.small_database import (
    SMALL,
    USERS,
    build_title,
    create_clients,
    event,
    find_in_graph,
    item_key,
    record_history,
)

pytestmark = pytest.mark.neo4j
KEY, WORDS = item_key(3), [item_key(3).id, build_title(3), "theremin 77"]


def make_engine(folder, name):
    settings = WorkflowSettings(**SMALL)
    store = Neo4jStore(get_server(folder).settings)
    return compose(
        store,
        HashedEmbedder(settings.seed),
        NumpyIndex(Neo4jPoints(store.database)),
        OfflineReasoner(),
        settings,
        name,
    )


@pytest.fixture
async def engines(tmp_path):
    """Both open; half of the users took the item whose word nobody else has, and messages that
    carry it wait for the others."""
    here, there = make_engine(tmp_path, "here"), make_engine(tmp_path, "there")
    await here.open()
    await create_clients(here)
    await record_history(here, 2, 60)
    await here.record([event(9_000 + user, user, 3) for user in range(0, USERS, 2)])
    await here.drain()
    await here.run_round()
    await there.open()
    await there.drain()
    yield here, there
    await there.close()
    await here.close()


def list_user_refs():
    return [compute_ref(ClientKind.USER, user) for user in range(USERS)]


async def find_waiting_users(engine):
    """Users for whom a message waits that says the word."""
    texts = await engine.store.load_texts(list_user_refs())
    found = await engine.store.get_waiting_messages(
        {ref: text.watermark for ref, text in texts.items()}
    )
    return [
        ref
        for ref, messages in found.items()
        if any("theremin 77" in message.attributes for message in messages)
    ]


async def find_users_with_the_word(engine):
    """Return the users whose profile has the word."""
    return [
        ref
        for ref, text in (await engine.store.load_texts(list_user_refs())).items()
        if "theremin 77" in str(text.profile.lines)
    ]


async def test_what_the_other_one_writes_between_reading_and_taking_back_is_found(
    engines, tmp_path, monkeypatch
):
    here, there = engines
    ready = await find_waiting_users(there)
    assert ready
    withdraw, tries = here.store.withdraw, 0

    async def withdraw_late(*arguments):
        nonlocal tries
        tries += 1
        if tries == 1:
            before = set(await find_users_with_the_word(there))
            for ref in ready:
                await there.profile_reader.read_merged(ref)
            assert set(await find_users_with_the_word(there)) - before, (
                "somebody heard it meanwhile"
            )
        return await withdraw(*arguments)

    monkeypatch.setattr(here.store, "withdraw", withdraw_late)
    await here.forgetting.forget(KEY)
    assert tries == 2
    assert find_in_graph(tmp_path, WORDS) == []
    assert await here.store.check() == []


async def test_what_the_other_one_read_before_is_not_written_after(engines, tmp_path, monkeypatch):
    here, there = engines
    [ref, *_] = await find_waiting_users(there)
    commit, read, forgotten, tries = there.store.commit_texts, asyncio.Event(), asyncio.Event(), 0

    async def commit_late(*arguments):
        nonlocal tries
        tries += 1
        read.set()
        await forgotten.wait()
        await commit(*arguments)

    monkeypatch.setattr(there.store, "commit_texts", commit_late)
    merging = asyncio.create_task(there.profile_reader.read_merged(ref))
    await read.wait()
    await here.forgetting.forget(KEY)
    forgotten.set()
    await merging
    assert tries == 2
    assert find_in_graph(tmp_path, WORDS) == []


async def test_a_claim_that_was_held_meanwhile_is_void(engines, tmp_path, monkeypatch):
    here, there = engines
    await here.record([event(9_500 + user, user, 3) for user in range(1, USERS, 2)])
    while await here.learn():
        pass
    commit, read, forgotten = there.store.commit_reasoned, asyncio.Event(), asyncio.Event()

    async def commit_late(*arguments, **options):
        read.set()
        await forgotten.wait()
        await commit(*arguments, **options)

    monkeypatch.setattr(there.store, "commit_reasoned", commit_late)
    reasoning = asyncio.create_task(there.reason())
    await read.wait()
    await here.forgetting.forget(KEY)
    forgotten.set()
    await asyncio.gather(reasoning, return_exceptions=True)
    await here.drain()
    assert find_in_graph(tmp_path, WORDS) == []
    assert await here.store.check() == []
