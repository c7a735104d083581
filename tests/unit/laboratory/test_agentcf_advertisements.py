"""AgentCF's advertisements: who has a part in them, and which one users prefer."""

import random

import numpy as np
import pytest

from propagation.laboratory.agentcf.prompts.advertise import Aspect, Preferred, read_preferred
from propagation.laboratory.agentcf.studies.advertisements import Advertisements
from propagation.laboratory.methods import MethodFailed, Popularity
from propagation.model import InvalidInput
from tests.unit.laboratory.planted_agentcf import (
    Planted,
    ScriptedAsk,
    build_agentcf,
    build_titled_dataset,
)

USERS = 300


class Advertising(Planted):
    """Chooses the first with probability `takes_first`; else the better one with `prefers`.

    A revision is better if all three advertisers' critiques of this draft were shown.
    """

    takes_first, prefers = 0.3, 0.8

    def answer(self, data):
        draw = random.Random(str(data))
        if "first_advertisement" in data:
            texts = [data["first_advertisement"], data["second_advertisement"]]
            better = [text.startswith("Better") for text in texts]
            assert sum(better) <= 1
            if draw.random() < self.takes_first:
                return {"preferred": {"choice": 1}}
            chosen = draw.random() < (self.prefers if any(better) else 0.5)
            return {"preferred": {"choice": 1 + (better[1] == chosen)}}
        if "critiques" in data:
            said = {f"The {aspect} of it: {data['draft']}" for aspect in Aspect}
            word = "Better" if set(data["critiques"].values()) == said else "Other"
            return {
                "revised": {
                    "advertisement": f"{word} words for {data['advertised_item']['title']}."
                }
            }
        if "draft" in data:
            aspect = self.label.removeprefix("agentcf-").partition("@")[0]
            return {"criticised": {"critique": f"The {aspect} of it: {data['draft']}"}}
        if "advertised_item" in data:
            text = f"Come and take {data['advertised_item']['title']} while it is there."
            return {"drafted": {"advertisement": text}}
        return super().answer(data)


async def run(planted, users=USERS, name="agentcf"):
    dataset = build_titled_dataset(users, each=3)
    ask = ScriptedAsk(planted)
    history, targets = Advertisements().split(dataset)
    method = build_agentcf(dataset, ask, name)
    return await Advertisements().run(method, history, targets, 1), ask, method, history, targets


def assert_near(values, expected, unplanted=None):
    known = values[~np.isnan(values)]
    error = known.std() / np.sqrt(len(known))
    assert abs(known.mean() - expected) <= 3 * error, (known.mean(), expected, error)
    assert unplanted is None or abs(known.mean() - unplanted) > 3 * error


async def test_the_revised_one_is_preferred_by_what_is_planted():
    p, q = Advertising.takes_first, Advertising.prefers
    values, _, _, _, _ = await run(Advertising(right=1.0))
    assert_near(values["revised"], p / 2 + (1 - p) * q, 0.5)
    assert_near(values["first"], p + (1 - p) / 2, 0.5)
    assert not values["invalid"].any()


async def test_without_a_preference_both_figures_are_one_half():
    planted = Advertising(right=1.0)
    planted.takes_first, planted.prefers = 0.0, 0.5
    values, _, _, _, _ = await run(planted)
    assert_near(values["revised"], 0.5)
    assert_near(values["first"], 0.5)


async def test_a_model_that_always_takes_the_first_prefers_none():
    planted = Advertising(right=1.0)
    planted.takes_first = 1.0
    values, _, _, _, _ = await run(planted)
    assert (values["revised"] == 0.5).all()
    assert (values["first"] == 1).all()


async def test_users_choose_by_their_own_memory():
    _, ask, method, history, targets = await run(Advertising(right=1.0), users=40)
    agents, _ = await method.optimize(history, 1)
    shown = [one.data["person"] for one in ask.asked if "first_advertisement" in one.data]
    expected = [agents.show_user(user) for user in targets.user.tolist() for _ in range(2)]
    assert sorted(map(str, shown)) == sorted(map(str, expected))


async def test_an_unusable_answer_leaves_its_users_out():
    planted = Advertising(right=1.0)
    answer = planted.answer
    planted.answer = lambda data: {} if "critiques" in data else answer(data)
    values, _, _, _, _ = await run(planted, users=40)
    assert values["invalid"].all()
    assert np.isnan(values["revised"]).all()

    def answer_first(data):
        first = data.get("first_advertisement", "").startswith("Better")
        return {} if first and random.Random(str(data)).random() < 0.3 else answer(data)

    planted.answer = answer_first
    values, _, _, _, _ = await run(planted)
    assert_near(values["invalid"], 0.3)
    assert np.array_equal(np.isnan(values["revised"]), values["invalid"] == 1)


async def test_as_much_is_asked_as_estimated():
    _, ask, method, history, targets = await run(Advertising(right=0.0), users=40)
    calls = Advertisements().estimate(method, history, targets, 1)
    assert len(ask.asked) == sum(one.calls for one in calls)
    assert {one.prompt.label for one in ask.asked} == {one.label for one in calls}


def test_a_choice_of_neither_is_unusable():
    assert not read_preferred(Preferred(choice=2), None)
    with pytest.raises(ValueError, match="the advertisements are 1 and 2"):
        read_preferred(Preferred(choice=3), None)


async def test_what_has_no_agents_or_too_few_users_is_said():
    dataset = build_titled_dataset(40, each=3)
    history, targets = Advertisements().split(dataset)
    with pytest.raises(MethodFailed, match="pop: it has no agents of users that choose"):
        await Advertisements().run(Popularity(), history, targets, 1)
    with pytest.raises(InvalidInput, match="needs at least 10"):
        Advertisements().split(dataset.first(8))
