"""Reading is exact: what the two stages answer is what features and combiner say of every item, one
by one."""

import asyncio

import numpy as np
import pytest

from propagation.model import Interactions
from propagation.numbers import SEEN
from propagation.numbers.ranking.quantised_scores import LANES, bring_up_to_date
from propagation.numbers.ranking.rank import Asker, build_standpoint_for, count_adopters_by_router
from propagation.numbers.rules import (
    FEATURES,
    READ_ROUTERS,
    Feature,
    adjust_for_newcomers,
    compute_maturity,
    fill_features,
    find_adopter_bin,
    score,
    standardise,
)
from propagation.workflow.read.scoring import (
    CatalogueScorer,
    ReadBatcher,
    ReadRequest,
    list_communities,
)
from propagation.workflow.views import (
    OFF,
    ON,
    CorePool,
    NumbersOwner,
    NumbersView,
    draw_seeded_directions,
)

USERS, ITEMS, ROUTERS, DIMENSION = 30, 700, 40, 8
COLD = USERS - 1


def learn(view: NumbersView, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    users = rng.integers(0, USERS - 2, count)
    items = ((view.items - 100) * rng.random(count) ** 2).astype(np.int64)
    view.learn(
        Interactions(
            sequence=np.arange(count),
            user=users,
            item=items,
            negative=np.full(count, -1),
            weight=np.ones(count),
            seed=rng.integers(0, 1 << 63, count).astype(np.uint64),
            day=np.zeros(count, np.int64),
            time=np.zeros(count, np.uint32),
        ),
        view.applied_through + count,
    )


def make_view() -> NumbersView:
    view = NumbersView(
        draw_seeded_directions(ROUTERS, DIMENSION, 1),
        draw_seeded_directions(ROUTERS, DIMENSION, 2),
        seed=7,
        epoch=0,
    )
    view.add_users(USERS)
    vectors = draw_seeded_directions(ITEMS, DIMENSION, 3)
    for row in range(ITEMS):
        view.set_item(row, vectors[row], vectors[-row], visible=row % 50 != 0)
    view.set_profiles(
        [row << 1 for row in range(USERS)], draw_seeded_directions(USERS, DIMENSION, 5)
    )
    view.set_profiles(
        [row << 1 | 1 for row in range(ITEMS)], draw_seeded_directions(ITEMS, DIMENSION, 6)
    )
    learn(view, 1_500, seed=4)
    view.combiner.weights[ON, Feature.PROFILE, 0] = 0.4
    return view


@pytest.fixture(scope="module")
def view() -> NumbersView:
    return make_view()


def compute_exact_scores(view: NumbersView, user: int, arm: int) -> np.ndarray:
    """[items] by the definitions, -inf for what the user had and what is hidden."""
    raw = np.empty((view.items, FEATURES))
    values = np.empty_like(raw)
    fill_features(view.state, user, np.arange(view.items), 0.0, raw)
    standardise(view.combiner, raw, values)
    user_bin = compute_maturity(view.state.history_length[user]) if user >= 0 else 0
    combiner = view.combiner if user_bin else adjust_for_newcomers(view.combiner)
    out = np.array(
        [
            score(
                combiner, arm, values[item], user_bin, find_adopter_bin(view.state.adoptions[item])
            )
            for item in range(view.items)
        ]
    )
    out[~view.state.visible[: view.items]] = -np.inf
    return out


def list_adopted_items(view: NumbersView, user: int) -> set[int]:
    out, place = set(), view.state.seen_last[user]
    while place >= 0:
        out.add(int(view.state.seen_item[place]))
        place = view.state.seen_before[place]
    return out


@pytest.mark.parametrize("arm", [ON, OFF])
@pytest.mark.parametrize("user", [0, 7, 21, COLD, -1])
def test_the_best_of_the_catalogue_are_the_best_by_definition(view, user, arm):
    (read,) = CatalogueScorer(CorePool(1)).read(view, [ReadRequest(user, arm, limit=20)])
    scores = compute_exact_scores(view, user, arm)
    seen = list_adopted_items(view, user) if user >= 0 else set()
    scores[list(seen)] = -np.inf
    assert np.allclose(read.ranked.scores, np.sort(scores)[::-1][:20], atol=1e-5)
    assert np.allclose(read.ranked.scores, scores[read.ranked.rows], atol=1e-5)
    assert np.allclose((read.ranked.values * read.ranked.weights).sum(axis=1), read.ranked.scores)
    assert read.cold is (user in (COLD, -1))


def test_a_newcomer_is_shown_what_is_popular_whatever_others_taught():
    """Users who know all that is popular choose the rest: the weight falls below 0, and would turn
    a newcomer's list over."""
    view = make_view()
    for feature in (Feature.POPULARITY, Feature.RECENT):
        view.combiner.weights[:, feature, :5] = -0.8
    newcomer, other = (
        CatalogueScorer(CorePool(1)).read(view, [ReadRequest(user, OFF, limit=10)])[0].ranked
        for user in (-1, 0)
    )
    popular = np.sort(view.state.adoptions)[::-1]
    assert view.state.adoptions[newcomer.rows].min() >= popular[40]
    assert view.state.adoptions[other.rows].max() < popular[40]
    assert np.allclose((newcomer.values * newcomer.weights).sum(axis=1), newcomer.scores)


def test_one_batch_answers_like_one_by_one(view):
    asks = [ReadRequest(user, ON, limit=10) for user in range(8)]
    together = CatalogueScorer(CorePool(1)).read(view, asks)
    for ask, read in zip(asks, together, strict=True):
        assert list(read.ranked.rows) == list(
            CatalogueScorer(CorePool(1)).read(view, [ask])[0].ranked.rows
        )


def test_the_sketch_is_near_the_score_of_every_item(view):
    for user in (3, 11, COLD):
        reader = CatalogueScorer(CorePool(1))
        askers = [Asker(user, ON, np.ones(ROUTERS), np.zeros((2, DIMENSION), np.float32), 0.0)]
        combiner = adjust_for_newcomers(view.combiner) if user == COLD else view.combiner
        (scores,) = reader._compute_scores(view, askers, [combiner], [0])
        want = compute_exact_scores(view, user, ON)
        assert not view.state.near_slow.any()
        raw = np.empty((ITEMS, FEATURES))
        fill_features(view.state, user, np.arange(ITEMS), 0.0, raw)
        alone = (raw[:, Feature.KNN_SLOW] == raw[:, Feature.KNN_SLOW].min()) & np.isfinite(want)
        assert np.abs(scores[:ITEMS][alone] - want[alone]).max() < 0.05
        assert (scores[ITEMS:] == -np.inf).all()


def test_a_sketch_that_follows_equals_a_new_one():
    view = make_view()
    sketch = bring_up_to_date(None, view.state, view.take_changed_items())
    learn(view, 100, seed=9)
    vectors = draw_seeded_directions(20, DIMENSION, 10)
    for row in (3, *range(ITEMS, ITEMS + 12)):
        view.set_item(row, vectors[row % 20], vectors[row % 20], visible=row % 2 == 0)
    sketch = bring_up_to_date(sketch, view.state, view.take_changed_items())
    new = bring_up_to_date(None, view.state, np.empty(0, np.int64))
    for name in ("levels", "scale", "popular", "prior", "offset", "bin", "recent"):
        assert np.array_equal(getattr(sketch, name), getattr(new, name)), name


def test_more_items_than_the_room_make_a_new_sketch():
    view = make_view()
    reader = CatalogueScorer(CorePool(1))
    reader.read(view, [ReadRequest(0, ON, limit=5)])
    vectors = draw_seeded_directions(1, DIMENSION, 11)
    for row in range(ITEMS, 1_100):
        view.set_item(row, vectors[0], vectors[0], visible=True)
    (read,) = reader.read(view, [ReadRequest(0, ON, limit=1_100, leave_seen=False)])
    assert len(read.ranked.rows) == view.state.visible[:1_100].sum()


def test_equal_scores_are_ordered_by_a_hash_of_user_and_item(view):
    tied = np.arange(ITEMS - 90, ITEMS - 10)
    state = view.state
    kept = (
        state.content[tied].copy(),
        state.attributes[tied].copy(),
        state.item_profile[tied].copy(),
    )
    for array in (state.content, state.attributes, state.item_profile):
        array[tied] = 0.0
    try:
        first, again, other = (
            list(
                CatalogueScorer(CorePool(1))
                .read(view, [ReadRequest(user, OFF, limit=30, candidates=tied)])[0]
                .ranked.rows
            )
            for user in (COLD, COLD, COLD - 1)
        )
        backwards = list(
            CatalogueScorer(CorePool(1))
            .read(view, [ReadRequest(COLD, OFF, limit=30, candidates=tied[::-1].copy())])[0]
            .ranked.rows
        )
        assert first == again == backwards
        assert first != other
        assert first != sorted(first)
        assert first != sorted(first, reverse=True)
    finally:
        state.content[tied], state.attributes[tied], state.item_profile[tied] = kept


def test_rows_left_out_and_rows_allowed(view):
    (plain,) = CatalogueScorer(CorePool(1)).read(view, [ReadRequest(2, ON, limit=5)])
    gone = plain.ranked.rows[:2]
    (read,) = CatalogueScorer(CorePool(1)).read(view, [ReadRequest(2, ON, limit=5, left_out=gone)])
    assert list(read.ranked.rows[:3]) == list(plain.ranked.rows[2:])
    allowed = np.zeros(ITEMS, np.bool_)
    allowed[gone] = True
    for ask in (
        ReadRequest(2, ON, limit=5, allowed=allowed),
        ReadRequest(2, ON, limit=5, candidates=gone),
    ):
        assert list(CatalogueScorer(CorePool(1)).read(view, [ask])[0].ranked.rows) == list(gone)


def test_filter_rules_bend_the_taste_weights_before_the_largest_are_taken(view):
    factors = np.ones(ROUTERS)
    factors[[4, 9]] = 4.0, 0.25
    own = np.zeros((2, DIMENSION), np.float32)
    standpoint = build_standpoint_for(view.state, Asker(5, ON, factors, own, 0.0))
    logits = view.state.taste.sharpness * view.state.taste.trust[5].astype(np.float64)
    bent = np.exp(logits) * factors
    largest = np.argsort(-bent)[:READ_ROUTERS]
    want = dict(zip(largest, bent[largest] / bent[largest].sum(), strict=True))
    got = dict(zip(*standpoint.taste, strict=True))
    assert got.keys() == want.keys()
    assert all(got[router] == pytest.approx(want[router], rel=1e-6) for router in want)
    plain = build_standpoint_for(view.state, Asker(5, ON, np.ones(ROUTERS), own, 0.0))
    assert np.array_equal(standpoint.session[1], plain.session[1])


def test_each_adopter_counts_once_for_its_strongest_router(view):
    items = np.array([0, 1, 2, 650])
    out = np.zeros((len(items), 2, ROUTERS), np.int64)
    state, learned = view.state, view.state.clock[SEEN]
    count_adopters_by_router(
        state.seen_item[:learned], state.seen_router[:learned], view.items, items, out
    )
    assert np.array_equal(out.sum(axis=2), np.repeat(view.state.adoptions[items, None], 2, axis=1))
    session, taste = list_communities(
        view, Asker(5, ON, np.ones(ROUTERS), np.zeros((2, DIMENSION), np.float32), 0.0), items
    )
    assert taste.shares.sum() == pytest.approx(1)
    assert (np.diff(session.shares) <= 0).all()
    assert taste.adopters.shape == taste.lifts.shape == (len(items), READ_ROUTERS)


def test_scores_come_in_whole_blocks(view):
    sketch = bring_up_to_date(None, view.state, view.take_changed_items())
    assert sketch.offset.shape[1] == LANES
    assert np.isfinite(sketch.offset).sum() == view.state.visible[:ITEMS].sum()


async def test_a_brief_read_takes_the_view_where_it_is_free_and_waits_where_it_is_not(monkeypatch):
    numbers = NumbersOwner(make_view())
    readings, ran = ReadBatcher(numbers), []
    run = numbers.run
    monkeypatch.setattr(numbers, "run", lambda *work: (ran.append(1), run(*work))[1])
    try:
        first = await readings.read(ReadRequest(3, ON, limit=10))
        assert ran, "the sketch has everything to follow yet"
        ran.clear()
        brief = await readings.read(ReadRequest(3, ON, limit=10))
        assert not ran
        with numbers.try_borrow() as mine:
            assert mine is numbers.view
            waiting = asyncio.create_task(readings.read(ReadRequest(3, ON, limit=10)))
            await asyncio.sleep(0.01)
            assert not waiting.done()
        waited = await waiting
        assert list(first.ranked.rows) == list(brief.ranked.rows) == list(waited.ranked.rows)
        ran.clear()
        for large in (
            ReadRequest(3, ON, limit=200),
            ReadRequest(3, ON, limit=10, candidates=np.arange(600)),
            ReadRequest(3, ON, limit=10, explain=True),
        ):
            await readings.read(large)
        assert len(ran) == 3
    finally:
        numbers.close()


def test_the_view_is_free_again_after_a_reader_that_fails():
    numbers = NumbersOwner(make_view())
    try:
        with pytest.raises(ValueError, match="broken"), numbers.try_borrow():
            raise ValueError("broken")
        with numbers.try_borrow() as view:
            assert view is numbers.view
            with numbers.try_borrow() as nothing:
                assert nothing is None
    finally:
        numbers.close()
