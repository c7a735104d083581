"""An earlier title of an item is removed like the present one.

After a retraction, too, routers name nothing that has lost its support.
"""

import pytest

from propagation.model import ClientChange
from tests.unit.workflow.forget.test_lone_preference import (
    FRIEND,
    LONER,
    ONLY,
    SECRET,
    TITLE,
    choose,
    engine,
    find_mentions,
    read_all_messages,
)
from tests.unit.workflow.small_database import (
    STORES,
    item_key,
    make_engine,
    open_engine,
    read_texts,
    record_history,
    user_key,
)

__all__ = ["engine"]


@pytest.mark.parametrize("forgotten", [item_key(ONLY), user_key(LONER)])
async def test_an_earlier_title_goes(engine, forgotten):
    """It goes with its item, or once too few users chose it."""
    await record_history(engine, 1, 30)
    await choose(engine, 9_000, [LONER, FRIEND], [ONLY, 0, ONLY])
    await record_history(engine, 2, 30)
    assert any("router" in found for found in await find_mentions(engine, TITLE))
    await engine.upsert_clients([ClientChange(key=item_key(ONLY), title="Renamed")])
    await engine.drain()
    await record_history(engine, 3, 30)
    assert any("router" in found for found in await find_mentions(engine, TITLE))
    await engine.forget(forgotten)
    friend = (await engine.store.find_refs([user_key(FRIEND)]))[0]
    found = [
        one
        for one in await find_mentions(engine, TITLE)
        if forgotten == item_key(ONLY) or f"USER {friend} " not in one
    ]
    assert found == []


async def read_messages_and_lines(engine):
    """Return texts and standing of messages, and lines of current profiles."""
    return (
        [
            (one.router, one.version, one.name, one.text, one.attributes, dict(one.standing))
            for one in await read_all_messages(engine)
        ],
        {
            ref: [(line.text, line.attributes, line.sources) for line in text.profile.lines]
            for ref, text in (await read_texts(engine)).items()
        },
    )


async def assert_no_router_says_it(engine):
    found = await find_mentions(engine, SECRET, TITLE)
    assert [one for one in found if "router" in one] == []


@pytest.mark.parametrize("store", STORES)
async def test_a_round_after_a_retraction_does_not_name_what_lost_its_support(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await engine.upsert_clients(
            [ClientChange(key=item_key(ONLY), title=TITLE, attributes=(SECRET,))]
        )
        await choose(engine, 9_000, [LONER, FRIEND], [ONLY, 0])
        (ref,) = await engine.store.find_refs([user_key(LONER)])
        assert any("router" in found for found in await find_mentions(engine, SECRET))
        mine = await engine.store.get_interactions_of_clients([ref])
        await engine.retract([row.event_id for row in mine])
        await record_history(engine, 3, 30)
        await assert_no_router_says_it(engine)


@pytest.mark.parametrize("store", STORES)
async def test_retracting_before_forgetting_is_as_forgetting_alone(tmp_path, store):
    said = []
    for way in ("retract", "forget"):
        folder = tmp_path / way
        folder.mkdir()
        async with open_engine(make_engine(folder, store)) as engine:
            await engine.upsert_clients(
                [ClientChange(key=item_key(ONLY), title=TITLE, attributes=(SECRET,))]
            )
            await record_history(engine, 1, 30)
            await choose(engine, 9_000, [LONER, FRIEND], [ONLY, 0, ONLY])
            await record_history(engine, 2, 30)
            (ref,) = await engine.store.find_refs([user_key(LONER)])
            assert any("router" in found for found in await find_mentions(engine, SECRET))
            if way == "retract":
                mine = await engine.store.get_interactions_of_clients([ref])
                await engine.retract([row.event_id for row in mine])
                await assert_no_router_says_it(engine)
            await engine.forget(user_key(LONER))
            await assert_no_router_says_it(engine)
            said.append(await read_messages_and_lines(engine))
    assert said[0][0] == said[1][0]
    assert said[0][1] == said[1][1]
