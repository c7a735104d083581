"""What an item's own text says travels once enough users hold it, or enough items say it.

Before, it is held back; afterwards it does not travel a second time.
"""

import pytest

from propagation.model import Author, ClientChange, ClientKind, get_kind
from propagation.ports import POSTPONED_ARRIVALS
from propagation.routing import Arrival, PostponedArrivals
from tests.unit.workflow.forget.test_lone_preference import read_all_messages
from tests.unit.workflow.small_database import (
    GENRES,
    ITEMS,
    STORES,
    event,
    item_key,
    make_engine,
    open_engine,
    read_texts,
    record_history,
    user_key,
)

WORD = "wuggawugga"
FIRST, SECOND, THIRD = ITEMS + 1, ITEMS + 2, ITEMS + 3
USERS = (40, 41)


@pytest.fixture(params=STORES)
async def engine(tmp_path, request):
    """Yield an engine whose item FIRST brought WORD alone, so that it was held back."""
    async with open_engine(make_engine(tmp_path, request.param)) as engine:
        await record_history(engine, 1, 60)
        await describe(engine, item_key(FIRST))
        assert await read_parts(engine) == []
        yield engine


async def describe(engine, *keys):
    """Give clients texts with WORD, and run a round."""
    await engine.upsert_clients(
        [ClientChange(key=key, title=f"About {key.id}", attributes=(WORD,)) for key in keys]
    )
    await engine.drain()
    await engine.run_round()


async def find_refs(engine, *keys):
    return list(await engine.store.find_refs(keys))


async def read_parts(engine):
    """List the parts of messages with WORD, as (round, ref, sequence), by round, then ref.

    A part that went to several routers is listed once.
    """
    return sorted(
        {
            (message.round, part.ref, part.sequence)
            for message in await read_all_messages(engine)
            for part in message.integrated
            if part.attribute == WORD
        }
    )


async def read_texts_of_routers(engine):
    """List name, text and standing of every message."""
    return [(one.name, one.text, one.standing) for one in await read_all_messages(engine)]


async def list_heard_lines(engine):
    """List the lines that clients have from messages."""
    texts = await read_texts(engine)
    return [
        line.text
        for text in texts.values()
        for line in text.profile.lines
        if line.author is Author.RECEPTION
    ]


async def read_items(engine):
    """List the items whose parts have WORD, in the order of rounds."""
    parts = await read_parts(engine)
    return [ref for _, ref, _ in parts if get_kind(ref) == ClientKind.ITEM]


async def test_it_travels_in_the_round_in_which_enough_users_hold_it(engine):
    (item,) = await find_refs(engine, item_key(FIRST))
    await describe(engine, user_key(USERS[0]))
    assert await read_parts(engine) == [], "one user is too few"
    await describe(engine, user_key(USERS[1]))
    users = await find_refs(engine, *map(user_key, USERS))
    parts = await read_parts(engine)
    assert sorted((ref, sequence) for _, ref, sequence in parts) == sorted(
        (ref, 0) for ref in (item, *users)
    )
    await record_history(engine, 2, 30)
    assert await read_parts(engine) == parts, "once"


async def test_it_travels_in_the_round_in_which_enough_items_say_it(engine):
    first, second, third = (FIRST, SECOND, THIRD)
    await describe(engine, item_key(SECOND))
    assert await read_items(engine) == await find_refs(engine, item_key(first), item_key(second))
    await describe(engine, item_key(THIRD))
    known = await find_refs(engine, *map(item_key, (first, second, third)))
    assert await read_items(engine) == known, "the third travels alone, the others do not again"
    await describe(engine, *map(user_key, USERS))
    assert await read_items(engine) == known, "they travelled before enough users held it"
    users = await find_refs(engine, *map(user_key, USERS))
    assert {ref for _, ref, _ in await read_parts(engine)} == {*known, *users}


async def test_the_choice_of_one_user_does_not_keep_an_item_from_it(engine):
    """The item's text rests on the choice too, but the catalogue says it without that."""
    await engine.upsert_clients(
        [ClientChange(key=item_key(SECOND), title="Chosen at once", attributes=(WORD,))]
    )
    await engine.drain()
    await engine.record([event(9_000, USERS[0], SECOND)])
    await engine.drain()
    await engine.run_round()
    refs = await find_refs(engine, item_key(FIRST), item_key(SECOND))
    assert [(ref, sequence) for _, ref, sequence in await read_parts(engine)] == [
        (ref, 0) for ref in refs
    ]
    before = await read_parts(engine)
    await engine.record([event(9_001, USERS[0], FIRST)])
    await engine.drain()
    await engine.run_round()
    assert await read_parts(engine) == before, "one user's choice sends nothing"


@pytest.mark.parametrize("way", ["forget", "retract"])
async def test_what_enough_items_said_by_then_stays(engine, way):
    """The third item brought it alone in its round, but two others had brought it."""
    await describe(engine, item_key(SECOND))
    await describe(engine, item_key(THIRD))
    before = await read_parts(engine)
    await engine.record([event(9_000, USERS[0], THIRD)])
    await engine.drain()
    await engine.run_round()
    if way == "forget":
        await engine.forget(user_key(USERS[0]))
    else:
        await engine.retract([event(9_000, USERS[0], THIRD).event_id])
    assert await read_parts(engine) == before
    assert WORD in str(await read_texts_of_routers(engine))


async def test_it_travels_again_after_its_supporter_was_forgotten(engine):
    """The first messages lose it, because one user was left; then another user comes."""
    await describe(engine, *map(user_key, USERS))
    (item,) = await find_refs(engine, item_key(FIRST))
    assert item in await read_items(engine)
    title = f"About {item_key(FIRST).id}"
    assert title in str(await read_texts_of_routers(engine))
    await engine.forget(user_key(USERS[0]))
    texts = str(await read_texts_of_routers(engine))
    assert (WORD in texts, title in texts) == (False, False)
    before = {round_ for round_, _, _ in await read_parts(engine)}
    await describe(engine, user_key(USERS[0] + 2))
    parts = await read_parts(engine)
    assert item in {ref for round_, ref, _ in parts if round_ not in before}


async def test_its_title_leaves_messages_that_go_on_without_it(engine):
    """A message may also bring what other items have, and quote all their titles."""
    await engine.upsert_clients(
        [ClientChange(key=item_key(THIRD + n), attributes=(name,)) for n, name in enumerate(GENRES)]
    )
    await describe(engine, *map(user_key, USERS))
    title = f"About {item_key(FIRST).id}"
    quoting = [text for _, text, _ in await read_texts_of_routers(engine) if title in text]
    assert [text for text in quoting if any(genre in text for genre in GENRES)]
    await record_history(engine, 2, 60)
    assert WORD in str(await list_heard_lines(engine))
    await engine.forget(user_key(USERS[0]))
    texts = str((await read_texts_of_routers(engine), await list_heard_lines(engine)))
    assert (WORD in texts, title in texts) == (False, False)


@pytest.mark.parametrize("items", [1, 2])
async def test_what_waits_at_a_router_is_dropped_if_it_may_not_travel(engine, items):
    """It waited since enough users held it; by now nobody does."""
    if items == 2:
        await describe(engine, item_key(SECOND))
    (item,) = await find_refs(engine, item_key(FIRST))
    before = await read_parts(engine)
    epoch = engine.numbers.view.epoch
    waiting = PostponedArrivals(epoch, {0: [Arrival(WORD, item, 1, 0)]})
    await engine.store.put_blob(POSTPONED_ARRIVALS, waiting.pack())
    await engine.run_round()
    assert len(await read_parts(engine)) - len(before) == items - 1
