"""Taking the taste bank back to T gives the state of T, and running it forward again gives the
readings that were."""

import numpy as np
import pytest

from propagation.numbers.rules import FEATURES, fill_features
from propagation.workflow.evolve.holdout import (
    Holdout,
    replay_holdout,
    rewind_snapshot,
    take_snapshot,
)
from propagation.workflow.views.numbers_view import create_live_combiner
from tests.unit.numbers.states import DIMENSION, K, learn, small_state

USERS, ITEMS, PAST, HELD = 12, 40, 300, 80


class View:
    """What take_snapshot reads of a view."""

    def __init__(self, state):
        self.state, self.combiner = state, create_live_combiner()
        self.users, self.items, self.applied_through, self.epoch = USERS, ITEMS, PAST + HELD, 1


def draw_pairs(seed, count):
    draw = np.random.default_rng(seed)
    return [(int(draw.integers(USERS)), int(draw.integers(ITEMS))) for _ in range(count)]


@pytest.fixture
def past_and_tail():
    """(the state at T, a view 80 interactions later, their tail, taste readings as they were)"""
    state = small_state(USERS, ITEMS)
    learn(state, draw_pairs(1, PAST))
    earlier = state._replace(
        taste=state.taste._replace(
            mass=state.taste.mass.copy(),
            trust=state.taste.trust.copy(),
            total=state.taste.total.copy(),
        ),
        adoptions=state.adoptions.copy(),
        totals=state.totals.copy(),
        user_content=state.user_content.copy(),
    )
    events, blocks, readings = draw_pairs(2, HELD), [], np.zeros((HELD, 2))
    for place, (user, item) in enumerate(events):
        raw = np.empty((2, FEATURES))
        fill_features(state, user, np.array([item, (item + 1) % ITEMS]), 0.0, raw)
        readings[place] = raw[:, 8]
        blocks.append(learn(state, [(user, item)], first_seed=1_000 + place))
    users, items = (np.array(column, np.int64) for column in zip(*events, strict=True))
    tail = Holdout(
        judged_from=PAST,
        users=users,
        items=items,
        negatives=(items + 1) % ITEMS,
        weights=np.ones(HELD),
        routers=np.concatenate([block.routers[:, 1] for block in blocks]).astype(np.int64),
        written=np.concatenate([block.weights[:, 1] for block in blocks]).astype(np.float64),
        scores=np.concatenate([block.scores for block in blocks]),
    )
    return earlier, View(state), tail, readings


def test_taken_back_it_is_the_state_of_then(past_and_tail):
    earlier, view, tail, _ = past_and_tail
    sight = take_snapshot(view, tail)
    rewind_snapshot(sight)
    assert sight.known.all()
    assert sight.mass == pytest.approx(earlier.taste.mass, abs=1e-5)
    assert sight.tastes.total == pytest.approx(earlier.taste.total, rel=1e-9)
    assert sight.tastes.trust == pytest.approx(earlier.taste.trust[sight.tastes.rows], abs=1e-3)
    assert sight.adoptions.tolist() == earlier.adoptions.tolist()
    assert sight.tastes.totals.tolist() == earlier.totals.tolist()
    assert sight.content == pytest.approx(earlier.user_content, abs=1e-4)
    assert sight.content.shape == (USERS, DIMENSION)


def test_run_forward_it_reads_what_was_read(past_and_tail):
    _, view, tail, readings = past_and_tail
    sight = take_snapshot(view, tail)
    rewind_snapshot(sight)
    again, bins = replay_holdout(sight.tastes, sight)
    assert again == pytest.approx(readings, abs=2e-3)
    assert bins.min() >= 0
    assert sight.tastes.mass == pytest.approx(view.state.taste.mass[sight.items], abs=1e-3)
    assert len(sight.tastes.total) == K
