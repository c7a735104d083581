"""Texts that rest on old events are found after retention.

Retention drops the versions that the events wrote.
"""

import pytest

from propagation.model import Author, CitationSearch, ClientChange, ClientKey, ClientKind
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
SECRET = "wuggawugga"


async def count_citations(engine, sequences):
    """Count the lines and rules that rest on some events."""
    texts = (await read_texts(engine)).values()
    cited = [
        {source.sequence for source in line.sources}
        for text in texts
        for line in text.profile.lines
    ] + [{*rule.evidence, rule.age} for text in texts for rule in text.filter_memory.rules]
    return sum(not sequences.isdisjoint(one) for one in cited)


async def retain(engine):
    """Drop rows that ended before the last twenty sequences."""
    engine.retention.kept, engine.retention.advance = 20, 1
    while await engine.retention.step() is not None:
        pass


async def pass_secret_on(engine, users):
    """Let users choose the only item with an attribute, then drop the first messages that name it.

    Returns:
        The users' event ids.
    """
    await engine.upsert_clients(
        [ClientChange(key=item_key(ONLY), title="Zorbing", attributes=(SECRET,))]
    )
    await engine.drain()
    await record_history(engine, 1, 30)
    events = [
        [event(9_000 + 10 * user + n, user, item) for n, item in enumerate((ONLY, 0, 4, 8))]
        for user in users
    ]
    for one_users in events:
        await engine.record(one_users)
        await engine.drain()
        await engine.run_round()
    await record_history(engine, 2, 240)
    await retain(engine)
    return [one.event_id for one_users in events for one in one_users]


async def find_messages(engine):
    """Describe the stored messages that name the secret or whose router stands for it."""
    numbers = await engine.store.get_version_numbers(engine.vectors.routers)
    keys = [(router, n + 1) for router, newest in numbers.items() for n in range(newest)]
    return [
        f"router {one.router}, version {one.version}: {one.name}; {one.text}; {one.standing}"
        for one in (await engine.store.get_messages(keys, 1)).values()
        if SECRET in str((one.name, one.text, one.attributes, one.standing))
    ]


async def find_heard(engine):
    """Describe the heard lines, and the rules, that name the secret in any stored version."""
    refs = sorted(await engine.store.get_text_versions())
    return [
        f"{one.text.profile.ref}, version {one.text.profile.version}: {said}"
        for one in await engine.store.find_citing_texts([CitationSearch(ref, None) for ref in refs])
        for said in (
            *(line.text for line in one.text.profile.lines if line.author is Author.RECEPTION),
            *(f"{rule.text} {rule.attribute}" for rule in one.text.filter_memory.rules),
        )
        if SECRET in said
    ]


async def record_and_retain(engine):
    """Record a user's events, then others' events, and drop old rows.

    Returns:
        The event ids and sequences of the user's events.
    """
    await engine.upsert_clients(
        [ClientChange(key=item_key(ONLY), title="Zorbing", attributes=(SECRET,))]
    )
    await record_history(engine, 1, 30)
    items = (ONLY, 3, 7, 11, 2, ONLY, 6, 1)
    events = [event(9_000 + n, LONER, item) for n, item in enumerate(items)]
    done = await engine.record(events)
    await engine.drain()
    await record_history(engine, 501, 60)
    await retain(engine)
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
@pytest.mark.parametrize("erases", [True, False])
async def test_no_router_stands_for_an_attribute_of_too_few_users(tmp_path, store, erases):
    """The messages that the users brought it to are not stored any more."""
    async with open_engine(make_engine(tmp_path, store, min_support=2)) as engine:
        event_ids = await pass_secret_on(engine, [LONER, LONER + 1])
        assert await find_messages(engine)
        if erases:
            await engine.forget(user_key(LONER))
        else:
            await engine.retract(event_ids)
        assert await find_messages(engine) == []
        await record_history(engine, 3, 30)
        assert await find_messages(engine) == []
        assert not await engine.store.check()


@pytest.mark.parametrize("store", STORES)
async def test_no_version_names_an_attribute_of_too_few_users(tmp_path, store):
    """Some versions rest on messages that are not stored any more."""
    async with open_engine(make_engine(tmp_path, store, min_support=2)) as engine:
        await pass_secret_on(engine, [LONER, LONER + 1])
        assert await find_heard(engine)
        await engine.forget(user_key(LONER))
        assert await find_heard(engine) == []
        assert not await engine.store.check()


@pytest.mark.parametrize("store", STORES)
async def test_an_attribute_that_enough_users_still_hold_keeps_its_weight(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store, min_support=2)) as engine:
        await pass_secret_on(engine, [LONER, LONER + 1, LONER + 2])

        async def read_weights():
            versions = await engine.store.get_router_versions(engine.vectors.routers)
            return [dict(one.standing).get(SECRET) for one in versions]

        before = await read_weights()
        assert any(before)
        await engine.forget(user_key(LONER))
        assert await read_weights() == before


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
