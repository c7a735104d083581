"""AgentCF's experiments with planted models: the figures follow by hand.

Each test fails when its planted effect is removed: `unplanted` states the figure without it.
"""

from dataclasses import replace

import numpy as np
import pytest

from propagation.adapters.openai.prompting import count_data_tokens
from propagation.laboratory.agentcf import list_variants
from propagation.laboratory.history import Questions
from propagation.laboratory.methods import MethodFailed, Popularity, Random
from propagation.laboratory.methods.popularity import count_adopters
from propagation.laboratory.protocols.candidates import draw_for_rankable
from propagation.laboratory.protocols.drawn_negatives import DrawnNegatives
from propagation.laboratory.protocols.last_events import count_tied
from propagation.laboratory.protocols.ranking_bias import POSITIONS, RankingBias, share_on_top
from propagation.laboratory.protocols.two_way_choice import TwoWayChoice
from propagation.model import InvalidInput
from tests.unit.laboratory.planted_agentcf import (
    Planted,
    ScriptedAsk,
    build_agentcf,
    build_titled_dataset,
    name_item,
)

USERS = 300
GAINS = 1 / np.log2(np.arange(2, 12))
CHANCE = GAINS.mean()


def mean(values):
    """The mean and its standard error, over the targets that could be rated."""
    known = values[~np.isnan(values)]
    return known.mean(), max(known.std() / np.sqrt(len(known)), 1e-9)


def assert_near(values, expected, unplanted=None):
    """The mean is within three standard errors of `expected`, and not of `unplanted`."""
    found, error = mean(values)
    assert abs(found - expected) <= 3 * error, (found, expected, error)
    assert unplanted is None or abs(found - unplanted) > 3 * error, (found, unplanted, error)


async def run(protocol, planted, name="agentcf", dataset=None, seed=1, **changes):
    dataset = dataset or build_titled_dataset(USERS, each=3)
    history, targets = protocol.split(dataset)
    for position in POSITIONS.values():
        _, some, drawn = draw_for_rankable(history, targets, 9, seed, position)
        for row, target in zip(drawn.items, some.item, strict=True):
            planted.targets[tuple(name_item(item) for item in row)] = name_item(target)
    ask = ScriptedAsk(planted)
    method = build_agentcf(dataset, ask, name, **changes)
    return await protocol.run(method, history, targets, seed), ask, history, targets


@pytest.mark.parametrize("name", ["agentcf", "agentcf-r", "agentcf-h"])
async def test_a_model_that_knows_the_truth_with_probability_q_gains_what_follows(name):
    values, _, _, _ = await run(DrawnNegatives(), Planted(knows=0.5), name)
    assert_near(values["n1"], 0.5 + 0.5 * 0.1, 0.1)
    assert_near(values["n10"], 0.5 + 0.5 * CHANCE, CHANCE)
    assert not values["invalid"].any()


async def test_an_unusable_ranking_gains_nothing_and_is_a_measure_of_its_own():
    values, _, _, _ = await run(DrawnNegatives(), Planted(knows=1.0, unusable=0.3))
    assert_near(values["invalid"], 0.3, 0.0)
    assert_near(values["n10"], 0.7, 1.0)
    assert np.array_equal(values["n1"], 1 - values["invalid"])


@pytest.mark.parametrize(("q", "limit"), [(0.4, 2), (0.7, 2), (0.4, 3), (0.4, 1)])
async def test_a_model_that_ignores_the_memories_gains_nothing_by_reflection(q, limit):
    """A second try would be right more often, so `after` is a choice of its own."""
    values, ask, _, _ = await run(TwoWayChoice(), Planted(right=q), rounds=limit)
    for step in (1, 2, 3):
        assert_near(values[f"before_{step}"], q)
        assert_near(values[f"after_{step}"], q, 1 - (1 - q) ** limit if limit > 1 else None)
    assert not values["invalid"].any()
    if limit == 2:
        calls = 6 - 4 * q + q**2
        found = len(ask.asked) / (3 * USERS) - 1  # without the choice that teaches nothing
        assert found == pytest.approx(calls, abs=3 * 1.5 / np.sqrt(3 * USERS))
        assert found < 5.1


async def test_an_unusable_choice_counts_as_not_right_and_as_invalid():
    values, _, _, _ = await run(TwoWayChoice(), Planted(right=1.0, unusable=0.2))
    assert_near(values["before_1"], 0.8, 1.0)
    assert_near(values["invalid"], 1 - 0.8**2, 0.0)  # the first choice, or the one that tests


async def test_a_model_that_reads_the_memories_is_right_after_one_reflection():
    """Choices depend on what was written into the memory, so that they must have been shown."""

    class Reading(Planted):
        def answer(self, data):
            if "first_item" not in data:
                return super().answer(data)
            known = data["second_item"]["title"] in data["user"].get("self_introduction", "")
            text = "It agrees with what this person enjoys, as the features show."
            return {"selection": {"choice": 1 + known, "explanation": text}}

    values, _, _, _ = await run(TwoWayChoice(), Reading())
    assert not values["before_1"].any()
    assert values["after_1"].all()
    values, _, _, _ = await run(TwoWayChoice(), Reading(), "agentcf-no-users")
    assert not values["after_1"].any(), "without a memory nothing is gained"


async def test_the_first_item_is_on_top_with_the_planted_probability():
    p = 0.4
    values, _, _, _ = await run(RankingBias(), Planted(first=p))
    assert_near(values["first_on_top"], p + (1 - p) * 0.1, 0.1)
    assert_near(values["n10_first"], p + (1 - p) * CHANCE, CHANCE)
    assert_near(values["n10_last"], p * GAINS[1:].mean() + (1 - p) * CHANCE)
    assert values["n10_last"][~np.isnan(values["n10_last"])].mean() < values["n10_first"].mean()


async def test_a_model_that_takes_the_most_popular_item_is_found_out():
    dataset = build_titled_dataset(USERS, each=3)
    history, _ = RankingBias().split(dataset)
    counts = count_adopters(history)
    popular = [name_item(item) for item in np.argsort(-counts, kind="stable").tolist()]
    values, _, _, _ = await run(RankingBias(), Planted(popular=popular), dataset=dataset)
    assert values["popular_on_top"].all()
    assert_near(values["first_on_top"], 0.1)
    assert np.nanmean(values["n10_popular"]) > np.nanmean(values["n10_middle"]) + 0.1
    assert np.nanmean(values["n10_middle"]) > np.nanmean(values["n10_rare"])
    fair, _, _, _ = await run(RankingBias(), Planted(), dataset=dataset)
    assert_near(fair["popular_on_top"], 0.1, 1.0)
    assert_near(fair["n10_popular"], CHANCE)
    assert_near(fair["n10_rare"], CHANCE)


async def test_baselines_have_no_position_bias():
    dataset = build_titled_dataset(USERS)
    protocol = RankingBias()
    history, targets = protocol.split(dataset)
    chance = await protocol.run(Random(), history, targets, 1)
    assert chance["n10"] == pytest.approx(CHANCE)
    assert chance["first_on_top"] == pytest.approx(0.1)
    pop = await protocol.run(Popularity(), history, targets, 1)
    assert pop["popular_on_top"] == pytest.approx(1)
    assert np.array_equal(pop["n10_first"], pop["n10_last"])


async def test_all_methods_rank_the_same_items_and_none_that_the_user_had():
    dataset = build_titled_dataset(USERS)
    history, targets = DrawnNegatives().split(dataset)
    (asked, some, drawn), (_, _, again), (_, _, other) = (
        draw_for_rankable(history, targets, 9, seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(drawn.items, again.items)
    assert not np.array_equal(drawn.items, other.items)
    had = history.list_items_by_user()
    for row, user, target in zip(drawn.items, some.user, some.item, strict=True):
        assert len(set(row.tolist())) == 10
        assert target in row
        assert not set(row.tolist()) & (set(had[user].tolist()) - {int(target)})
    assert abs(drawn.place.mean() - 4.5) < 3 * np.sqrt(8.25 / len(asked)), "it has any place"


@pytest.mark.parametrize("name", list(list_variants()))
async def test_no_variant_sees_its_target(name):
    """Without the target among the candidates, no prompt depends on it."""
    dataset = build_titled_dataset(30)
    history, targets = DrawnNegatives().split(dataset)
    learned = []
    for moved in (targets, targets._replace(item=(targets.item + 7) % 40)):
        ask = ScriptedAsk(Planted())
        candidates = np.tile(np.arange(10), (len(moved.user), 1))
        questions = Questions(moved.user, moved.time, candidates)
        await build_agentcf(dataset, ask, name).score(history, questions, 1)
        learned.append(sorted(str(one.data) for one in ask.asked))
    assert learned[0] == learned[1]


@pytest.mark.parametrize("name", list(list_variants()))
async def test_no_run_asks_more_than_estimated_and_one_that_is_always_wrong_as_much(name):
    protocol, dataset = DrawnNegatives(), build_titled_dataset(30)
    for right in (0.0, 0.6):
        _, ask, history, targets = await run(protocol, Planted(right=right), name, dataset)
        calls = protocol.estimate(build_agentcf(dataset, ask, name), history, targets, 1)
        most = sum(one.calls for one in calls)
        assert len(ask.asked) <= most
        if right == 0.0:
            assert len(ask.asked) == most
            assert {one.prompt.label for one in ask.asked} == {one.label for one in calls}
            spent = sum(count_data_tokens(one.document) for one in ask.asked)
            assert spent <= sum(one.prompt_tokens for one in calls)


async def test_the_other_protocols_estimate_what_they_ask():
    dataset = build_titled_dataset(30)
    for protocol in (RankingBias(), TwoWayChoice()):
        _, ask, history, targets = await run(protocol, Planted(right=0.0), dataset=dataset)
        method = build_agentcf(dataset, ask)
        calls = protocol.estimate(method, history, targets, 1)
        assert sum(one.calls for one in calls) == len(ask.asked)


async def test_the_retrieved_memory_is_the_one_nearest_to_the_candidates():
    class Marking(Planted):
        """Each user's memory names the item of its last interaction only."""

        def answer(self, data):
            if "liked_item" in data:
                text = f"Enjoys {data['liked_item']['title']} very much indeed."
                return {"user_reflection": {"memory": text}, "item_reflection": {"memory": text}}
            return super().answer(data)

    dataset = build_titled_dataset(20)
    history, _ = DrawnNegatives().split(dataset)
    ask = ScriptedAsk(Marking(right=1.0))
    user = 4
    items = history.item[history.user == user]
    questions = Questions(
        np.array([user]), np.array([0]), np.array([[items[1], *(i for i in range(3))]])
    )
    await build_agentcf(dataset, ask, "agentcf-r").score(history, questions, 1)
    shown = ask.asked[-1].data["user"]
    assert name_item(items[-1]) in shown["self_introduction"]
    assert name_item(items[-1]) not in shown["earlier"]
    assert any(name_item(item) in shown["earlier"] for item in items[:-1])


async def test_the_history_is_shown_with_the_memories_of_its_items():
    dataset = build_titled_dataset(20)
    history, _ = DrawnNegatives().split(dataset)
    ask = ScriptedAsk(Planted())
    questions = Questions(np.array([4]), np.array([0]), np.array([[0, 1, 2]]))
    await build_agentcf(dataset, ask, "agentcf-h").score(history, questions, 1)
    shown = ask.asked[-1].data["user"]
    items = history.item[history.user == 4].tolist()
    assert [one["title"] for one in shown["history"]] == [name_item(item) for item in items]
    assert all("Enjoys what sounds like" in one["description"] for one in shown["history"])


async def test_what_cannot_be_run_is_said_in_one_sentence():
    dataset = build_titled_dataset(30)
    bare = dataset.__class__(
        **{
            **vars(dataset),
            "items": [item.model_copy(update={"title": None}) for item in dataset.items],
        }
    )
    with pytest.raises(MethodFailed, match="no item of planted has a title or a description"):
        await run(DrawnNegatives(), Planted(), dataset=bare)
    with pytest.raises(MethodFailed, match="its agents do not choose"):
        await run(TwoWayChoice(), Planted(), "agentcf-no-interaction")
    history, targets = TwoWayChoice().split(dataset)
    with pytest.raises(MethodFailed, match="pop: it makes no choices"):
        await TwoWayChoice().run(Popularity(), history, targets, 1)
    for protocol in (DrawnNegatives(), RankingBias(), TwoWayChoice()):
        with pytest.raises(InvalidInput, match="needs at least 10"):
            protocol.split(dataset.first(8))
    with pytest.raises(InvalidInput, match="9 items that the user never had"):
        DrawnNegatives().split(build_titled_dataset(30, items=14))


def test_a_target_that_is_in_the_history_is_not_tied_with_itself():
    dataset = build_titled_dataset(30)
    assert count_tied(*TwoWayChoice().split(dataset)) == 0
    history, targets = TwoWayChoice().split(dataset)
    assert count_tied(replace(history, time=history.time * 0), targets) == 0
    assert count_tied(
        replace(history, time=history.time * 0), targets._replace(time=targets.time * 0)
    ) == len(targets.user)


def test_equal_scores_share_the_top():
    scores = np.array([[1.0, 1.0, 0.0], [np.nan] * 3, [0.0, 2.0, 1.0]])
    wanted = np.array([[True, False, True], [True] * 3, [False, True, False]])
    assert share_on_top(scores, wanted).tolist() == [0.5, 0.0, 1.0]
