"""Rules 1, 2, 4 and 5 of docs/numbers.md, worked by hand on two routers."""

from math import exp, log

import numpy as np
import pytest

from propagation.numbers import SESSION_DISCOUNT, create_state
from propagation.numbers.rules import (
    add_trust,
    compute_lifts,
    compute_readings,
    compute_routing_weights,
    find_largest,
    find_softmax_largest,
    share_of,
    start_mass,
    write,
)
from tests.unit.numbers.states import learn, small_state

ROUTERS = np.eye(2, dtype=np.float32)


def make_two_routers():
    """Two items: item 0 was adopted 3 times, by router 0's community; item 1 once."""
    state = create_state(ROUTERS, ROUTERS, 0, users=2, items=2, seen=8)
    state.adoptions[:] = [3, 1]
    state.totals[:] = [4, 2]
    state.session.mass[:] = [[3, 0], [0, 1]]
    state.session.total[:] = [3, 1]
    return state


def test_share_is_smoothed_by_half_an_adoption():
    assert share_of(make_two_routers().adoptions[0], make_two_routers().totals) == pytest.approx(
        3.5 / 5
    )


def test_rule_1_lift_is_above_zero_where_an_item_is_adopted_more_than_elsewhere():
    state = make_two_routers()
    row = np.empty(2)
    compute_lifts(state.session, share_of(state.adoptions[0], state.totals), 0, row)
    assert row == pytest.approx(
        [log((3 + 50 * 0.7) / (53 * 0.7)), log((0 + 50 * 0.7) / (51 * 0.7))]
    )
    assert row[0] > 0 > row[1]


def test_rule_2_reading_is_the_log_of_the_mean_likelihood_ratio():
    state = make_two_routers()
    row, out = np.empty(2), np.empty(2)
    compute_lifts(state.session, share_of(state.adoptions[0], state.totals), 0, row)
    compute_readings(
        state.session,
        (np.arange(2), np.array([0.75, 0.25])),
        state.adoptions,
        state.totals,
        np.arange(2),
        out,
    )
    assert out[0] == pytest.approx(log(0.75 * exp(row[0]) + 0.25 * exp(row[1])), abs=1e-6)


def test_rule_4_trust_decays_first_and_then_takes_the_lifts():
    state = make_two_routers()
    state.session.trust[1] = [1, -2]
    add_trust(state.session, 1, np.array([0.5, 3], np.float32))
    assert state.session.trust[1] == pytest.approx(
        [SESSION_DISCOUNT + 0.5, -2 * SESSION_DISCOUNT + 3]
    )


def test_rule_4_clips_lifts_at_three():
    state = small_state(2, 4)
    state.session.mass[0, 0] = 1e6
    block = learn(state, [(0, 0)])
    assert block.trust[0, 0].max() == 3


def test_rule_5_writes_the_shares_into_mass_and_its_sum():
    state = make_two_routers()
    write(state.session, 1, np.array([1, 0]), np.array([0.75, 0.25], np.float32))
    assert state.session.mass[1] == pytest.approx([0.25, 1.75])
    assert state.session.total == pytest.approx([3.25, 1.75])


def test_start_mass_is_a_fifth_of_an_adoption_sharply_by_content():
    state = create_state(ROUTERS, ROUTERS, 0, users=1, items=1, seen=2)
    start_mass(state.taste, 0, ROUTERS[0])
    assert state.taste.mass[0] == pytest.approx([0.2 * exp(8) / (exp(8) + 1), 0.2 / (exp(8) + 1)])
    assert state.taste.total == pytest.approx(state.taste.mass[0])


def test_routing_weights_are_the_largest_of_the_softmax_renormalised():
    routers, values = find_softmax_largest(np.log([1.0, 5.0, 3.0, 2.0]), 2, 0, np.uint64(1))
    assert dict(zip(routers.tolist(), values.tolist(), strict=True)) == pytest.approx(
        {1: 5 / 8, 2: 3 / 8}
    )


def test_equal_trust_is_ordered_by_a_hash_of_client_and_router_never_by_index():
    chosen = [
        tuple(sorted(find_largest(np.zeros(80), 16, user, np.uint64(1)))) for user in range(30)
    ]
    assert len(set(chosen)) == 30
    assert np.bincount(np.concatenate(chosen), minlength=80).max() < 20


def test_the_writing_takes_sixteen_routers_and_the_reading_thirty_two():
    state = small_state(1, 3)
    block = learn(state, [(0, 0)])
    assert np.count_nonzero(block.weights[0, 0]) == 16
    assert block.weights[0].sum(axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert len(compute_routing_weights(state.taste, 0, 32, state.seed)[0]) == min(
        32, state.taste.mass.shape[1]
    )
