"""Kernels that take back: the hash set, mass, sums and pairs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.numbers import (
    add_together,
    compute_own_sums,
    drop_keys,
    drop_neighbour,
    empty_row,
    fill_own_pairs,
    unwrite,
)
from propagation.numbers.rules import CO_HISTORY, EMPTY, add_key, find_slot
from tests.unit.numbers.states import learn, small_state

KEYS = st.lists(st.integers(0, 60), min_size=1, max_size=24, unique=True)


@given(KEYS, st.data())
@settings(max_examples=60, deadline=None)
def test_a_key_that_is_dropped_hides_no_other(keys, data):
    gone = data.draw(st.lists(st.sampled_from(keys), unique=True))
    table = np.full(32, EMPTY, np.int64)
    for key in keys:
        add_key(table, key)
    drop_keys(table, np.array([*gone, 99], np.int64))
    for key in range(61):
        assert (table[find_slot(table, key)] == key) == (key in keys and key not in gone)
    assert np.count_nonzero(table != EMPTY) == len(keys) - len(gone)


def test_mass_is_what_it_was_before_the_write():
    state, before = small_state(3, 6), small_state(3, 6)
    block = learn(state, [(0, 1), (1, 2)])
    for row, item in enumerate((1, 2)):
        for place, bank in enumerate((state.session, state.taste)):
            unwrite(bank, item, block.routers[row, place], block.weights[row, place])
    for bank, old in ((state.session, before.session), (state.taste, before.taste)):
        assert np.allclose(bank.mass, old.mass, atol=1e-6)
        assert np.allclose(bank.total, old.total, atol=1e-5)


def test_an_item_that_leaves_takes_its_start_mass_with_it():
    state = small_state(3, 6)
    learn(state, [(0, 1), (1, 1), (0, 2)])
    empty_row(state.taste, 1)
    assert not state.taste.mass[1].any()
    assert np.allclose(state.taste.total, state.taste.mass.sum(axis=0, dtype=np.float64), atol=1e-5)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=60))
@settings(max_examples=20, deadline=None)
def test_a_users_own_sums_and_pairs_are_those_that_learning_made(items):
    state = small_state(1, 8)
    learn(state, [(0, item) for item in items])
    column = np.array(items, np.int64)
    first = np.zeros(len(items), np.bool_)
    first[np.unique(column, return_index=True)[1]] = True
    parts, sums = np.zeros((len(items), 8), np.float32), np.zeros((2, 8), np.float32)
    compute_own_sums(
        state.content[column], state.attributes[column], first, parts, sums[0], sums[1]
    )
    assert np.array_equal(sums[0], state.user_content[0])
    adopters = np.zeros_like(state.adopters)
    np.add.at(adopters, column, parts)
    assert np.allclose(adopters, state.adopters, atol=1e-6)
    pairs, weights = (
        np.empty((len(items) * CO_HISTORY, 2), np.int64),
        np.empty(len(items) * CO_HISTORY, np.float32),
    )
    count = fill_own_pairs(column, first, pairs, weights)
    together = (state.neighbour, state.together, state.neighbour_count, state.adoptions)
    add_together(*together, pairs[:count, 0], pairs[:count, 1], -weights[:count])
    add_together(*together, pairs[:count, 1], pairs[:count, 0], -weights[:count])
    left = [state.together[item, : state.neighbour_count[item]] for item in range(8)]
    assert all((np.abs(row) < 1e-5).all() for row in left)


def test_a_neighbour_that_leaves_moves_no_other():
    state = small_state(1, 6)
    learn(state, [(0, item) for item in (1, 2, 3, 4)])
    before = [
        other for other in state.neighbour[4, : state.neighbour_count[4]].tolist() if other != 2
    ]
    drop_neighbour(state.neighbour, state.together, state.neighbour_count, 6, 2)
    assert state.neighbour[4, : state.neighbour_count[4]].tolist() == before
    assert state.neighbour_count[2] == 0
