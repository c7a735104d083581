"""AgentCF's spread of a seed preference: how far it must reach, and that it is not invented."""

import random

import numpy as np
import pytest

from propagation.datasets.dataset import Events, assemble
from propagation.laboratory.agentcf.prompts.express import Expressed, read_expressed
from propagation.laboratory.agentcf.studies.spread import (
    CONTROL,
    MOMENTS,
    PREFERENCE,
    Spread,
    count_near,
    find_seed,
    measure_distance,
)
from propagation.laboratory.history import History
from propagation.laboratory.methods import MethodFailed, Popularity
from propagation.model import ClientChange, ClientKey, ClientKind, InvalidInput
from tests.unit.laboratory.planted_agentcf import (
    Planted,
    ScriptedAsk,
    build_agentcf,
    build_titled_dataset,
)

CHAINS = 150


def build_chains(chains=CHAINS):
    """The seed user takes an item of each chain; then its near user does, and then its far user.

    The seed user's events are in the first third, the near users' in the second one, and the far
    users' in the last one. Other users fill the first and the last third, and share nothing.
    """
    events = Events("chains")

    def add(user, item):
        events.append(f"u{user}", f"i{item}", 1_000 * len(events))

    near, far, others = (1 + chains * group for group in range(3))
    for chain in range(chains):
        add(0, chain)
        add(others + chain, 2 * chains + chain)
    for chain in range(chains):
        add(near + chain, chain)
        add(near + chain, chains + chain)
    for chain in range(chains):
        add(far + chain, chains + chain)
        add(others + chain, 3 * chains + chain)
    items = {
        f"i{n}": ClientChange(key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"), title=f"Record {n}")
        for n in range(4 * chains)
    }
    return assemble("chains", items, {}, events, 1)


class Carrying(Planted):
    """A memory takes the preference over from the other agent's with probability `carries`."""

    carries, invents = 0.7, 0.1

    def answer(self, data):
        if "preference" in data:
            draw = random.Random(str(data))
            has_it = data["preference"] in data["person"]["self_introduction"]
            has_it = has_it or draw.random() < self.invents
            return {"expressed": {"has_it": "yes" if has_it else "no"}}
        found = super().answer(data)
        if "liked_item" in data:
            memory = self._reflect(data, found)
            return {"user_reflection": {"memory": memory}, "item_reflection": {"memory": memory}}
        return found

    def _reflect(self, data, found):
        of_user = self.label.startswith("agentcf-user")
        mine, theirs = str(data["user"]), str(data["liked_item"])
        own, other = (mine, theirs) if of_user else (theirs, mine)
        carried = random.Random(f"{of_user} {data}").random() < self.carries
        text = found["user_reflection"]["memory"]
        return (
            f"{text} {PREFERENCE}."
            if PREFERENCE in own or (carried and PREFERENCE in other)
            else text
        )


async def run(planted, name="agentcf", dataset=None):
    dataset = dataset or build_chains()
    history, targets = Spread().split(dataset)
    ask = ScriptedAsk(planted)
    method = build_agentcf(dataset, ask, name)
    values = await Spread().run(method, history, targets, 1)
    return values, ask, method, history, targets


def assert_near(values, expected, unplanted=None):
    known = values[~np.isnan(values)]
    assert len(known) > 10
    error = max(np.sqrt(expected * (1 - expected) / len(known)), 1e-9)
    assert abs(known.mean() - expected) <= 3 * error, (known.mean(), expected, error)
    assert unplanted is None or abs(known.mean() - unplanted) > 3 * error


async def test_a_preference_reaches_as_far_as_it_is_carried():
    """It is carried twice to a near user, by the item's memory and the user's; then twice again."""
    carries, invents = Carrying.carries, Carrying.invents
    values, _, _, _, _ = await run(Carrying(right=1.0))

    def express(steps):
        return carries**steps + (1 - carries**steps) * invents

    assert_near(values["near_3"], express(2), invents)
    assert_near(values["far_3"], express(4), invents)
    assert_near(values["control"], invents)
    assert np.nanmean(values["seed_3"]) == 1
    assert not values["invalid"].any()


async def test_it_reaches_each_group_when_its_events_have_run():
    planted = Carrying(right=1.0)
    planted.carries, planted.invents = 1.0, 0.0
    values, _, _, _, _ = await run(planted)
    found = {
        group: [float(np.nanmean(values[f"{group}_{moment}"])) for moment in (1, 2, 3)]
        for group in ("seed", "near", "far", "others")
    }
    assert found == {
        "seed": [1, 1, 1],
        "near": [0, 1, 1],
        "far": [0, 0, 1],
        "others": [0, 0, 0],
    }
    assert not np.nansum(values["control"])


async def test_without_what_is_planted_nobody_has_it_but_the_seed_user():
    planted = Carrying(right=1.0)
    planted.carries = 0.0
    values, _, _, _, _ = await run(planted)
    assert np.nanmean(values["seed_3"]) == 1
    assert_near(values["near_3"], Carrying.invents)
    assert_near(values["far_3"], Carrying.invents)
    assert_near(values["all"], Carrying.invents)


async def test_an_unusable_answer_is_counted_and_is_no():
    planted = Carrying(right=1.0)
    planted.invents = 1.0
    answer = planted.answer

    def answer_some(data):
        unusable = "preference" in data and random.Random(f"u{data}").random() < 0.2
        return {} if unusable else answer(data)

    planted.answer = answer_some
    values, _, _, _, _ = await run(planted)
    assert_near(values["all"], 0.8, 1.0)
    assert_near(values["control"], 0.8, 1.0)
    assert abs(values["invalid"].mean() - 0.2) < 0.05


async def test_as_much_is_asked_as_estimated():
    dataset = build_titled_dataset(30)
    _, ask, method, history, targets = await run(Carrying(right=0.0), dataset=dataset)
    calls = Spread().estimate(method, history, targets, 1)
    assert len(ask.asked) == sum(one.calls for one in calls)
    assert ask.count("express") == (MOMENTS + 1) * 30
    asked = {one.data["preference"] for one in ask.asked if "preference" in one.data}
    assert asked == {PREFERENCE, CONTROL}


def test_distances_go_by_shared_items():
    rows = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (4, 9), (5, 0)]
    user, item = (np.array(column) for column in zip(*rows, strict=True))
    history = History(6, 10, user, item, user * 0, np.arange(len(user)))
    assert measure_distance(history, 0).tolist() == [0, 1, 2, 3, 3, 1]
    assert count_near(history).tolist() == [2, 2, 2, 1, 0, 1]
    assert find_seed(history) == 0


def test_an_answer_that_is_neither_yes_nor_no_is_unusable():
    assert read_expressed(Expressed(has_it="Yes."), None)
    with pytest.raises(ValueError, match="it must be yes or no"):
        read_expressed(Expressed(has_it="perhaps"), None)


async def test_what_has_no_agents_or_too_few_users_is_said():
    dataset = build_titled_dataset(40, each=3)
    history, targets = Spread().split(dataset)
    with pytest.raises(MethodFailed, match="pop: a preference spreads by agents of users and"):
        await Spread().run(Popularity(), history, targets, 1)
    for name in ("agentcf-no-users", "agentcf-no-items"):
        method = build_agentcf(dataset, ScriptedAsk(Planted()), name)
        with pytest.raises(MethodFailed, match=f"{name}: a preference spreads"):
            await Spread().run(method, history, targets, 1)
    with pytest.raises(InvalidInput, match="needs at least 10"):
        Spread().split(dataset.first(5))
