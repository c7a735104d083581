"""Limits: what a user may write in a day, and how many adopters an item's router part needs to be
read."""

import numpy as np
import pytest

from propagation.model import Interactions
from propagation.numbers import LEAST_SUPPORT, MASS_A_DAY
from propagation.numbers.rules import FEATURES, Feature, fill_features
from propagation.workflow.read.scoring import CatalogueScorer, ReadRequest
from propagation.workflow.views import CorePool, NumbersView, draw_seeded_directions
from tests.unit.numbers.states import K, learn, small_state

USERS, ITEMS = 6, 90


def events(*rows, day=0, weight=1.0):
    """Interactions of (user, item) on one day."""
    column = np.arange(len(rows))
    users, items = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    return Interactions(
        sequence=column + 1,
        user=users,
        item=items,
        negative=np.full(len(rows), -1),
        weight=np.full(len(rows), weight),
        seed=column.astype(np.uint64),
        day=np.full(len(rows), day),
        time=np.zeros(len(rows), np.uint32),
    )


def make_view(limits):
    view = NumbersView(
        draw_seeded_directions(K, 8, 1), draw_seeded_directions(K, 8, 2), 7, epoch=0, limits=limits
    )
    view.add_users(USERS)
    for row, vector in enumerate(draw_seeded_directions(ITEMS, 8, 3)):
        view.set_item(row, vector, vector, visible=True)
    return view


def test_a_users_mass_of_a_day_is_capped_and_the_next_day_is_its_own():
    view = make_view((1, 2.5))
    monday = view.learn(events((0, 1), (0, 2), (0, 3), (0, 4), (1, 1)), 5)
    tuesday = view.learn(events((0, 5), (0, 6), day=1), 7)
    for block, wanted in ((monday, [1, 1, 0.5, 0, 1]), (tuesday, [1, 1])):
        for bank in (0, 1):
            assert block.weights[:, bank].sum(axis=1) == pytest.approx(wanted, abs=1e-5)
    assert view.state.adoptions[[1, 3, 4]].tolist() == [2, 1, 1]


def test_a_follower_spends_the_same_mass():
    learner, follower, again = (make_view((1, 2.5)) for _ in range(3))
    for part in (
        events((0, 1), (0, 2), (0, 3)),
        events((0, 4), (1, 4), weight=2.0),
        events((0, 5), day=1),
    ):
        through = learner.applied_through + len(part)
        block = learner.learn(part, through)
        follower.follow(part, block)
        again.relearn(part, block)
    for other in (follower, again):
        assert np.array_equal(learner.state.day_mass, other.state.day_mass)
        assert np.array_equal(learner.state.day, other.state.day)
        assert np.array_equal(learner.state.taste.total, other.state.taste.total)


def test_below_the_least_support_an_item_has_no_lift_and_teaches_no_trust():
    state = small_state(USERS, ITEMS)
    state.limits[LEAST_SUPPORT] = 3
    block = learn(state, [(0, 1), (1, 1), (2, 1), (3, 1)])
    assert not block.trust[:3].any()
    assert block.trust[3].any()
    out = np.empty((2, FEATURES))
    fill_features(state, 3, np.array([1, 2]), 0.0, out)
    lift = [Feature.LIFT_SESSION, Feature.LIFT_TASTE]
    assert out[0, lift].all()
    assert not out[1, lift].any()


def test_the_short_list_knows_of_withheld_parts():
    view = make_view((3, 0))
    draw = np.random.default_rng(5)
    view.learn(
        events(*zip(draw.integers(0, USERS, 200), draw.integers(0, ITEMS // 2, 200), strict=True)),
        200,
    )
    view.combiner.weights[0, [Feature.LIFT_SESSION, Feature.LIFT_TASTE], 0] = 3.0
    whole = (
        CatalogueScorer(CorePool(1)).read(view, [ReadRequest(user=1, arm=0, limit=ITEMS)])[0].ranked
    )
    candidates = ReadRequest(user=1, arm=0, limit=ITEMS, candidates=np.arange(ITEMS))
    exact = CatalogueScorer(CorePool(1)).read(view, [candidates])[0].ranked
    assert whole.rows.tolist() == exact.rows.tolist()
    assert (view.state.adoptions[whole.rows] < 3).any()


def test_no_limit_is_no_difference():
    one, other = small_state(USERS, ITEMS), small_state(USERS, ITEMS)
    other.limits[MASS_A_DAY] = 1e9
    draw = np.random.default_rng(2)
    pairs = [
        (int(user), int(item))
        for user, item in zip(draw.integers(0, USERS, 80), draw.integers(0, ITEMS, 80), strict=True)
    ]
    assert np.array_equal(learn(one, pairs).weights, learn(other, pairs).weights)
