"""Compile every kernel that serving needs, once, on a state of three items."""

import numpy as np

from propagation.numbers.combiner import START_WEIGHT, new_combiner
from propagation.numbers.features import FEATURES
from propagation.numbers.learn import apply_block, learn_block
from propagation.numbers.mass import start_mass
from propagation.numbers.state import ITEMS, USERS, State, new_state

ITEM_COUNT, K, DIMENSION = 6, 4, 4


def _small_state() -> State:
    centres = np.eye(K, DIMENSION, dtype=np.float32)
    state = new_state(centres, centres, 0, users=4, items=8, seen=16)
    state.clock[USERS], state.clock[ITEMS], state.totals[1] = 1, ITEM_COUNT, ITEM_COUNT
    state.visible[:ITEM_COUNT] = True
    for item in range(ITEM_COUNT):
        start_mass(state.session, item, state.content[item])
        start_mass(state.taste, item, state.content[item])
    return state


def compile_kernels() -> None:
    """Learn and follow two events: afterwards the compiled code is in numba's cache. With the types of a learn commit."""
    users, items, given = np.zeros(2, np.int64), np.arange(2), np.full(2, -1)
    combiner = new_combiner(np.ones((2, FEATURES)), np.full(FEATURES, START_WEIGHT))
    trust = np.empty((2, 2, K), np.float32)
    routers, weights = np.empty((2, 2, 16), np.uint16), np.empty((2, 2, 16), np.float32)
    learn_block(_small_state(), combiner, users, items, given, np.ones(2), np.arange(2, dtype=np.uint64),
                np.empty((2, 4), np.int32), np.empty((2, 2), np.float32), np.empty((2, 5), np.float32), trust, routers, weights)
    apply_block(_small_state(), users, items, trust, routers, weights)
