"""Language models with known probabilities: each experiment gives the figure that follows by hand.

Each test also runs a model without the effect, which must not reach the figure.
"""

from dataclasses import replace

import numpy as np
import pytest

from propagation.laboratory.protocols.candidates import draw_candidates
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.laboratory.protocols.one_of_twenty import OneOfTwenty, group_by_popularity
from propagation.laboratory.protocols.user_simulation import UserSimulation
from services.fake_llm.planted import PlantedAnswers
from tests.unit.laboratory.titled_data import (
    build_titled_dataset,
    find_right_items,
    planted_server,
    run_planted,
)

pytestmark = pytest.mark.slow
LOOP = ("afl(pop)",)


def measure(parts, name):
    """Mean over users of their means over seeds, and its standard error."""
    values = np.nanmean([part.values[name] for part in parts], axis=0)
    kept = values[~np.isnan(values)]
    return float(kept.mean()), float(kept.std(ddof=1) / np.sqrt(len(kept)))


def check(parts, expected):
    """Every figure is as expected within three standard errors."""
    for name, figure in expected.items():
        mean, error = measure(parts, name)
        assert mean == pytest.approx(figure, abs=3 * error + 1e-9), name


def differ(parts, expected):
    """Some figure is further away than that."""
    return any(
        abs(measure(parts, name)[0] - figure) > 3 * measure(parts, name)[1] + 1e-9
        for name, figure in expected.items()
    )


async def run(tmp_path, protocol, names, seeds=(1,), *, without, **planted):
    """Run a planted model, and one that differs in `without`."""
    dataset = build_titled_dataset()
    answers = PlantedAnswers(find_right_items(dataset, protocol), **planted)
    found = []
    for name, model in (("with", answers), ("without", replace(answers, **without))):
        async with planted_server(model) as server:
            parts, outcome = await run_planted(
                tmp_path / name, dataset, protocol, names, server, seeds
            )
            assert outcome == ({}, {}, [])
            found.append(parts)
    return found


def expect_hits(q, a, b, iterations=4):
    """HitRatio@1 after at most n iterations, by hand.

    An iteration ends with a yes to the right item (qa), a yes to a wrong one, or goes on.
    """
    goes_on = q * (1 - a) + (1 - q) * (1 - b)
    hits = [q]
    for _ in range(iterations - 1):
        hits.append(q * a + goes_on * hits[-1])
    return {f"random_hit_{number}": hit for number, hit in enumerate(hits, 1)}


async def test_hits_after_each_iteration_follow_from_the_agents_probabilities(tmp_path):
    q, a, b = 0.3, 0.9, 0.2
    planted, unsure = await run(
        *(tmp_path, OneOfTwenty(), LOOP, (1, 2)),
        **{"knows": q, "misses_otherwise": True, "yes_to_right": a, "yes_to_wrong": b},
        without={"yes_to_right": b},
    )
    expected = expect_hits(q, a, b)
    assert expected["random_hit_4"] > 0.5 > expected["random_hit_1"]
    check(planted, expected)
    assert differ(unsure, expected)
    check(unsure, expect_hits(q, b, b))


async def test_the_recommendation_agent_alone_hits_as_often_as_the_model_knows(tmp_path):
    planted, ignorant = await run(
        *(tmp_path, OneOfTwenty(), ("rec(pop)", "pop")), without={"knows": 0.0}, knows=0.5
    )
    check(planted[:1], {"random_hit_1": 0.5 + 0.5 / 20, "random_hit_4": 0.5 + 0.5 / 20})
    check(ignorant[:1], {"random_hit_1": 1 / 20})
    assert np.array_equal(planted[1].values["random_hit_1"], ignorant[1].values["random_hit_1"])


async def test_a_model_that_takes_the_first_item_hits_by_its_position(tmp_path):
    expected = {
        "first_hit_1": 0.6 + 0.4 / 20,
        "random_hit_1": 1 / 20,
        "last_hit_1": 0.4 / 20,
    }
    planted, unbiased = await run(
        *(tmp_path, OneOfTwenty(positions=("first", "random", "last")), ("rec(none)",)),
        without={"first": 0.0},
        first=0.6,
    )
    check(planted, expected)
    assert differ(unbiased, expected)


async def test_a_model_that_takes_the_most_popular_item_recommends_popular_ones(tmp_path):
    dataset, protocol = build_titled_dataset(), OneOfTwenty()
    history, targets = protocol.split(dataset)
    count = np.bincount(history.item, minlength=history.items)
    popularity = {
        f"Record {n}: {'jazz' if n % 2 else 'soul'}": int(one) for n, one in enumerate(count)
    }
    drawn = draw_candidates(history, targets, 19, 1)
    group = group_by_popularity(history)
    popular = float((group[drawn.items].min(axis=1) == 0).mean())
    planted, unbiased = await run(
        *(tmp_path, protocol, ("rec(none)",)), without={"popularity": {}}, popularity=popularity
    )
    mean, _ = measure(planted, "random_popular_1")
    assert mean == pytest.approx(popular), "the most popular of twenty is in the best group there"
    assert popular > 0.8
    assert measure(unbiased, "random_popular_1")[0] < 0.4


def expect_simulation(a, b):
    """Precision, recall and F1 at 1:k, by hand."""
    out = {}
    for ratio in (1, 3, 9):
        precision = a / (a + ratio * b)
        out |= {
            f"precision_{ratio}": precision,
            f"recall_{ratio}": a,
            f"f1_{ratio}": 2 * precision * a / (precision + a),
        }
    return out


async def test_simulation_follows_from_how_often_the_user_agent_says_yes(tmp_path):
    planted, unsure = await run(
        *(tmp_path, UserSimulation(targets=60), ("user(pop)",)),
        without={"yes_to_wrong": 0.7},
        yes_to_right=0.7,
        yes_to_wrong=0.2,
    )
    check(planted, expect_simulation(0.7, 0.2))
    assert differ(unsure, expect_simulation(0.7, 0.2))
    check(unsure, expect_simulation(0.7, 0.7))


async def test_a_user_agent_that_learns_in_the_loop_simulates_better(tmp_path):
    learnt = (0.9, 0.1)
    planted, forgetful = await run(
        *(tmp_path, UserSimulation(targets=40), ("afl(pop)",)),
        without={"yes_with_memory": None},
        yes_to_right=0.0,
        yes_to_wrong=0.0,
        yes_with_memory=learnt,
    )
    # The first round of the loop always ends with a no, so that every decision has a memory.
    check(planted, expect_simulation(*learnt))
    assert measure(forgetful, "recall_1")[0] == 0


async def test_a_loop_of_one_iteration_simulates_with_one_round_of_memory(tmp_path):
    learnt = (0.8, 0.3)
    planted, forgetful = await run(
        *(tmp_path, UserSimulation(targets=30, ratios=(1,)), ("user(pop)", "afl1(pop)")),
        without={"yes_with_memory": None},
        yes_to_right=0.0,
        yes_to_wrong=0.0,
        yes_with_memory=learnt,
    )
    expected = expect_simulation(*learnt)
    assert measure(planted[:1], "recall_1")[0] == 0
    check(planted[1:], {name: expected[name] for name in ("precision_1", "recall_1", "f1_1")})
    assert measure(forgetful[1:], "recall_1")[0] == 0


async def test_a_ranker_hits_if_the_item_is_listed_and_picked(tmp_path):
    planted, picky = await run(
        *(tmp_path, OneOfTwenty(), ("rec-user(pop)", "user-rank(pop)")),
        without={"picks": 0.1},
        knows=0.7,
        picks=0.6,
    )
    check(planted[:1], {"random_hit_1": 0.7 * 0.6, "random_hit_4": 0.7 * 0.6, "invalid": 0.0})
    check(planted[1:], {"random_hit_1": 0.6})
    assert differ(picky[:1], {"random_hit_1": 0.7 * 0.6})
    check(picky[1:], {"random_hit_1": 0.1})


@pytest.mark.parametrize("share", [0.3])
async def test_unusable_answers_are_counted_and_never_replaced(tmp_path, share):
    planted, sound = await run(
        *(tmp_path, OneOfTwenty(), ("rec(none)",)),
        without={"unusable": 0.0},
        knows=1.0,
        unusable=share,
    )
    check(planted, {"invalid": share, "random_hit_1": 1 - share})
    check(sound, {"invalid": 0.0, "random_hit_1": 1.0})


async def test_llmrank_gains_what_follows_from_how_often_the_right_item_is_first(tmp_path):
    planted, ignorant = await run(
        *(tmp_path, LeaveOneOut(), ("llmrank", "random")),
        without={"knows": 0.0},
        knows=0.4,
    )
    by_chance = 1 / np.log2(np.arange(2, 12))
    expected = {"n1": 0.4 + 0.6 / 10, "n10": 0.4 + 0.6 * by_chance.mean(), "invalid": 0.0}
    check(planted[:1], expected)
    assert differ(ignorant[:1], expected)
    check(ignorant[:1], {"n10": by_chance.mean()})
    assert planted[0].target == planted[1].target, "the same targets as methods with scores"


async def test_a_ranking_that_is_no_permutation_is_invalid_and_gains_nothing(tmp_path):
    planted, sound = await run(
        *(tmp_path, LeaveOneOut(), ("llmrank",)),
        without={"unusable": 0.0},
        knows=1.0,
        unusable=0.25,
    )
    check(planted, {"invalid": 0.25, "n10": 0.75})
    check(sound, {"invalid": 0.0, "n10": 1.0})
