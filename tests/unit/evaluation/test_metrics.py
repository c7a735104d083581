"""Exact expectations against simulation and by hand; paired differences."""

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.evaluation.kernels.arms import (
    DRAWN,
    DRAWN_MANY,
    MANY_TIES,
    compute_expected,
    log_factorials,
)
from propagation.evaluation.protocols.metrics import Paired, compute_mean, pair_up

LOGS = log_factorials(200)


def test_the_best_and_the_worst_of_ten():
    assert compute_expected(0, 0, 9, DRAWN, LOGS) == pytest.approx((1, 1))
    assert compute_expected(9, 0, 9, DRAWN, LOGS) == pytest.approx((1 / log2(11), 0))


def test_ties_share_every_place():
    assert compute_expected(0, 9, 9, DRAWN, LOGS)[0] == pytest.approx(
        np.mean([1 / log2(1 + rank) for rank in range(1, 11)])
    )
    assert compute_expected(0, 1, 1, DRAWN, LOGS) == pytest.approx(((1 + 1 / log2(3)) / 2, 0.5))


def test_expectation_over_draws_equals_simulation():
    rng = np.random.default_rng(1)
    drawn = np.array([rng.choice(100, 9, replace=False) for _ in range(20_000)])
    above = (drawn < 12).sum(axis=1)
    assert compute_expected(12, 0, 100, DRAWN, LOGS) == pytest.approx(
        (np.mean(1 / np.log2(2 + above)), np.mean(above == 0)), abs=0.01
    )


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_many_ties_are_the_mean_of_their_places(data):
    others = data.draw(st.integers(MANY_TIES + 1, 3_000))
    ties = data.draw(st.integers(MANY_TIES + 1, others))
    above = data.draw(st.integers(0, others - ties))
    draws = data.draw(st.sampled_from([DRAWN, DRAWN_MANY]))
    logs = log_factorials(others + 1)
    places = [compute_expected(above + tie, 0, others, draws, logs) for tie in range(ties + 1)]
    assert compute_expected(above, ties, others, draws, logs) == pytest.approx(
        np.mean(places, axis=0), abs=1e-10
    )


def test_a_place_after_the_tenth_of_a_hundred_gains_nothing():
    assert compute_expected(9, 0, 99, DRAWN_MANY, LOGS) == pytest.approx((1 / log2(11), 0))
    assert compute_expected(10, 0, 99, DRAWN_MANY, LOGS) == pytest.approx((0, 0))
    rng = np.random.default_rng(2)
    above = (np.array([rng.choice(160, 99, replace=False) for _ in range(20_000)]) < 12).sum(axis=1)
    gains = np.where(above < 10, 1 / np.log2(2 + above), 0)
    assert compute_expected(12, 0, 160, DRAWN_MANY, LOGS) == pytest.approx(
        (gains.mean(), np.mean(above == 0)), abs=0.01
    )


def test_paired_is_a_mean_over_users_not_events():
    user = np.array([0, 0, 0, 1])
    pair = pair_up(np.array([1.0, 1, 1, 0]), np.zeros(4), user)
    assert pair is not None
    assert pair.mean == pytest.approx(0.5)
    assert pair.t == pytest.approx(0.5 / (np.std([1, 0], ddof=1) / np.sqrt(2)))


def test_rounding_errors_have_no_t():
    """0.1 + 0.2 - 0.3 and the spread of equal differences are rounding errors."""
    sums = np.array([0.1 + 0.2, 0.1 + 0.2, 0.5])
    pair = pair_up(sums, np.array([0.3, 0.3, 0.5]), np.arange(3))
    assert pair == Paired(mean=0, t=None, standard_error=0)
    cancelling = pair_up(
        np.array([0.1, 0.2, 0, 1]), np.array([0, 0, 0.3, 1]), np.array([0] * 3 + [1])
    )
    assert cancelling == Paired(mean=0, t=None, standard_error=0)
    equal = pair_up(sums + 0.1, sums, np.arange(3))
    assert equal is not None
    assert (equal.t, equal.standard_error) == (None, 0)
    small = pair_up(np.array([1 + 1e-9, 1.0]), np.ones(2), np.arange(2))
    assert small is not None
    assert small.t == pytest.approx(1), "a small difference is one"


def test_nothing_ranked_is_none_not_zero():
    nothing = np.full(4, np.nan)
    assert compute_mean(nothing) is None
    assert pair_up(nothing, nothing, np.zeros(4, np.int64)) is None
