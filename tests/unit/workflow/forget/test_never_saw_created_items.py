"""With auto_create, a service that forgot a user shows what one shows that never saw it.

Source: docs/erasure.md.
"""

from contextlib import asynccontextmanager

import numpy as np
import pytest

from propagation.adapters.neo4j.forget import erasure as neo4j_erasure
from propagation.model import ClientKind, EntryKind, get_kind, index_of
from propagation.numbers import ITEM_TABLES, create_factors
from propagation.workflow.learn import restore_view, take_checkpoint
from propagation.workflow.read.client_search import BEFORE_ALL, search_catalogue
from propagation.workflow.read.recommend import RecommendRequest
from tests.unit.workflow.small_database import (
    GENRES,
    ITEMS,
    STORES,
    USERS,
    assert_sound,
    create_clients,
    event,
    find_strange_points,
    item_key,
    make_engine,
    open_engine,
    record_history,
    user_key,
)

LONER = USERS + 1
OWN = (ITEMS + 50, ITEMS + 51, ITEMS + 52)
SHARED = ITEMS + 60
BY_OTHERS = ITEMS + 70


class Killed(BaseException):
    """The process is gone at this step."""


def list_events_of_loner(seed):
    """List events: its own items as item and as negative, one that others name, known ones."""
    draw = np.random.default_rng(seed)
    chosen = [OWN[0], SHARED, *draw.integers(0, ITEMS, 4).tolist(), OWN[1], OWN[0]]
    events = [event(9_000 + n, LONER, int(item)) for n, item in enumerate(chosen)]
    return [*events, event(9_100, LONER, 3, negative_id=item_key(OWN[2]).id)]


def list_events_of_others():
    return [
        event(8_000, 1, SHARED),
        event(8_001, 2, BY_OTHERS),
        event(8_002, 5, 2, negative_id=item_key(BY_OTHERS + 1).id),
    ]


@asynccontextmanager
async def open_two_services(folder, store, seed, *, others_go_on):
    """Yield two services with the same events of others.

    Only the first one saw, and forgot, those of the loner, which created it and three items.
    """
    services = [folder / "saw", folder / "never"]
    for path in services:
        path.mkdir()
    async with (
        open_engine(make_engine(services[0], store)) as saw,
        open_engine(make_engine(services[1])) as never,
    ):
        for engine in (saw, never):
            await record_history(engine, seed, 60)
            await engine.record(list_events_of_others())
            if engine is saw:
                await engine.record(list_events_of_loner(seed))
            await engine.drain()
            await engine.run_round()
            if others_go_on:
                await record_history(engine, seed + 1, 60)
        await saw.forget(user_key(LONER))
        for engine in (saw, never):
            await engine.drain()
            await engine.run_round()
        yield saw, never


async def read_answers(engine):
    """Read what SearchClients, ListRouters and Recommend build on, and the counts."""
    store = engine.store

    async def list_nobody(clients):
        return ()

    found = {}
    for text in ("record", "person", *GENRES, item_key(OWN[0]).id, item_key(SHARED).id):
        for kind in ClientKind:
            page = await search_catalogue(store, kind, text, BEFORE_ALL, 200, list_nobody)
            found[text, kind] = {one.client.key.id for one in page.found}
    recommended = {}
    for n in (1, 2, 5, LONER):
        request = RecommendRequest(user_id=user_key(n).id, limit=100, exclude_seen=False)
        answer = await engine.recommend(request)
        recommended[n] = {one.item_id for one in answer.items}
    routers = await store.get_router_versions(engine.vectors.routers)
    members = {}
    through = await store.get_recorded_through()
    for router in engine.vectors.routers:
        edges = await store.get_members(router, 999, through)
        keys = await store.find_keys([edge.ref for edge in edges])
        members[router] = {(int(key.kind), key.id) for key in keys}
    return {
        "found": found,
        "recommended": recommended,
        "counts": [await store.count_clients(kind) for kind in ClientKind],
        "totals": engine.numbers.view.state.totals.tolist(),
        "names in routers": {name for one in routers for name, _ in one.standing},
        "attributes": {name for one in routers for name in one.attributes},
        "members": members,
    }


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("seed", [1, 5])
async def test_answers_are_those_of_a_service_that_never_saw_it(tmp_path, store, seed):
    async with open_two_services(tmp_path, store, seed, others_go_on=False) as (saw, never):
        one, other = await read_answers(saw), await read_answers(never)
        assert {name for name in one if one[name] != other[name]} == set()
        assert item_key(SHARED).id in one["found"]["record", ClientKind.ITEM]
        await assert_sound(saw)
        assert await find_strange_points(saw) == []


@pytest.mark.parametrize("store", STORES)
async def test_nothing_of_the_items_is_left_though_others_went_on(tmp_path, store):
    async with open_two_services(tmp_path, store, 3, others_go_on=True) as (saw, never):
        one, other = await read_answers(saw), await read_answers(never)
        for name in ("found", "recommended", "counts", "totals"):
            assert one[name] == other[name], name
        await assert_sound(saw)
        (orphans,) = [
            entry.refs
            for entry in await saw.store.read_entries(0, await saw.store.get_recorded_through())
            if entry.kind == EntryKind.ORPHANS
        ]
        state = saw.numbers.view.state
        rows = [ref >> 1 for ref in orphans]
        assert len(rows) == len(OWN)
        assert not state.visible[rows].any()
        for array in (state.adoptions, state.content, state.adopters, state.recent):
            assert not array[rows].any()
        for bank in (state.session, state.taste):
            assert not bank.mass[rows].any()
            assert bank.total == pytest.approx(bank.mass[: saw.numbers.view.items].sum(0), rel=1e-4)
        before = {name: array.copy() for name, array in list_arrays(state, rows).items()}
        await saw.learner.reload()
        await saw.learner.catch_up()
        after = list_arrays(saw.numbers.view.state, rows)
        assert [name for name in before if not np.array_equal(before[name], after[name])] == []


@pytest.mark.parametrize("store", STORES)
async def test_an_erased_item_leaves_the_count_of_items_once(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await record_history(engine, 1, 60)
        await engine.record(list_events_of_loner(1))
        await engine.drain()
        await engine.forget(user_key(LONER))
        await engine.forget(item_key(4))
        await record_history(engine, 2, 20)
        count = await engine.store.count_clients(ClientKind.ITEM)
        view = engine.numbers.view
        assert view.state.totals[1] == count < view.items
        view.erase_items([3, 3])
        view.erase_items([3])
        assert view.state.totals[1] == count - 1
        await engine.learner.reload()
        assert engine.numbers.view.state.totals[1] == count
        older = take_checkpoint(engine.numbers.view, barrier=False)
        older.arrays["totals"][1] = view.items
        assert restore_view(older, view.seed).state.totals[1] == count
        await assert_sound(engine)


def find_rows(refs):
    return [index_of(ref) for ref in refs if get_kind(ref) == ClientKind.ITEM]


async def read_draws(store):
    """Return (negatives, scores, cosines) of every learned interaction, by sequence."""
    return {
        sequence: (block.negatives[place], block.scores[place], block.profile_cosines[place])
        for block in await store.read_learned(0, 10_000)
        for place, sequence in enumerate(block.sequence.tolist())
    }


@pytest.mark.parametrize("store", STORES)
async def test_what_was_drawn_for_others_loses_removed_items(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await record_history(engine, 1, 60)
        await engine.record([*list_events_of_others(), *list_events_of_loner(1)])
        await engine.drain()
        await record_history(engine, 2, 60)
        before = await read_draws(engine.store)
        orphans = await engine.store.find_refs([item_key(n) for n in OWN])
        (erased,) = await engine.store.find_refs([item_key(4)])
        removed = find_rows([*orphans, erased])
        assert all(any(row in negatives for negatives, *_ in before.values()) for row in removed), (
            "each was drawn for somebody"
        )
        await engine.forget(user_key(LONER))
        await engine.forget(item_key(4))
        after = await read_draws(engine.store)
        left = {row.sequence for row in await engine.store.get_interactions(sorted(before))}
        assert len(left) > 100
        for sequence in left:
            (negatives, scores, cosines), was = after[sequence], before[sequence]
            gone = np.isin(was[0], removed)
            assert negatives.tolist() == np.where(gone, -1, was[0]).tolist()
            assert np.array_equal(cosines, np.where([False, *gone], 0, was[2]))
            assert np.array_equal(
                scores, np.where([False, gone[0]], np.nan, was[1]), equal_nan=True
            )
        await assert_sound(engine)


@pytest.mark.neo4j
async def test_a_start_takes_removed_items_out_of_draws_when_a_kill_prevented_it(
    tmp_path, monkeypatch
):
    """On Neo4j the draws are cleared after the commit that erases the item."""
    engine = make_engine(tmp_path, "neo4j")
    await engine.open()
    await create_clients(engine)
    await record_history(engine, 1, 60)
    (erased,) = await engine.store.find_refs([item_key(4)])
    assert index_of(erased) in await find_drawn_items(engine.store)

    async def be_killed(*_):
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(neo4j_erasure, "clear_draws", be_killed)
        with pytest.raises(Killed):
            await engine.forget(item_key(4))
    assert await engine.store.find_refs([item_key(4)]) == [None], "the erasure is committed"
    assert index_of(erased) in await find_drawn_items(engine.store)
    assert await engine.store.is_wiping_due()
    await engine.store.close()  # the rest of the process is dropped as it is
    again = make_engine(tmp_path, "neo4j")
    await again.open()
    try:
        assert index_of(erased) not in await find_drawn_items(again.store)
        await assert_sound(again)
    finally:
        await again.close()


async def find_drawn_items(store):
    return {row for negatives, *_ in (await read_draws(store)).values() for row in negatives}


@pytest.mark.parametrize("store", STORES)
async def test_factors_never_draw_removed_items_again(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await record_history(engine, 1, 60)
        await engine.record(list_events_of_loner(1))
        await engine.drain()
        await record_history(engine, 2, 30)
        orphans = await engine.store.find_refs([item_key(n) for n in OWN])
        (erased,) = await engine.store.find_refs([item_key(4)])
        removed = find_rows([*orphans, erased])
        await engine.forgetting.forget(user_key(LONER), wipe=True)
        await engine.forgetting.forget(item_key(4), wipe=True)
        await engine.drain()
        assert_empty_rows(engine.numbers.view, removed)
        await record_history(engine, 3, 30)
        assert_empty_rows(engine.numbers.view, removed)
        await assert_sound(engine)
        await engine.learner.reload()
        await record_history(engine, 4, 30)
        assert_empty_rows(engine.numbers.view, removed)
        live = {name: array.copy() for name, array in list_factors(engine.numbers.view).items()}
        engine.numbers.view.state.factors.withdrawn[0] = 1
        assert await engine.relearn_factors_if_due()
        again = list_factors(engine.numbers.view)
        assert [name for name in live if not np.array_equal(live[name], again[name])] == []
        await assert_sound(engine)


def assert_empty_rows(view, rows):
    """Assert that items' rows in the factors are as before anything was learned."""
    factors = view.state.factors
    fresh = create_factors(factors.settings, view.state.seed, 1, view.items)
    for name in ITEM_TABLES:
        assert np.array_equal(getattr(factors, name)[rows], getattr(fresh, name)[rows]), name


def list_factors(view):
    factors = view.state.factors
    return {name: getattr(factors, name)[: view.items] for name in ITEM_TABLES}


@pytest.mark.parametrize("store", STORES)
async def test_routers_made_anew_learn_from_what_is_left_of_the_draws(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await record_history(engine, 1, 60)
        await engine.forget(item_key(4))
        before = await read_draws(engine.store)
        short = [sequence for sequence, (drawn, *_) in before.items() if -1 in drawn]
        assert short
        await engine.init()
        after = await read_draws(engine.store)
        for sequence, (drawn, *_) in after.items():
            kept = [row for row in before[sequence][0].tolist() if row >= 0]
            assert drawn.tolist() == kept + [-1] * (4 - len(kept))
        await assert_sound(engine)


def list_arrays(state, rows):
    names = ("adoptions", "content", "attributes", "adopters", "recent", "visible")
    return {name: getattr(state, name)[rows] for name in names}


@pytest.mark.parametrize("store", STORES)
async def test_an_item_that_somebody_takes_during_the_erasure_stays(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await record_history(engine, 1, 60)
        await engine.record(list_events_of_loner(1))
        await engine.drain()
        withdraw, tries = engine.store.withdraw, []

        async def withdraw_late(*arguments):
            if not tries:
                await engine.record([event(9_500, 2, OWN[0])])
            tries.append(arguments)
            return await withdraw(*arguments)

        engine.store.withdraw = withdraw_late
        await engine.forget(user_key(LONER))
        del engine.store.withdraw
        assert len(tries) == 2
        await engine.drain()
        stays, *gone = await engine.store.find_refs([item_key(n) for n in OWN])
        assert gone == [None, None]
        view = engine.numbers.view
        assert view.state.visible[stays >> 1]
        assert view.state.adoptions[stays >> 1] == 1
        answer = await engine.recommend(
            RecommendRequest(user_id=user_key(5).id, limit=100, exclude_seen=False)
        )
        assert item_key(OWN[0]).id in {one.item_id for one in answer.items}
        await assert_sound(engine)


@pytest.mark.parametrize("store", STORES)
async def test_a_retraction_keeps_the_items_until_the_user_is_forgotten(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store)) as engine:
        events = list_events_of_loner(1)
        await engine.record(events)
        await engine.drain()
        await engine.retract([one.event_id for one in events])
        assert None not in await engine.store.find_refs([item_key(n) for n in OWN])
        await engine.forget(user_key(LONER))
        refs = await engine.store.find_refs([item_key(n) for n in OWN])
        assert refs[:2] == [None, None], "a retracted event keeps its item"
        assert refs[2] is not None, "and not its negative"
        await assert_sound(engine)
