"""Rule 3, worked by hand."""

from math import exp, sqrt

import numpy as np
import pytest

from propagation.numbers.rules import (
    FEATURES,
    Feature,
    compute_maturity,
    create_combiner,
    find_adopter_bin,
    learn_pairs,
    observe,
    pack_combiner,
    score,
    standardise,
    unpack,
)


def make_combiner():
    return create_combiner(np.ones((1, 1)))


def test_bins():
    assert [compute_maturity(count) for count in (0, 1, 5, 6, 20, 21)] == [0, 1, 1, 2, 2, 3]
    assert [find_adopter_bin(count) for count in (0, 2, 3, 10, 11, 50, 51)] == [0, 0, 1, 1, 2, 2, 3]


def test_a_weight_is_the_sum_of_global_maturity_and_adopters():
    combiner = make_combiner()
    combiner.weights[0, 0, 1 + 2] = 0.2
    combiner.weights[0, 0, 5 + 1] = 0.1
    assert score(combiner, 0, np.array([2.0]), 2, 1) == pytest.approx(2 * 0.6)
    assert score(combiner, 0, np.array([2.0]), 1, 1) == pytest.approx(2 * 0.4)


def test_cosines_that_come_after_a_time_without_texts_are_not_blown_up():
    combiner = create_combiner(np.ones((1, FEATURES)))
    raw = np.zeros((1_000, FEATURES))
    raw[0, Feature.PROFILE] = raw[0, Feature.CONTENT] = 0.01
    observe(combiner, raw)
    later = np.zeros((1, FEATURES))
    later[0, Feature.PROFILE] = 0.6
    values = np.empty_like(later)
    standardise(combiner, later, values)
    assert values[0, Feature.PROFILE] == pytest.approx(6.0, abs=0.01)


@pytest.mark.parametrize(
    ("feature", "least"),
    [(Feature.LIFT_SESSION, 0.15), (Feature.LIFT_TASTE, 0.15), (Feature.HISTORY, 1.0)],
)
def test_what_learned_little_stays_small(feature, least):
    combiner = create_combiner(np.ones((1, FEATURES)))
    raw = np.zeros((1_000, FEATURES))
    raw[:, [feature, Feature.CONTENT]] = np.linspace(-0.05, 0.05, 1_000)[:, None]
    observe(combiner, raw)
    values = np.empty_like(raw)
    standardise(combiner, raw, values)
    assert values[:, Feature.CONTENT].std() == pytest.approx(1.0)
    assert values[:, feature] == pytest.approx(raw[:, feature] / least)


def test_one_step_is_adagrad_on_the_pairwise_logistic_loss():
    combiner = make_combiner()
    learn_pairs(combiner, np.array([[1.0], [-1.0]]), 1, np.array([3, 0]))
    slope = 1 / (1 + exp(0.3 * 2))
    step = slope * 2 - 1e-4 * 0.3
    assert combiner.weights[0, 0, 0] == pytest.approx(0.3 + 0.1 * step / sqrt(1 + step**2))
    assert combiner.weights[0, 0, 1 + 1] == pytest.approx(
        0.05 * 2 * slope / sqrt(1 + (2 * slope) ** 2)
    )
    assert combiner.weights[0, 0, 5 + 3] == pytest.approx(0.05 * slope / sqrt(1 + slope**2))
    assert combiner.weights[0, 0, 5 + 0] == pytest.approx(combiner.weights[0, 0, 5 + 3])


def test_values_are_clipped_at_four_in_the_gradient_only():
    far, near = make_combiner(), make_combiner()
    learn_pairs(far, np.array([[400.0], [400.0]]), 0, np.array([0, 1]))
    learn_pairs(near, np.array([[4.0], [4.0]]), 0, np.array([0, 1]))
    assert np.array_equal(far.weights, near.weights)
    assert score(far, 0, np.array([400.0]), 3, 3) == pytest.approx(120)


def test_an_arm_neither_sees_nor_learns_what_its_mask_leaves_out():
    combiner = create_combiner(np.array([[1.0, 1.0], [1.0, 0.0]]))
    learn_pairs(combiner, np.array([[1.0, 2.0], [0.0, 0.0]]), 0, np.array([0, 0]))
    assert combiner.weights[1, 1].tolist() == [0.0] * 9
    assert combiner.weights[0, 1, 0] > 0.3


def test_running_moments_are_those_of_all_rows():
    combiner, rows = make_combiner(), np.array([[1.0], [2.0], [6.0]])
    observe(combiner, rows)
    out = np.empty_like(rows)
    standardise(combiner, rows, out)
    assert out[:, 0] == pytest.approx((rows[:, 0] - 3) / rows[:, 0].std())


def test_packed_and_unpacked_are_the_same():
    combiner, other = make_combiner(), make_combiner()
    learn_pairs(combiner, np.array([[1.0], [-1.0]]), 1, np.array([3, 0]))
    unpack(other, pack_combiner(combiner))
    assert np.array_equal(pack_combiner(other), pack_combiner(combiner))
    with pytest.raises(ValueError, match="other arms or features"):
        unpack(other, np.zeros(3))
