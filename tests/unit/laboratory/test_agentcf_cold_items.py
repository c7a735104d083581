"""AgentCF's item-item interaction: new items learn from popular ones."""

import numpy as np
import pytest

from propagation.laboratory.agentcf.studies.cold_items import ColdItems, list_popular
from propagation.laboratory.methods import MethodFailed, Popularity
from propagation.laboratory.methods.popularity import count_adopters
from propagation.model import InvalidInput
from tests.unit.laboratory.planted_agentcf import (
    Planted,
    ScriptedAsk,
    build_agentcf,
    build_titled_dataset,
    name_item,
)

USERS = 300
CHANCE = (1 / np.log2(np.arange(2, 12))).mean()


class Learned(Planted):
    """Ranks an item that has learned from a popular one first, with probability 0.6."""

    def _rank(self, candidates, draw):
        order = super()._rank(candidates, draw)
        learned = [
            int(number) for number, one in candidates.items() if "fond of" in one["description"]
        ]
        if learned and draw.random() < 0.6:
            return [*learned, *(number for number in order if number not in learned)]
        return order


async def run(planted, users=USERS, items=40):
    dataset = build_titled_dataset(users, items, each=3)
    ask = ScriptedAsk(planted)
    history, targets = ColdItems().split(dataset)
    method = build_agentcf(dataset, ask)
    return await ColdItems().run(method, history, targets, 1), ask, method, history, targets


def assert_near(values, expected, unplanted=None):
    known = values[~np.isnan(values)]
    error = known.std() / np.sqrt(len(known))
    assert abs(known.mean() - expected) <= 3 * error
    assert unplanted is None or abs(known.mean() - unplanted) > 3 * error


async def test_what_was_learned_raises_the_rank_by_what_is_planted():
    values, _, _, _, _ = await run(Learned(right=1.0))
    assert_near(values["cold"], CHANCE)
    for name in ("alike", "unlike"):
        assert_near(values[name], 0.6 + 0.4 * CHANCE, CHANCE)
    plain, _, _, _, _ = await run(Planted(right=1.0))
    assert_near(plain["alike"], CHANCE)
    assert not np.nansum(values["invalid"])


async def test_a_new_item_is_shown_by_its_catalogue_and_learns_from_popular_ones_only():
    _, ask, _, history, targets = await run(Planted(right=1.0), users=60)
    popular = {name_item(item) for item in list_popular(history)}
    learning = [one.data for one in ask.asked if "new_item" in one.data]
    assert len(learning) == 2 * len(np.unique(targets.item))
    for data in learning:
        assert data["popular_item"]["title"] in popular - {data["new_item"]["title"]}
        assert data["new_item"]["description"].startswith("It is listed under ")
    pairs = {(one["new_item"]["title"], one["popular_item"]["title"]) for one in learning}
    assert len(pairs) == len(learning), "the nearest and the farthest item differ"
    least = np.sort(count_adopters(history))[::-1][len(popular) - 1]
    assert all(count_adopters(history)[item] >= least for item in list_popular(history))


async def test_no_more_is_asked_than_estimated():
    _, ask, method, history, targets = await run(Planted(right=0.0), users=40)
    calls = ColdItems().estimate(method, history, targets, 1)
    assert len(ask.asked) == sum(one.calls for one in calls)


async def test_what_could_not_be_learned_is_invalid_and_gains_nothing():
    class Dull(Learned):
        def answer(self, data):
            return {} if "new_item" in data else super().answer(data)

    values, _, _, _, _ = await run(Dull(right=1.0))
    assert np.nanmax(values["alike"]) == 0
    assert np.nanmin(values["cold"]) > 0
    assert np.nanmean(values["invalid"]) == pytest.approx(2 / 3)


async def test_what_has_no_agents_or_too_few_items_is_said():
    dataset = build_titled_dataset(40, each=3)
    history, targets = ColdItems().split(dataset)
    for method in (
        Popularity(),
        build_agentcf(dataset, ScriptedAsk(Planted()), "agentcf-no-items"),
    ):
        with pytest.raises(MethodFailed, match="it has no agents of items"):
            await ColdItems().run(method, history, targets, 1)
    with pytest.raises(InvalidInput, match="needs at least 10"):
        ColdItems().split(build_titled_dataset(40, items=10, each=3))
