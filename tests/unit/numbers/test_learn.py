"""What one learned interaction changes, and that a follower ends where the learner does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.numbers import FOLLOW, learn_block
from propagation.numbers.rules import (
    FEATURES,
    KEPT,
    NEIGHBOURS,
    compute_standpoint,
    fill_features,
    fill_from,
    gather_neighbours,
    release_neighbours,
)
from propagation.workflow.views.numbers_view import create_live_combiner
from tests.unit.numbers.states import learn, list_arrays, small_state

USERS, ITEMS = 4, 12
EVENTS = st.lists(
    st.tuples(st.integers(0, USERS - 1), st.integers(0, ITEMS - 1)), min_size=1, max_size=60
)


@given(EVENTS)
@settings(max_examples=40, deadline=None)
def test_a_follower_is_bit_equal_to_the_learner(events):
    learner, follower = small_state(USERS, ITEMS), small_state(USERS, ITEMS)
    block = learn(learner, events)
    users, items = (np.array([event[place] for event in events], np.int64) for place in (0, 1))
    learn_block(
        follower,
        create_live_combiner(),
        FOLLOW,
        users,
        items,
        np.zeros(len(events), np.int64),
        np.arange(len(events), dtype=np.uint32),
        np.full(len(events), -1),
        np.ones(len(events)),
        np.zeros(len(events), np.uint64),
        block.negatives,
        block.scores,
        block.cosines,
        block.trust,
        block.routers,
        block.weights,
    )
    mine = list_arrays(follower)
    for name, value in list_arrays(learner).items():
        assert np.array_equal(value, mine[name]), name


@given(EVENTS)
@settings(max_examples=40, deadline=None)
def test_mass_is_its_start_plus_the_stored_weights(events):
    state = small_state(USERS, ITEMS)
    expected = {0: state.session.mass.astype(np.float64), 1: state.taste.mass.astype(np.float64)}
    totals = {0: state.session.total.copy(), 1: state.taste.total.copy()}
    block = learn(state, events)
    for row, (_, item) in enumerate(events):
        for bank in (0, 1):
            np.add.at(expected[bank][item], block.routers[row, bank], block.weights[row, bank])
            np.add.at(
                totals[bank], block.routers[row, bank], block.weights[row, bank].astype(np.float64)
            )
    for bank, numbers in enumerate((state.session, state.taste)):
        assert numbers.total.dtype == np.float64
        assert np.abs(numbers.mass - expected[bank]).max() < 1e-5
        assert np.abs(numbers.total - totals[bank]).max() < 1e-5


def test_a_repeat_changes_trust_and_the_users_own_and_nothing_else():
    state = small_state(USERS, ITEMS)
    learn(state, [(0, 1), (0, 2), (1, 1)])
    before = {name: value.copy() for name, value in list_arrays(state).items()}
    block = learn(state, [(0, 1)], first_seed=500)
    changed = {
        name
        for name, value in list_arrays(state).items()
        if not np.array_equal(value, before[name])
    }
    assert changed == {
        "session.trust",
        "taste.trust",
        "user_content",
        "user_attributes",
        "history",
        "history_next",
        "history_length",
        "clock",
    }
    assert not block.weights.any()


def test_weight_scales_trust_and_mass_only():
    plain, heavy = small_state(USERS, ITEMS), small_state(USERS, ITEMS)
    one = learn(plain, [(0, 1)])
    three = learn(heavy, [(0, 1)], weights=[3.0])
    assert np.allclose(three.trust, 3 * one.trust)
    assert np.allclose(three.weights.sum(axis=2), 3)
    scaled = {
        f"{bank}.{name}" for bank in ("session", "taste") for name in ("trust", "mass", "total")
    }
    mine = list_arrays(plain)
    assert {
        name for name, value in list_arrays(heavy).items() if not np.array_equal(value, mine[name])
    } == scaled


def test_negatives_are_distinct_visible_and_unseen():
    state = small_state(1, ITEMS)
    state.visible[:4] = False
    block = learn(state, [(0, item) for item in range(4, 9)])
    for row, drawn in enumerate(block.negatives):
        left = set(range(5 + row, ITEMS))
        drawn = [item for item in drawn.tolist() if item >= 0]
        assert len(drawn) == len(set(drawn)) == min(4, len(left))
        assert set(drawn) <= left


def test_negatives_depend_on_the_events_seed_alone():
    first, second = small_state(USERS, 40), small_state(USERS, 40)
    learn(second, [(1, 5), (2, 6)])
    assert np.array_equal(learn(first, [(0, 3)]).negatives, learn(second, [(0, 3)]).negatives)
    third = small_state(USERS, 40)
    assert not np.array_equal(
        learn(third, [(0, 3)], first_seed=101).negatives, learn(second, [(3, 3)]).negatives
    )


def test_a_callers_negative_takes_the_first_place():
    block = learn(small_state(USERS, ITEMS), [(0, 3)], given=[7])
    assert block.negatives[0, 0] == 7
    assert len(set(block.negatives[0].tolist())) == 4


def test_without_anything_to_draw_the_numbers_are_learned_and_prediction_is_skipped():
    state = small_state(1, 1)
    block = learn(state, [(0, 0)])
    assert block.negatives.tolist() == [[-1] * 4]
    assert np.isnan(block.scores[0, 1])
    assert state.adoptions[0] == 1
    assert block.weights.any()


@pytest.mark.slow
def test_looking_neighbours_up_equals_gathering_them():
    state = small_state(USERS, ITEMS)
    learn(state, [(user, (3 * user + step) % ITEMS) for step in range(8) for user in range(USERS)])
    few, out, gathered = np.array([1, 5, 9]), np.empty((3, FEATURES)), np.empty((3, FEATURES))
    fill_features(state, 0, few, 0.0, out)
    assert not state.near_slow.any()
    found = gather_neighbours(state, 0, 0.0)
    fill_from(state, compute_standpoint(state, 0, 0.0), few, gathered)
    assert np.array_equal(out, gathered)
    assert len(np.unique(out[:, 5])) > 1
    assert np.array_equal(np.sort(found), np.flatnonzero(state.near_slow)), "each once"
    release_neighbours(state.near_slow, state.near_fast, found)
    assert not state.near_slow.any()
    assert not state.near_fast.any()


def test_a_newcomer_finds_room_among_full_neighbours_and_grows():
    last = NEIGHBOURS + 40
    state = small_state(last, last + 1)
    for user in range(last):
        learn(
            state,
            [(user, 0), (user, 1 + user)]
            if user < NEIGHBOURS
            else [(user, 0), (user, last), (user, user)],
        )
    count = state.neighbour_count[0]
    assert KEPT <= count <= NEIGHBOURS
    row = state.neighbour[0, :count].tolist()
    assert len(set(row)) == count
    assert state.together[0, row.index(last)] == 40
    assert 1 in row
    assert last - 1 in row
