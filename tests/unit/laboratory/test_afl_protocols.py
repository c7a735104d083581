"""AFL's protocols: candidates, held-out items, and figures of all decisions together."""

import numpy as np
import pytest

from propagation.laboratory.methods import MethodFailed, Popularity, Random
from propagation.laboratory.methods.wrappers.item_scores import ItemScorer
from propagation.laboratory.protocols.candidates import draw_candidates
from propagation.laboratory.protocols.one_of_twenty import OneOfTwenty, group_by_popularity
from propagation.laboratory.protocols.user_simulation import (
    UserSimulation,
    choose_threshold,
    draw_shown,
    share_ratio,
)
from propagation.model import InvalidInput
from tests.unit.laboratory.titled_data import build_titled_dataset

DATASET = build_titled_dataset(users=60, items=80, each=22)


class Truthful:
    """Scores right items above all others, or decides by the truth with errors."""

    name, depends_on = "truthful", {}

    def __init__(self, right):
        self.right = right

    async def score(self, history, questions, seed):
        return np.array(
            [
                [float(item in self.right[user]) for item in row]
                for user, row in zip(questions.user.tolist(), questions.candidates, strict=True)
            ]
        )


def find_right(targets):
    held = targets.held_out or [[item] for item in targets.item]
    return {
        user: set(np.asarray(items).tolist())
        for user, items in zip(targets.user.tolist(), held, strict=True)
    }


def test_candidates_are_unseen_items_and_the_target_in_its_place():
    protocol = OneOfTwenty()
    history, targets = protocol.split(DATASET)
    had = history.list_items_by_user()
    draws = {
        position: draw_candidates(history, targets, 19, 3, position)
        for position in ("first", "random", "last")
    }
    for position, drawn in draws.items():
        for row, user in enumerate(targets.user.tolist()):
            assert len(set(drawn.items[row].tolist())) == 20
            assert not set(drawn.items[row].tolist()) & set(had[user].tolist())
            assert drawn.items[row, drawn.place[row]] == targets.item[row]
        places = set(drawn.place.tolist())
        assert places == {"first": {0}, "last": {19}}.get(position, places)
    assert len(set(draws["random"].place.tolist())) > 10
    assert np.array_equal(np.sort(draws["first"].items), np.sort(draws["last"].items)), (
        "another position has the same items"
    )
    again = draw_candidates(history, targets, 19, 4)
    assert not np.array_equal(np.sort(again.items), np.sort(draws["random"].items))


async def test_methods_with_scores_hit_by_their_highest_score_and_ties_share():
    protocol = OneOfTwenty()
    history, targets = protocol.split(DATASET)
    right = await protocol.run(Truthful(find_right(targets)), history, targets, 1)
    chance = await protocol.run(Random(), history, targets, 1)
    for number in range(1, 5):
        assert (right[f"random_hit_{number}"] == 1).all()
        assert chance[f"random_hit_{number}"] == pytest.approx(0.05)
        groups = [chance[f"random_{name}_{number}"] for name in ("popular", "middle", "rare")]
        assert sum(groups) == pytest.approx(1)
    assert not right["invalid"].any()


def test_the_targets_are_a_fixed_sample_of_the_users():
    protocol = OneOfTwenty(targets=25)
    _, targets = protocol.split(DATASET)
    assert len(targets.user) == 25
    assert np.array_equal(targets.user, protocol.split(DATASET)[1].user)
    with pytest.raises(InvalidInput, match="19 items that they never had; this needs at least 10"):
        protocol.split(build_titled_dataset(users=60, items=22, each=4))


def test_popularity_groups_have_their_shares_of_the_items():
    history, _ = OneOfTwenty().split(DATASET)
    group = group_by_popularity(history)
    assert np.bincount(group).tolist() == [16, 24, 40]
    count = np.bincount(history.item, minlength=80)
    assert count[group == 0].min() >= count[group == 1].max()


def test_held_out_items_are_the_last_ones_and_not_in_the_history():
    history, targets = UserSimulation().split(DATASET)
    had = history.list_items_by_user()
    _, item, _ = DATASET.rows()
    user_rows, _, _ = DATASET.rows()
    for user, held in zip(targets.user.tolist(), targets.held_out, strict=True):
        assert len(held) == 10
        assert not set(held.tolist()) & set(had[user].tolist())
        assert set(held.tolist()) == set(item[user_rows == user][-10:].tolist())


@pytest.mark.parametrize(("each", "ratios"), [(4, {9}), (10, {3, 9}), (20, {1, 3, 9})])
async def test_users_with_few_events_have_no_part_where_many_are_needed(each, ratios):
    dataset = build_titled_dataset(users=30, items=80, each=each)
    protocol = UserSimulation()
    history, targets = protocol.split(dataset)
    values = await protocol.run(Popularity(), history, targets, 1)
    for ratio in (1, 3, 9):
        assert np.isnan(values[f"recall_{ratio}"]).all() == (ratio not in ratios)
    rows, questions, took = draw_shown(history, targets, 9, 1)
    assert (took.sum(axis=1) == 2).all()
    assert questions.candidates.shape == (len(rows), 20)


async def test_users_without_four_items_are_refused():
    with pytest.raises(InvalidInput, match="at least 4 different items"):
        UserSimulation().split(build_titled_dataset(users=30, items=80, each=3))


async def test_the_threshold_separates_what_users_take_and_sees_no_target():
    history, targets = UserSimulation().split(DATASET)
    everything = {
        user: set(items.tolist()) for user, items in enumerate(history.list_items_by_user())
    }
    seen = []

    class Watched(Truthful):
        async def score(self, known, questions, seed):
            seen.append(known)
            return await super().score(known, questions, seed)

    threshold = await choose_threshold(ItemScorer(Watched(everything)), history, 1)
    assert threshold > 0.9, "the hidden items are above all items that were never had"
    held = find_right(targets)
    for known in seen:
        for user, items in enumerate(known.list_items_by_user()):
            assert not held.get(user, set()) & set(items.tolist())
    by_chance = await choose_threshold(ItemScorer(Random()), history, 1)
    assert by_chance == pytest.approx(0.5)


async def test_who_knows_what_users_take_is_always_right():
    history, targets = UserSimulation().split(DATASET)
    values = await UserSimulation().run(
        Truthful(
            {
                user: find_right(targets).get(user, set()) | set(known.tolist())
                for user, known in enumerate(history.list_items_by_user())
            }
        ),
        history,
        targets,
        1,
    )
    for ratio in (1, 3, 9):
        for name in ("precision", "recall", "f1"):
            assert values[f"{name}_{ratio}"] == pytest.approx(1)


async def test_a_method_that_only_recommends_makes_no_decisions():
    class Recommending(Random):
        def estimate(self, history, questions):
            return []

    history, targets = UserSimulation().split(DATASET)
    with pytest.raises(MethodFailed, match="makes no decisions"):
        await UserSimulation().run(Recommending(), history, targets, 1)


def test_shares_of_a_ratio_have_its_value_and_the_delta_methods_error():
    draw = np.random.default_rng(3)

    def sample():
        below = draw.integers(1, 20, 400)
        return draw.binomial(below, 0.4), below

    above, below = sample()
    shares = share_ratio(above, below)
    assert shares.mean() == pytest.approx(above.sum() / below.sum())
    spread = np.std([a.sum() / b.sum() for a, b in (sample() for _ in range(2_000))])
    assert shares.std(ddof=1) / 20 == pytest.approx(spread, rel=0.15)
    assert np.isnan(share_ratio(np.zeros(3, int), np.zeros(3, int))).all()


async def test_an_invalid_row_of_scores_hits_nothing():
    class Silent(Random):
        async def score(self, history, questions, seed):
            scores = np.zeros(questions.candidates.shape)
            scores[:5] = np.nan
            return scores

    protocol = OneOfTwenty()
    history, targets = protocol.split(DATASET)
    values = await protocol.run(Silent(), history, targets, 1)
    assert values["invalid"].sum() == 5
    assert not values["random_hit_4"][:5].any()
