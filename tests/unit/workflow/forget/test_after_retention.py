"""Texts that rest on old events are found after retention.

Retention drops the versions that the events wrote.
"""

import pytest

from propagation.model import ClientChange, ClientKey, ClientKind
from tests.unit.workflow.small_database import (
    STORES,
    event,
    item_key,
    make_engine,
    open_engine,
    read_texts,
    record_history,
    user_key,
)

LONER, ONLY = 100, 100


async def count_citations(engine, sequences):
    """Count the lines and rules that rest on some events."""
    texts = (await read_texts(engine)).values()
    cited = [
        {source.sequence for source in line.sources}
        for text in texts
        for line in text.profile.lines
    ] + [{*rule.evidence, rule.age} for text in texts for rule in text.filter_memory.rules]
    return sum(not sequences.isdisjoint(one) for one in cited)


async def record_and_retain(engine):
    """Record a user's events, then others' events, and drop old rows.

    Returns:
        The event ids and sequences of the user's events.
    """
    await engine.upsert_clients(
        [ClientChange(key=item_key(ONLY), title="Zorbing", attributes=("wuggawugga",))]
    )
    await record_history(engine, 1, 30)
    items = (ONLY, 3, 7, 11, 2, ONLY, 6, 1)
    events = [event(9_000 + n, LONER, item) for n, item in enumerate(items)]
    done = await engine.record(events)
    await engine.drain()
    await record_history(engine, 501, 60)
    engine.retention.kept, engine.retention.advance = 20, 1
    while await engine.retention.step() is not None:
        pass
    return [one.event_id for one in events], {one.sequence for one in done.outcomes}


@pytest.mark.parametrize("store", STORES)
async def test_forgetting_finds_what_rests_on_events_from_before_retention(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store, min_support=2)) as engine:
        _, sequences = await record_and_retain(engine)
        assert await count_citations(engine, sequences)
        await engine.forget(user_key(LONER))
        assert not await count_citations(engine, sequences)


@pytest.mark.parametrize("store", STORES)
async def test_a_retraction_finds_what_rests_on_events_from_before_retention(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store, min_support=2)) as engine:
        event_ids, sequences = await record_and_retain(engine)
        assert await count_citations(engine, sequences)
        await engine.retract(event_ids)
        assert not await count_citations(engine, sequences)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("seed", range(3))
async def test_the_graph_is_sound_after_retention_and_forgetting(tmp_path, store, seed):
    """An erasure also moves versions whose predecessor was dropped.

    They move to later sequences.
    """
    async with open_engine(make_engine(tmp_path, store)) as engine:
        events = await record_history(engine, 1 + 1_000 * seed, 40)
        engine.retention.kept, engine.retention.advance = 20, 5
        while await engine.retention.step() is not None:
            pass
        assert not await engine.store.check()
        for n in sorted({one.user_id for one in events})[:3]:
            await engine.forget(ClientKey(kind=ClientKind.USER, id=n))
            assert not await engine.store.check()
