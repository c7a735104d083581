"""Expected gains, against every draw there is."""

from itertools import combinations
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.evaluation.kernels.arms import compute_expected, log_factorials
from propagation.laboratory.protocols.expected_gain import expect_gain


def average_over_draws(better, equal, pool, drawn, cut):
    """The mean over all draws, and over all orders of the target among items with its score."""
    gains = []
    for chosen in combinations(range(pool), drawn):
        above = sum(one < better for one in chosen)
        tied = sum(better <= one < better + equal for one in chosen)
        ranks = [above + place + 1 for place in range(tied + 1)]
        gains.append(sum(1 / log2(rank + 1) for rank in ranks if rank <= cut) / len(ranks))
    return sum(gains) / len(gains)


@given(st.data())
def test_an_expected_gain_is_the_mean_over_all_draws(data):
    pool = data.draw(st.integers(0, 7))
    better = data.draw(st.integers(0, pool))
    equal = data.draw(st.integers(0, pool - better))
    drawn = data.draw(st.integers(0, pool))
    cut = data.draw(st.sampled_from([1, 5, 10]))
    expected = average_over_draws(better, equal, pool, drawn, cut)
    assert expect_gain(better, equal, pool, drawn, cut) == pytest.approx(expected)


def test_the_best_of_all_gains_1_and_the_worst_of_ten_a_little():
    assert expect_gain(0, 0, 1_681, 9, 1) == pytest.approx(1)
    assert expect_gain(1_681, 0, 1_681, 9, 10) == pytest.approx(1 / log2(11))
    assert expect_gain(1_681, 0, 1_681, 9, 5) == 0


def test_without_any_knowledge_every_rank_is_as_likely():
    assert expect_gain(0, 1_681, 1_681, 9, 1) == pytest.approx(0.1)
    ranks = [1 / log2(rank + 1) for rank in range(1, 11)]
    assert expect_gain(0, 1_681, 1_681, 9, 10) == pytest.approx(sum(ranks) / 10)


@settings(deadline=None)  # The first call loads the kernel.
@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300), st.sampled_from([9, 99]))
def test_the_laboratory_and_the_evaluation_expect_the_same(better, equal, worse, drawn):
    pool = better + equal + worse
    gain, hit = compute_expected(better, equal, pool, drawn, log_factorials(pool + 1))
    assert expect_gain(better, equal, pool, min(drawn, pool), 10) == pytest.approx(gain)
    assert expect_gain(better, equal, pool, min(drawn, pool), 1) == pytest.approx(hit)
