"""Forgetting and retracting on a graph server: no property holds what is gone, whatever was cut
short, and nothing else changed."""

import pytest

from propagation.adapters.neo4j.forget.erasure import Neo4jErasure
from propagation.model import RecordStatus
from propagation.ports import Collection
from propagation.workflow.forget.withdrawal import Withdrawer
from propagation.workflow.settings import WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings
from tests.neo4j_server.shared import get_server
from tests.unit.workflow.small_database import (
    ITEMS,
    SMALL,
    assert_sound,
    build_title,
    create_clients,
    find_in_graph,
    item_key,
    open_engine,
    record_history,
    user_key,
)

pytestmark = pytest.mark.neo4j
STEPS = {
    "numbers": (Withdrawer, "_commit"),
    "commit": (Neo4jErasure, "withdraw"),
    "index": (Withdrawer, "publish"),
    "wipe": (Neo4jErasure, "wipe"),
}
BEFORE = ("numbers", "commit")
# These run without a forgetting, too, so a running service has planned them.
EVERYDAY = {"connection/load_fact", "record/log/log_end", "record/log/entries"}


def make_engine(folder):
    return build_engine(
        Settings(
            store="neo4j", neo4j=get_server(folder).settings, workflow=WorkflowSettings(**SMALL)
        )
    )


@pytest.fixture
async def engine(tmp_path):
    async with open_engine(make_engine(tmp_path)) as engine:
        yield engine


async def test_nothing_of_a_user_is_left(engine, tmp_path):
    key, title = user_key(3), f"Dr. Longname the {3 * 104729}th"
    mine = [one for one in await record_history(engine, 1, 120) if one.user_id == key.id]
    words = [key.id, title, *(one.event_id for one in mine)]
    assert all(find_in_graph(tmp_path, [word]) for word in words[:2])
    done = await engine.forgetting.forget(key, wipe=True)
    assert done.events_erased == len(mine) > 5
    assert find_in_graph(tmp_path, words) == []
    await assert_sound(engine)
    again = await engine.record(mine)
    assert {outcome.status for outcome in again.outcomes} == {RecordStatus.FORGOTTEN}


@pytest.mark.parametrize("key", [user_key(3), item_key(3)])
async def test_every_statement_of_a_forgetting_is_prepared(engine, monkeypatch, key):
    """Otherwise a server that has just started plans it while the caller waits."""
    await record_history(engine, 4, 120)
    sent, database = set(), engine.store.database
    query = database.query
    monkeypatch.setattr(database, "query", lambda name, given: sent.add(name) or query(name, given))
    async for _ in engine.prepare_withdrawal():
        pass
    prepared = set(sent)
    sent.clear()
    await engine.forgetting.forget(key)
    of_each_call = {name for name in sent if name.startswith("connection/")}
    assert sent - of_each_call - EVERYDAY <= prepared


async def test_nothing_of_an_item_is_left(engine, tmp_path):
    key = item_key(3)
    words = [key.id, build_title(3), "theremin 77"]
    events = await record_history(engine, 2, 120)
    mine = [one.event_id for one in events if one.item_id == key.id]
    assert all(find_in_graph(tmp_path, [word]) for word in words)
    await engine.forgetting.forget(key, wipe=True)
    assert find_in_graph(tmp_path, [*words, *mine]) == []
    await assert_sound(engine)


async def test_a_retracted_event_is_taken_back_and_life_goes_on(engine, tmp_path):
    events = await record_history(engine, 7, 90)
    mine = [one.event_id for one in events if one.user_id == user_key(2).id]
    done = await engine.forgetting.retract(mine)
    assert [one.retracted for one in done.events] == [True] * len(mine)
    await assert_sound(engine)
    await engine.forgetting.forget(user_key(2), wipe=True)
    assert find_in_graph(tmp_path, mine) == []
    await record_history(engine, 8, 60)
    await assert_sound(engine)
    await engine.init()
    await assert_sound(engine)


@pytest.mark.parametrize("step", STEPS)
async def test_a_process_that_stops_inside_is_finished_by_the_next(tmp_path, monkeypatch, step):
    engine = make_engine(tmp_path)
    await engine.open()
    await create_clients(engine)
    key = user_key(3)
    mine = [one.event_id for one in await record_history(engine, 1, 60) if one.user_id == key.id]

    async def raise_stopped(*_, **__):
        raise BaseException("the process is gone")

    with monkeypatch.context() as broken:
        broken.setattr(*STEPS[step], raise_stopped)
        with pytest.raises(BaseException, match="the process is gone"):
            await engine.forgetting.forget(key, wipe=True)
    await engine.store.close()  # the rest of the process is dropped as it is
    again = make_engine(tmp_path)
    await again.open()
    try:
        assert bool(find_in_graph(tmp_path, [key.id])) == (step in BEFORE)
        assert not await again.store.is_wiping_due()
        await assert_sound(again)
        if step in BEFORE:
            assert (await again.forgetting.forget(key, wipe=True)).events_erased == len(mine)
        assert find_in_graph(tmp_path, [key.id, *mine]) == []
        await assert_sound(again)
    finally:
        await again.close()


async def test_an_export_is_the_same_on_both(engine, tmp_path):
    """What a file's database says of a client after the same life, but for times and the points of
    an index."""
    laptop = build_engine(
        Settings(database=tmp_path / "graph.db", workflow=WorkflowSettings(**SMALL))
    )
    await laptop.open()
    try:
        await create_clients(laptop)
        for one in (laptop, engine):
            events = await record_history(one, 3, 60)
            await one.forgetting.retract([events[4].event_id])
        for key in (user_key(3), item_key(4)):
            of_file, of_graph = [await export_records(one, key) for one in (laptop, engine)]
            assert (
                of_graph.keys()
                == of_file.keys()
                >= {"client", "event", "written", "profile_version", "edge", "point"}
            )
            for kind, records in of_graph.items():
                assert records == of_file[kind], kind
    finally:
        await laptop.close()


async def test_a_start_embeds_nothing_that_it_has_embedded(engine, tmp_path):
    await record_history(engine, 4, 30)
    again = make_engine(tmp_path)
    embedded = []
    embed = again.embedder.embed

    async def embed_and_note(texts):
        embedded.extend(texts)
        return await embed(texts)

    again.embedder.embed = embed_and_note
    await again.open()
    try:
        assert len(await again.index.get_versions(Collection.ITEMS)) == ITEMS
        texts = await again.store.load_texts(sorted(await again.store.get_text_versions()))
        lines = {line.text for text in texts.values() for line in text.profile.lines}
        assert any(build_title(0) in line for line in lines)
        assert lines.isdisjoint(embedded)
        assert await again.index_maintenance.repair() == 0
    finally:
        await again.close()


async def export_records(engine, key):
    (ref,) = await engine.store.find_refs([key])
    found = {}
    async for kind, record in engine.store.export_client(ref):
        record = {
            name: round(value, 12)
            if isinstance(value, float)
            else value  # JSON of SQLite has 15 digits
            for name, value in record.items()
            if name not in ("recorded_at", "written_at")
        }
        found.setdefault(kind, []).append(record)
    return {
        kind: sorted(records, key=lambda record: repr(sorted(record.items())))
        for kind, records in found.items()
    }
