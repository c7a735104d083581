"""The live gauge, worked by hand."""

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.numbers.gauge import (
    FADE,
    FIRST_SPAN,
    POINTS,
    compute_gain,
    create_gauge,
    note_gains,
)
from propagation.numbers.rules import create_combiner, learn_pairs, pack_combiner, unpack

HALF = np.array([0.5])


def test_gain_is_n10_and_ties_share_their_places():
    assert compute_gain(0, 0) == pytest.approx(1)
    assert compute_gain(4, 0) == pytest.approx(1 / log2(6))
    assert compute_gain(1, 2) == pytest.approx((1 / log2(3) + 1 / log2(4) + 1 / log2(5)) / 3)


def test_an_interaction_fades_and_differences_are_from_the_first_arm():
    gauge = create_gauge(2)
    note_gains(gauge, np.array([1.0, 0.5]))
    note_gains(gauge, np.array([0.4, 0.6]))
    assert gauge.weight.tolist() == pytest.approx([1 + FADE, 1 + FADE**2])
    assert gauge.recent[:, 0].tolist() == pytest.approx([FADE + 0.4, 0.5 * FADE + 0.6])
    assert gauge.recent[:, 1].tolist() == pytest.approx([0, 0.25 * FADE + 0.04])


def test_arms_are_ranked_by_the_weights_from_before_they_learn():
    combiner = create_combiner(np.array([[1.0, 0.0], [0.0, 1.0]]))
    learn_pairs(combiner, np.array([[1.0, -1.0], [0.0, 0.0], [2.0, -1.0]]), 0, np.array([0, 0, 0]))
    second_of_three, behind_one_tied_with_one = 1 / log2(3), (1 / log2(3) + 1 / log2(4)) / 2
    assert combiner.gauge.recent[:, 0].tolist() == pytest.approx(
        [second_of_three, behind_one_tied_with_one]
    )


@given(st.integers(0, 30_000))
@settings(max_examples=30, deadline=None)
def test_the_course_covers_the_whole_stream(count):
    gauge = create_gauge(1)
    for _ in range(count):
        note_gains(gauge, HALF)
    assert gauge.course[:, 0].sum() == count
    assert gauge.course[:, 1].sum() == pytest.approx(0.5 * count)


def test_a_full_course_halves_its_stretches():
    gauge = create_gauge(1)
    for value in range(int(FIRST_SPAN) * POINTS):
        note_gains(gauge, np.array([float(value >= FIRST_SPAN)]))
    assert gauge.span.tolist() == [2 * FIRST_SPAN, POINTS // 2]
    assert gauge.course[0].tolist() == [2 * FIRST_SPAN, FIRST_SPAN]
    assert gauge.course[POINTS // 2 :].sum() == 0


def test_a_state_stored_before_there_was_a_gauge_begins_a_new_one():
    learned, other = (create_combiner(np.ones((2, 1))) for _ in range(2))
    learn_pairs(learned, np.array([[1.0], [-1.0]]), 1, np.array([3, 0]))
    old = pack_combiner(learned)[: -sum(part.size for part in learned.gauge)]
    unpack(other, old)
    assert np.array_equal(other.weights, learned.weights)
    assert other.gauge.weight[0] == 0
    assert other.gauge.span.tolist() == [FIRST_SPAN, 0]
