"""The learned factors: the history factor, the taste vector, and what they learn again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.model import FactorSettings
from propagation.numbers import ITEM_TABLES, SEEN, create_factors, with_room
from propagation.numbers.factors import list_history
from propagation.numbers.factors.history_factor import fade_by_seconds, learn_choice
from propagation.numbers.factors.taste_vector import step_pair
from propagation.numbers.rules import FEATURES, Feature, fill_features
from propagation.workflow.forget.factor_relearning import relearn
from propagation.workflow.learn import restore_view, take_checkpoint
from tests.unit.numbers.states import learn, list_arrays, small_state
from tests.unit.numbers.views import ITEMS as VIEW_ITEMS
from tests.unit.numbers.views import erase_item, learn_events, make_view, withdraw_user

WIDTH, ITEMS = 6, 9
SETTINGS = FactorSettings(WIDTH, WIDTH, 2, 2, 4, 2, by_seconds=True)
A_DAY = 86_400


def make_factors(seed=1):
    """Tables of random numbers, so that no step is zero."""
    factors = create_factors(SETTINGS, np.uint64(seed), users=3, items=ITEMS)
    rng = np.random.default_rng(seed)
    for name in ("target", "liked", "bias", "liked_bias"):
        table = getattr(factors, name)
        table[:] = rng.standard_normal(table.shape).astype(np.float32)
    return factors


@pytest.mark.parametrize(
    ("now", "then", "weight"),
    [(100, 100, 1.0), (130, 100, 0.5), (100, 130, 1.0), (190, 100, 0.25)],
)
def test_a_choice_counts_half_after_thirty_seconds(now, then, weight):
    assert fade_by_seconds(float(now), np.uint32(then)) == weight


def test_after_a_day_the_moment_of_reading_makes_no_difference():
    late = [fade_by_seconds(float(A_DAY * days), np.uint32(0)) for days in (1, 2, 4_000)]
    assert len(set(late)) == 1


def test_history_weights_by_hand():
    """Three choices at 0, 30 and 60 s, read at 60 s: the newest first."""
    items = np.array([7, 8, 5], np.int32)
    times = np.array([0, 30, 60], np.uint32)
    rows, shares = list_history(items, times, np.array([-1, 0, 1]), 2, 60.0)
    assert rows.tolist() == [5, 8, 7]
    long = np.array([1, 0.995, 0.995**2])
    now = np.array([1, 0.97 / 2, 0.97**2 / 3])
    assert shares[0] == pytest.approx(long / np.sqrt(long.sum()), rel=1e-6)
    assert shares[1] == pytest.approx(now / np.sqrt(now.sum()), rel=1e-6)


def test_one_step_of_the_history_factor_as_docs_numbers_writes_it():
    factors, expected = make_factors(), make_factors()
    rows, chosen, negatives = np.array([0, 1]), 2, np.array([3, 4, 5, 6])
    shares = np.array([[0.7, 0.6], [0.8, 0.01]], np.float32)
    learn_choice(factors, rows, shares, chosen, negatives)

    p_long, p_now, q = (
        getattr(expected, name).astype(np.float64) for name in ("long", "now", "target")
    )
    b, squares = expected.bias.astype(np.float64), expected.squares.astype(np.float64)
    x = shares[0] @ p_long[rows] + shares[1] @ p_now[rows]
    scores = q @ x + b
    p = 1 / (1 + np.exp(scores[chosen] - scores[negatives])) / 4
    g = p.sum() * q[chosen] - p @ q[negatives]
    for item, slope in ((chosen, p.sum()), *zip(negatives, -p, strict=True)):
        squares[item, 2] += slope**2 * (x @ x) / WIDTH
        q[item] += 0.1 / np.sqrt(squares[item, 2]) * (slope * x - 0.06 * abs(slope) * q[item])
        step = slope - 0.06 * abs(slope) * b[item]
        squares[item, 3] += step**2
        b[item] += 0.1 * step / np.sqrt(squares[item, 3])
    for which, table in enumerate((p_long, p_now)):
        for place, item in enumerate(rows):
            share = float(shares[which, place])
            if share > 0.02:
                squares[item, which] += share**2 * (g @ g) / WIDTH
                rate = 0.1 * share / np.sqrt(squares[item, which])
                table[item] += rate * (g - 0.06 * p.sum() * table[item])
    for name, value in (("long", p_long), ("now", p_now), ("target", q), ("bias", b)):
        assert getattr(factors, name) == pytest.approx(value, abs=1e-5), name
    assert factors.squares == pytest.approx(squares, abs=1e-5)


def test_one_step_of_the_taste_vector_as_docs_numbers_writes_it():
    factors, before = make_factors(), make_factors()
    step_pair(factors, 1, 2, 3)
    v, q, b = (
        getattr(before, name).astype(np.float64) for name in ("taste", "liked", "liked_bias")
    )
    g = 0.05 / (1 + np.exp(v[1] @ q[2] + b[2] - v[1] @ q[3] - b[3]))
    assert factors.taste[1] == pytest.approx(v[1] + g * (q[2] - q[3]) - 0.0005 * v[1], abs=1e-6)
    assert factors.liked[2] == pytest.approx(q[2] + g * v[1] - 0.0005 * q[2], abs=1e-6)
    assert factors.liked[3] == pytest.approx(q[3] - g * v[1] - 0.0005 * q[3], abs=1e-6)
    assert factors.liked_bias[2] == pytest.approx(b[2] + g - 0.0005 * b[2], abs=1e-6)
    assert factors.liked_bias[3] == pytest.approx(b[3] - g - 0.0005 * b[3], abs=1e-6)


def test_a_value_that_is_not_finite_is_skipped_and_counted():
    factors = make_factors()
    factors.target[2] = np.inf
    before = factors.long.copy()
    learn_choice(factors, np.array([0]), np.ones((2, 1), np.float32), 2, np.array([3, 4], np.int64))
    assert factors.skipped[0] == 1
    assert np.array_equal(factors.long, before)


@pytest.mark.parametrize("table", ["taste", "liked", "liked_bias"])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_step_of_a_taste_vector_that_is_not_finite_is_skipped_and_counted(table, value):
    factors = make_factors()
    getattr(factors, table)[2] = value
    before = [getattr(factors, name).copy() for name in ("taste", "liked", "liked_bias")]
    step_pair(factors, 2, 2, 3)
    assert factors.skipped[0] == 1
    for name, table_before in zip(("taste", "liked", "liked_bias"), before, strict=True):
        assert np.array_equal(getattr(factors, name), table_before, equal_nan=True)


def test_a_user_without_history_has_neither_feature():
    state = small_state(4, 12)
    learn(state, [(1, 2), (1, 3), (2, 3)])
    raw = np.empty((3, FEATURES))
    fill_features(state, 0, np.array([1, 2, 3]), 0.0, raw)
    assert not raw[:, [Feature.HISTORY, Feature.TASTE]].any()
    fill_features(state, 1, np.array([1, 2, 3]), 0.0, raw)
    assert raw[:, Feature.HISTORY].any()
    assert raw[:, Feature.TASTE].any()


def test_a_catalogue_of_one_item():
    state = small_state(3, 1)
    learn(state, [(0, 0), (1, 0), (2, 0), (0, 0)])
    for name, table in list_arrays(state).items():
        if name.startswith("factors."):
            assert np.isfinite(table).all(), name


TIMES = st.one_of(
    st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2**32 - 1]), st.integers(10**9, 10**9 + 90)
)
ODD = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(0, 19), TIMES, st.sampled_from([0.001, 0.3, 1.0, 10.0])
    ),
    min_size=1,
    max_size=60,
)


@given(ODD)
@settings(max_examples=30, deadline=None)
def test_any_times_and_weights_leave_finite_tables_that_a_follower_and_a_restart_share(rows):
    learner, follower = make_view(), make_view()
    for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
        block, events = learn_events(learner, part)
        follower = restore_view(take_checkpoint(follower, barrier=False), follower.seed)
        follower.follow(events, block)
    theirs = list_arrays(follower.state)
    for name, table in list_arrays(learner.state).items():
        if name.startswith("factors.") or name.startswith("seen_"):
            used = len(table) if name == "seen_set" else None
            mine, other = table[:used], theirs[name][:used]
            size = min(len(mine), len(other))
            if name != "seen_set":
                assert np.array_equal(mine[:size], other[:size]), name
            if name.startswith("factors."):
                assert np.isfinite(table).all(), name


@given(ODD)
@settings(max_examples=20, deadline=None)
def test_the_list_of_adoptions_alone_gives_the_tables(rows):
    view = make_view()
    learn_events(view, rows)
    before = {name: table.copy() for name, table in list_arrays(view.state).items()}
    assert relearn(view) == view.state.clock[SEEN]
    for name, table in list_arrays(view.state).items():
        if name.startswith("factors."):
            assert np.array_equal(table, before[name]), name


@given(ODD, st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_after_an_erasure_and_relearning_the_tables_are_those_that_never_saw_the_user(rows, user):
    saw, never = make_view(), make_view()
    learn_events(saw, rows)
    left = [row for row in rows if row[0] != user]
    if left:
        learn_events(never, left)
    withdraw_user(saw, rows, user)
    own = saw.state.factors.taste[user]
    assert np.array_equal(own, make_view().state.factors.taste[user]), "the vector goes at once"
    assert user not in saw.state.seen_user[: saw.state.clock[SEEN]], "so do the adoptions"
    assert bool(saw.state.factors.withdrawn[0]) == (len(left) < len(rows))
    relearn(saw)
    theirs = list_arrays(never.state)
    for name, table in list_arrays(saw.state).items():
        if name.startswith("factors."):
            assert np.array_equal(table, theirs[name]), name


REMOVED = VIEW_ITEMS - 1
WITHOUT_REMOVED = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(0, REMOVED - 1), TIMES, st.sampled_from([0.3, 1.0, 10.0])
    ),
    min_size=4,
    max_size=60,
)


def assert_empty(view, item):
    """Assert that an item's rows are as before anything was learned."""
    fresh = make_view().state.factors
    for name in ITEM_TABLES:
        row = getattr(view.state.factors, name)[item]
        assert np.array_equal(row, getattr(fresh, name)[item]), name


def assert_same_factors(one, other):
    theirs = list_arrays(other.state)
    for name, table in list_arrays(one.state).items():
        if name.startswith("factors.") and name != "factors.withdrawn":
            assert np.array_equal(table, theirs[name]), name


@given(WITHOUT_REMOVED)
@settings(max_examples=20, deadline=None)
def test_a_removed_item_is_drawn_neither_live_nor_when_the_tables_are_learned_again(rows):
    learner, half = make_view(), len(rows) // 2
    learn_events(learner, rows[:half])
    erase_item(learner, REMOVED)
    assert learner.state.factors.withdrawn[0] == 1, "what it did to other rows goes in the night"
    barrier = take_checkpoint(learner, barrier=True)
    older = take_checkpoint(learner, barrier=True)
    del older.arrays["present"]
    followers = [restore_view(one, learner.seed) for one in (barrier, older)]
    assert followers[1].state.factors.withdrawn[0] == 2, "its rows may have been drawn since"
    block, events = learn_events(learner, rows[half:])
    assert_empty(learner, REMOVED)
    for follower in followers:
        follower.follow(events, block)
        assert_same_factors(learner, follower)
    relearn(learner)
    assert_empty(learner, REMOVED)
    assert not learner.state.factors.withdrawn[0]
    learned_at_once = {name: table.copy() for name, table in list_arrays(learner.state).items()}
    relearn(learner)
    for name, table in list_arrays(learner.state).items():
        assert np.array_equal(table, learned_at_once[name], equal_nan=True), name


def test_rows_start_alike_whatever_the_capacity():
    small, large = small_state(2, 3), with_room(small_state(2, 3), 50, 40, 5_000)
    for name in ("long", "now"):
        assert np.array_equal(
            getattr(small.factors, name), getattr(large.factors, name)[: len(small.adoptions)]
        )
    assert abs(float(large.factors.long.std()) - 0.1) < 0.01
