"""AgentCF's user-user interaction: reviews, their writers, and what they change."""

import numpy as np
import pytest

from propagation.laboratory.agentcf.prompts.review import Decision, read_decision
from propagation.laboratory.agentcf.studies.reviews import Reviews, list_reviewers
from propagation.laboratory.history import History, Targets
from propagation.laboratory.methods import MethodFailed, Popularity
from propagation.model import InvalidInput
from tests.unit.laboratory.planted_agentcf import (
    Planted,
    ScriptedAsk,
    build_agentcf,
    build_titled_dataset,
)

USERS = 300


class Reading(Planted):
    """Takes 0.4 of the items; after praise 0.7, after criticism 0.2."""

    stance_matters = True

    def answer(self, data):
        if "reviewed_item" in data and self.stance_matters:
            word = "praise" if self.label.startswith("agentcf-praise") else "criticism"
            return {"written": {"review": f"My {word} is for the way in which it was made."}}
        return super().answer(data)

    def _takes(self, data, draw):
        review = data.get("review", "")
        share = 0.7 if "praise" in review else 0.2 if "criticism" in review else 0.4
        return draw.random() < share


async def run(planted, users=USERS, name="agentcf"):
    dataset = build_titled_dataset(users, each=3)
    ask = ScriptedAsk(planted)
    history, targets = Reviews().split(dataset)
    method = build_agentcf(dataset, ask, name)
    return await Reviews().run(method, history, targets, 1), ask, method, history, targets


def assert_near(values, expected, unplanted=None):
    known = values[~np.isnan(values)]
    error = known.std() / np.sqrt(len(known))
    assert abs(known.mean() - expected) <= 3 * error
    assert unplanted is None or abs(known.mean() - unplanted) > 3 * error


async def test_reviews_change_decisions_by_what_is_planted():
    planted = Reading(right=1.0)
    values, _, _, _, _ = await run(planted)
    assert_near(values["before"], 0.4)
    assert_near(values["praise"], 0.7, 0.4)
    assert_near(values["criticism"], 0.2, 0.4)
    assert_near(values["praise_unlike"], 0.7, 0.4)
    assert not np.nansum(values["invalid"])
    planted = Reading(right=1.0)
    planted.stance_matters = False
    values, _, _, _, _ = await run(planted)
    for name in ("praise", "criticism"):
        assert_near(values[name], 0.4)


async def test_the_writers_are_the_most_and_the_least_similar_user():
    _, ask, method, history, targets = await run(Reading(right=1.0), users=60)
    agents, _ = await method.optimize(history, 1)
    read = [
        (one.data["person"], one.data["review"].split()[1], one.data["review_by"])
        for one in ask.asked
        if "review" in one.data
    ]
    compared = 0
    for user, reviewers in zip(
        targets.user.tolist(), list_reviewers(history, targets), strict=True
    ):
        if len(reviewers) > 1:
            person, like, unlike = map(agents.show_user, (user, reviewers[0], reviewers[-1]))
            assert (person, "praise", like) in read
            assert (person, "criticism", like) in read
            assert (person, "praise", unlike) in read
            compared += like != unlike
    assert compared > 10


async def test_no_more_is_asked_than_estimated():
    _, ask, method, history, targets = await run(Reading(right=0.0), users=40)
    calls = Reviews().estimate(method, history, targets, 1)
    assert len(ask.asked) == sum(one.calls for one in calls)


async def test_an_unusable_review_or_decision_is_counted_and_takes_nothing():
    values, _, _, _, _ = await run(Planted(right=1.0, takes=1.0, takes_read=1.0, unusable=0.2))
    assert_near(values["before"], 0.8, 1.0)
    assert_near(values["praise"], 0.64, 0.8)
    assert np.nanmean(values["invalid"]) > 0.2


def test_reviewers_are_others_who_have_the_item_the_most_similar_first():
    rows = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 5), (2, 5), (2, 7), (3, 1), (3, 5), (3, 6)]
    user, item = (np.array(column) for column in zip(*rows, strict=True))
    history = History(4, 8, user, item, user * 0, np.arange(len(user)))
    targets = Targets(np.array([0, 2]), np.array([5, 4]), np.zeros(2, np.int64))
    assert list_reviewers(history, targets) == [[1, 3, 2], []]


@pytest.mark.parametrize(("said", "taken"), [("Yes.", True), ("no", False)])
def test_a_decision_is_yes_or_no(said, taken):
    assert read_decision(Decision(takes=said), None) is taken


def test_a_decision_that_is_neither_is_unusable():
    with pytest.raises(ValueError, match="it must be yes or no"):
        read_decision(Decision(takes="perhaps"), None)


async def test_what_has_no_agents_or_too_few_reviewers_is_said():
    dataset = build_titled_dataset(40, each=3)
    history, targets = Reviews().split(dataset)
    with pytest.raises(MethodFailed, match="pop: it has no agents of users"):
        await Reviews().run(Popularity(), history, targets, 1)
    with pytest.raises(MethodFailed, match="agentcf-no-users: it has no agents"):
        await Reviews().run(
            build_agentcf(dataset, ScriptedAsk(Planted()), "agentcf-no-users"), history, targets, 1
        )
    with pytest.raises(InvalidInput, match="needs at least 10"):
        Reviews().split(dataset.first(20))
