"""What an erasure would do is what it does, and asking changes nothing."""

import asyncio

import pytest

from propagation.model import NotFound
from propagation.workflow.concurrency import Activity
from propagation.workflow.engine import Engine
from tests.unit.workflow.small_database import (
    STORES,
    event,
    item_key,
    make_engine,
    open_engine,
    record_history,
    user_key,
)


@pytest.fixture(params=STORES)
async def engine(tmp_path, request):
    async with open_engine(make_engine(tmp_path, request.param)) as engine:
        yield engine


async def read_lines(engine: Engine) -> dict[int, int]:
    """Count the lines of each client's current profile."""
    refs = sorted(await engine.store.get_text_versions())
    return {
        ref: len(text.profile.lines) for ref, text in (await engine.store.load_texts(refs)).items()
    }


async def read_messages(engine: Engine) -> dict[tuple[int, int], tuple[object, ...]]:
    """Read the words of all routers' texts, by (router, version)."""
    rounds = await engine.store.get_rounds_after(0, 1_000)
    return {
        (one.router, one.version): (one.name, one.text, one.attributes)
        for round_ in rounds
        for one in await engine.store.get_messages_of(round_.number)
    }


@pytest.mark.slow
@pytest.mark.parametrize("key", [user_key(3), user_key(4), item_key(3)])
async def test_an_erasure_does_what_its_preview_says(engine, key):
    await record_history(engine, 1, 120)
    lines, messages = await read_lines(engine), await read_messages(engine)
    recorded = await engine.store.get_recorded_through()
    found = await engine.preview_erasure(key)
    again = await engine.preview_erasure(key)
    assert found == again
    assert await engine.store.get_recorded_through() == recorded
    assert (await read_lines(engine), await read_messages(engine)) == (lines, messages)
    done = await engine.forget(key)
    assert (found.events, found.lines) == (done.events_erased, done.lines_dropped)
    lines.pop(done.client.ref)
    after = await read_lines(engine)
    assert found.lines == sum(lines.values()) - sum(after[ref] for ref in lines)
    now = await read_messages(engine)
    assert found.router_texts == sum(now[one] != said for one, said in messages.items()) > 0
    with pytest.raises(NotFound):
        await engine.preview_erasure(key)


async def test_items_that_only_the_client_named_are_counted(engine):
    new = [f"new-{n}" for n in range(3)]
    await engine.record(
        [
            event(1, 3, 1, item_id=new[0]),
            event(2, 3, 2, item_id=new[1], negative_id=item_key(5).id),
            event(3, 4, 2, item_id=new[1]),
            event(4, 3, 7),
            event(5, 4, 7, item_id=new[2]),
        ]
    )
    await engine.drain()
    assert (await engine.preview_erasure(user_key(3))).items_erased == 1
    await engine.forget(user_key(3))
    assert (await engine.preview_erasure(user_key(4))).items_erased == 2


async def test_a_preview_under_steady_events_searches_once(engine, monkeypatch):
    """Events go on under it: each commits a text while it searches."""
    await record_history(engine, 2, 30)
    calm = await engine.preview_erasure(user_key(3))
    searches = []
    find_changes = engine.forgetting.withdrawer.find_changes

    async def find_and_record(rows, erased):
        found = await find_changes(rows, erased)
        searches.append(len(rows))
        await engine.record([event(1_000 + len(searches), 4, 7)])
        await engine.drain()
        return found

    monkeypatch.setattr(engine.forgetting.withdrawer, "find_changes", find_and_record)
    moving = await engine.preview_erasure(user_key(3))
    assert searches == [calm.events]
    assert moving == calm
    assert moving.sequence == await engine.store.get_recorded_through() - 1


async def test_a_preview_takes_no_locks(engine):
    await record_history(engine, 2, 30)
    calm = await engine.preview_erasure(user_key(3))
    exclusion = engine.forgetting.exclusion
    async with exclusion.run(Activity.ERASE), exclusion.run(Activity.WITHDRAW):
        assert await asyncio.wait_for(engine.preview_erasure(user_key(3)), 60) == calm


async def test_previews_run_one_at_a_time_and_end_when_cancelled(engine, monkeypatch):
    await record_history(engine, 2, 30)
    calm = await engine.preview_erasure(user_key(3))
    find_changes = engine.forgetting.withdrawer.find_changes
    searching, go_on = asyncio.Queue(), asyncio.Event()

    async def find_when_told(rows, erased):
        searching.put_nowait(erased.client.key)
        await go_on.wait()
        return await find_changes(rows, erased)

    monkeypatch.setattr(engine.forgetting.withdrawer, "find_changes", find_when_told)
    first, second, third = (
        asyncio.create_task(engine.preview_erasure(user_key(n))) for n in (2, 4, 3)
    )
    assert await searching.get() == user_key(2)
    second.cancel()  # while it waits
    first.cancel()  # while it searches
    assert await searching.get() == user_key(3)
    assert searching.empty()
    go_on.set()
    assert await third == calm
    assert first.cancelled()
    assert second.cancelled()
    assert searching.empty(), "the cancelled one never began"
