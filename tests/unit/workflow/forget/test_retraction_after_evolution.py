"""Retractions after splits, merges and undos.

A repeat may be stored in the routers of another epoch than the first adoption.
"""

import numpy as np
import pytest

from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
    LearnedBlock,
    NewInteraction,
    RouterMap,
    RouterMaps,
)
from propagation.optimization.holdout_judge import Verdict
from propagation.workflow.learn.rebuild import rebuild_view
from propagation.workflow.settings import BankSettings
from tests.unit.workflow.evolve.planted_communities import STYLES, draw_events, push
from tests.unit.workflow.evolve.test_evolution import (
    Restless,
    Told,
    assert_mass_as_written,
    run_evolutions,
    start_engine,
)
from tests.unit.workflow.learn.comparison import find_differing_arrays

pytestmark = pytest.mark.slow

__all__ = ["start_engine"]


async def assert_numbers_sound(engine):
    """Check that view, stored weights, rebuild and graph agree."""
    await assert_mass_as_written(engine)
    view = await rebuild_view(engine.store, engine.embedder, engine.data.create_first_view())
    assert find_differing_arrays(view.state, engine.numbers.view.state) == []
    assert await engine.store.check() == []


async def draw_repeated_events(engine, count, draw):
    """Draw `count` event ids of first adoptions that were repeated later."""
    rows = await engine.store.get_interactions(
        range(1, await engine.store.get_recorded_through() + 1)
    )
    by_pair = {}
    for row in rows:
        by_pair.setdefault((row.user, row.item), []).append(row.event_id)
    repeated = sorted(ids[0] for ids in by_pair.values() if len(ids) > 1)
    assert len(repeated) >= count
    return [repeated[place] for place in draw.permutation(len(repeated))[:count]]


@pytest.mark.parametrize(
    ("seed", "times"),
    [
        (1, 1),
        (2, 2),
        (3, 2),
    ],
)
async def test_repeats_are_promoted_across_splits_merges_and_undos(
    start_engine, monkeypatch, seed, times
):
    monkeypatch.setattr(Verdict, "published", True)
    restless, draw = Restless(seed), np.random.default_rng(seed)
    engine = await start_engine(
        STYLES[:3], 120, Told(restless), evolve_support=1, evolve_most=2, holdout=40
    )
    for time in range(times):
        _, undone = await run_evolutions(engine, restless, 8, seed=100 * (time + 1))
        assert undone
        taken = await engine.forgetting.retract(await draw_repeated_events(engine, 12, draw))
        assert all(event.retracted for event in taken.events)
        await assert_numbers_sound(engine)
    await push(engine, draw_events(STYLES[:3], 30, seed=9))
    await engine.evolve()
    await engine.forgetting.forget(ClientKey(kind=ClientKind.USER, id=f"{STYLES[0]}-1"))
    await assert_numbers_sound(engine)


async def test_a_repeat_from_before_a_split_is_stored_in_the_numbers_of_its_own_epoch(
    start_engine, monkeypatch
):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(
        STYLES[:3],
        240,
        Told(lambda case: Restless(1)(case)),
        taste=BankSettings(k=2),
        evolve_support=1,
    )
    routers = 2
    for number in range(4):
        await push(engine, draw_events(STYLES[:3], 20, seed=50 + number))
        await engine.evolve()
    assert len(engine.numbers.view.routers) > routers
    before = (await engine.store.get_router_maps()).maps[0].through
    await engine.forgetting.retract(
        await draw_repeated_events(engine, 20, np.random.default_rng(1))
    )
    for block in await engine.store.read_learned(0, 1_000):
        assert isinstance(block, LearnedBlock)
        if block.through <= before:
            assert block.routers[:, 1][block.weights[:, 1] > 0].max(initial=0) < routers
    await assert_numbers_sound(engine)


async def read_all_messages(engine):
    numbers = await engine.store.get_version_numbers(range(30))
    return [
        await engine.store.get_router_version(router, version)
        for router, number in numbers.items()
        for version in range(1, number + 1)
    ]


async def choose(engine, users, items, negative=None):
    """Let each user choose the items, with a round for each event.

    Returns:
        The event ids.
    """
    ids = []
    for place, item in enumerate(items):
        for user in users:
            ids.append(f"{user.id}-{place}")
            chosen = NewInteraction(
                event_id=ids[-1],
                user_id=user.id,
                item_id=item,
                negative_id=negative,
                time=place,
                content_hash=ids[-1],
            )
            await push(engine, [chosen])
            await engine.run_round()
    return ids


async def test_evolved_routers_do_not_stand_for_what_two_forgotten_users_brought(
    start_engine, monkeypatch
):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(
        STYLES[:3], 120, Told(lambda case: Restless(1)(case)), evolve_support=1, evolve_most=2
    )
    secret = ClientKey(kind=ClientKind.ITEM, id="tape")
    await engine.upsert_clients([ClientChange(key=secret, attributes=("wuggawugga",))])
    await engine.drain()
    await engine.run_round()
    users = [ClientKey(kind=ClientKind.USER, id=f"loner-{n}") for n in range(2)]
    await choose(engine, users, ("tape", "jazz1", "tape", "opera2"))
    for number in range(4):
        await engine.evolve()
        await push(engine, draw_events(STYLES[:3], 20, seed=70 + number))
        await engine.run_round()
    evolved = [one for one in await read_all_messages(engine) if not one.integrated]
    assert any("wuggawugga" in dict(one.standing) for one in evolved)
    for user in users:
        await engine.forgetting.forget(user)
    assert not [one for one in await read_all_messages(engine) if "wuggawugga" in str(one)]


@pytest.mark.parametrize("way", ["forget", "retract"])
async def test_evolved_routers_lose_what_only_withdrawn_choices_counted(
    start_engine, monkeypatch, way
):
    """Evolutions count an item's attribute for its readers, whose lines lack it."""
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(STYLES[:3], 120, evolve_support=1, evolve_most=2)
    tape = ClientKey(kind=ClientKind.ITEM, id="tape")
    await engine.upsert_clients([ClientChange(key=tape, attributes=("jazz", "kolibri zonk"))])
    await engine.drain()
    users = [ClientKey(kind=ClientKind.USER, id=f"loner-{n}") for n in range(2)]
    mine = await choose(engine, users, ("jazz1", "jazz2", "jazz3", "tape", "tape"), "opera2")
    for number in range(3):
        await engine.evolve()
        await push(engine, draw_events(STYLES[:3], 12, seed=70 + number))
        await engine.run_round()
    assert [one for one in await read_all_messages(engine) if "kolibri" in str(one)]
    if way == "retract":
        await engine.forgetting.retract(mine)
    else:
        for user in users:
            await engine.forgetting.forget(user)
    await push(engine, draw_events(STYLES[:3], 12, seed=99))
    await engine.run_round()
    assert not [one for one in await read_all_messages(engine) if "kolibri" in str(one)]
    assert "kolibri" not in str(await engine.store.get_evolution_runs(9))


def test_only_the_runs_between_two_events_map_their_weights():
    def run(number, through, home, undoes=None):
        return RouterMap(
            run=number,
            through=through,
            from_epoch=number - 1,
            to_epoch=number,
            home=np.array(home),
            routers=3,
            centres=np.zeros((3, 2), np.float32),
            undoes=undoes,
        )

    swap, turn = run(1, 10, [1, 0, 2]), run(2, 20, [1, 2, 0])
    back = run(3, 30, [2, 0, 1], undoes=2)
    maps = RouterMaps((swap, turn, back))
    routers, user = np.array([0, 1, 2]), np.zeros(3, np.int64)
    assert maps.between(5, 8).map_routers(routers, user).tolist() == [0, 1, 2]
    assert maps.between(5, 15).map_routers(routers, user).tolist() == [1, 0, 2]
    assert maps.between(15, 25).map_routers(routers, user).tolist() == [1, 2, 0]
    assert maps.between(5, 40).map_routers(routers, user).tolist() == [1, 0, 2]
    for first, later in ((5, 8), (5, 15), (15, 25), (5, 25), (5, 40), (25, 40)):
        through = maps.after(later).map_routers(
            maps.between(first, later).map_routers(routers, user), user
        )
        assert through.tolist() == maps.after(first).map_routers(routers, user).tolist()
