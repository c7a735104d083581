"""A service that forgot a user equals one that never saw it.

Source: docs/erasure.md.
"""

from contextlib import asynccontextmanager

import numpy as np
import pytest

from propagation.model import ClientChange, index_of
from propagation.numbers import ITEM_TABLES, SEEN
from propagation.numbers.rules import RECENT_HALF_LIFE
from tests.unit.workflow.small_database import (
    ITEMS,
    STORES,
    USERS,
    event,
    item_key,
    make_engine,
    open_engine,
    record_history,
    user_key,
)

LONER = USERS + 1
UNTAKEN = ITEMS + 2
CHOSEN = (3, 7, 11, ITEMS + 1, 2, 3)
BY_ITEM = ("adoptions", "adopters", "content", "attributes", "visible")
BY_USER = ("user_content", "user_attributes", "history", "history_length")


@asynccontextmanager
async def open_two_services(folder, store, *, others_go_on):
    """Yield two services that have forgotten a user.

    Both have the same events, but only the first one saw those of the user.

    Args:
        store: The store of the service that saw the events; the other one has a file.
        others_go_on: Whether other users act between the user's events and the erasure.
    """
    services = [folder / "saw", folder / "never"]
    for path in services:
        path.mkdir()
    async with (
        open_engine(make_engine(services[0], store)) as saw,
        open_engine(make_engine(services[1])) as never,
    ):
        for engine in (saw, never):
            await engine.upsert_clients(
                [
                    ClientChange(key=item_key(ITEMS + 1), title="The Tapes", attributes=("wugga",)),
                    ClientChange(key=user_key(LONER), title="Somebody Else"),
                ]
            )
            await engine.drain()
            await record_history(engine, 1, 60)
            if engine is saw:
                await engine.record(
                    [event(9_000 + n, LONER, item) for n, item in enumerate(CHOSEN)]
                )
                await engine.drain()
                await engine.run_round()
            if others_go_on:
                await record_history(engine, 2, 60)
            await engine.forget(user_key(LONER))
        yield saw, never


def read_numbers(engine):
    """Return the arrays that must keep nothing of a forgotten user's events."""
    view = engine.numbers.view
    state, users, items = view.state, view.users, view.items
    return {
        **{name: getattr(state, name)[:items] for name in BY_ITEM},
        **{name: getattr(state, name)[:users] for name in BY_USER},
        "co-adoptions": read_co_adoptions(state, items),
        "totals": state.totals,
        "adopted pairs": np.sort(state.seen_set[state.seen_set >= 0]),
    }


def read_co_adoptions(state, items):
    """Return the co-adoptions [items,items], without the order of neighbours."""
    out = np.zeros((items, items))
    for item, count in enumerate(state.neighbour_count[:items]):
        out[item, state.neighbour[item, :count]] = state.together[item, :count]
    return out


def list_differing(one, other, names):
    return [
        name
        for name in names
        if one[name].shape != other[name].shape
        or not np.allclose(one[name], other[name], atol=1e-5)
    ]


async def read_holders(engine):
    names = ("jazz", "opera", "folk", "punk", "wugga", "theremin 77")
    found = await engine.store.get_attributes(names)
    return {name: (one.holders, one.users) for name, one in found.items()}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("others_go_on", [False, True])
async def test_counts_sums_and_lists_are_those_of_a_service_that_never_saw_it(
    tmp_path, store, others_go_on
):
    async with open_two_services(tmp_path, store, others_go_on=others_go_on) as (saw, never):
        one, other = read_numbers(saw), read_numbers(never)
        assert list_differing(one, other, one) == []
        assert await read_holders(saw) == await read_holders(never)


@pytest.mark.parametrize("store", STORES)
async def test_mass_and_trust_are_too_if_nobody_learned_after_it(tmp_path, store):
    """Trust that others learned from the user's mass would stay.

    Source: docs/erasure.md.
    """
    async with open_two_services(tmp_path, store, others_go_on=False) as services:
        masses = [
            {
                f"{name} of {bank}": getattr(getattr(engine.numbers.view.state, bank), name)
                for bank in ("session", "taste")
                for name in ("mass", "total", "trust")
            }
            for engine in services
        ]
        assert list_differing(*masses, masses[0]) == []  # type: ignore[call-arg]


@pytest.mark.parametrize("store", STORES)
async def test_the_time_of_a_withdrawn_adoption_is_not_kept(tmp_path, store):
    async with open_two_services(tmp_path, store, others_go_on=False) as (saw, never):
        state, clean = saw.numbers.view.state, never.numbers.view.state
        last = int(clean.clock[0])
        for item in {*CHOSEN}:
            (ref,) = await saw.store.find_refs([item_key(item)])
            row = index_of(ref)
            assert not last <= state.recent_at[row] < state.clock[0], "the moment of its event"
            faded = (int(state.recent_at[row]) - int(clean.recent_at[row])) / RECENT_HALF_LIFE
            assert state.recent[row] == pytest.approx(clean.recent[row] * 2**-faded, abs=1e-6)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("retracted_first", [False, True])
async def test_no_text_of_others_is_dated_by_an_erased_event(tmp_path, store, retracted_first):
    """Else an item's version at a log gap reveals the choice."""
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await engine.upsert_clients([ClientChange(key=user_key(LONER), title="Somebody Else")])
        await engine.drain()
        await record_history(engine, 1, 60)
        events = [event(9_000 + n, LONER, item) for n, item in enumerate(CHOSEN) if item < ITEMS]
        recorded = await engine.record(events)
        gone = {outcome.sequence for outcome in recorded.outcomes}
        await engine.drain()
        await engine.run_round()
        assert gone & await read_text_sequences(engine), "items hear when they are chosen"
        await record_history(engine, 2, 60)
        if retracted_first:
            await engine.retract([one.event_id for one in events])
        await engine.forget(user_key(LONER))
        assert not gone & await read_text_sequences(engine)
        assert await engine.store.check() == []


async def read_text_sequences(engine):
    """Return the sequences of all texts and merges.

    Each client's versions must have ascending sequences.
    """
    found = set()
    for ref in await engine.store.get_text_versions():
        versions = []
        async for kind, record in engine.store.export_client(ref):
            if kind == "profile_version":
                versions.append(record["sequence"])
            elif kind == "merge":
                found.add(record["sequence"])
        assert versions == sorted(versions), "time travel reads them in this order"
        found.update(versions)
    return found


def read_factors(engine):
    """Return copies of the learned tables, without spare rows."""
    view = engine.numbers.view
    factors = view.state.factors
    tables = {name: getattr(factors, name)[: view.items].copy() for name in ITEM_TABLES}
    return tables | {"taste": factors.taste[: view.users].copy()}


def list_unequal(one, other):
    return [name for name in one if not np.array_equal(one[name], other[name])]


@pytest.mark.parametrize("store", STORES)
async def test_factors_are_too_once_they_are_learned_again(tmp_path, store):
    async with open_two_services(tmp_path, store, others_go_on=True) as (saw, never):
        assert list_unequal(read_factors(saw), read_factors(never)), "it left something"
        learned = await saw.relearn_factors_if_due()
        assert learned == saw.numbers.view.state.clock[SEEN]
        assert list_unequal(read_factors(saw), read_factors(never)) == []
        assert await saw.relearn_factors_if_due() == 0, "once is enough"
        await saw.learner.reload()
        assert list_unequal(read_factors(saw), read_factors(never)) == [], "the barrier has them"
        for engine in (saw, never):
            await record_history(engine, 3, 20)
            await engine.drain()
        assert list_unequal(read_factors(saw), read_factors(never)) == []


@pytest.mark.parametrize("erases_item", [False, True], ids=["retraction", "erasure of an item"])
async def test_a_withdrawal_meanwhile_makes_learning_begin_again(
    tmp_path, monkeypatch, erases_item
):
    async with open_engine(make_engine(tmp_path)) as engine:
        await engine.upsert_clients([ClientChange(key=item_key(UNTAKEN), title="Unheard")])
        await record_history(engine, 1, 60)
        events = [event(9_000 + n, 1, item) for n, item in enumerate(CHOSEN[:3])]
        await engine.record(events)
        await engine.drain()
        await engine.retract([events[0].event_id])
        relearning = engine.forgetting.relearning
        learn_most, tries = relearning._learn_most, []

        async def learn_and_withdraw():
            found = await learn_most()
            tries.append(len(tries))
            if len(tries) == 1 and erases_item:
                await engine.forget(item_key(UNTAKEN))
            elif len(tries) == 1:
                await engine.retract([events[1].event_id])
            return found

        monkeypatch.setattr(relearning, "_learn_most", learn_and_withdraw)
        assert await engine.relearn_factors_if_due() == engine.numbers.view.state.clock[SEEN]
        assert len(tries) == 2
        first = read_factors(engine)
        engine.numbers.view.state.factors.withdrawn[0] = 1
        await engine.relearn_factors_if_due()
        assert list_unequal(first, read_factors(engine)) == []


async def test_a_stop_ends_learning_without_effect(tmp_path):
    async with open_engine(make_engine(tmp_path)) as engine:
        await record_history(engine, 1, 60)
        await engine.drain()
        await engine.forget(user_key(1))
        before = read_factors(engine)
        engine.forgetting.relearning.stop()
        assert await engine.relearn_factors_if_due() == 0
        assert list_unequal(before, read_factors(engine)) == []
        assert engine.forgetting.relearning.is_due


async def test_retracting_a_repeat_leaves_the_taste_vector(tmp_path):
    async with open_engine(make_engine(tmp_path)) as engine:
        await record_history(engine, 1, 60)
        events = [event(9_000, 1, 3), event(9_001, 1, 3)]
        await engine.record(events)
        await engine.drain()
        before = read_factors(engine)
        await engine.retract([events[1].event_id])
        assert list_unequal(before, read_factors(engine)) == []
        assert not engine.forgetting.relearning.is_due
