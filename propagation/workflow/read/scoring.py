"""Scoring of items for users, over one view of the numbers.

The items are the catalogue or given candidates. Requests that wait are answered together, in one
pass over the catalogue.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from propagation.call_batcher import CallBatcher
from propagation.numbers import SEEN, is_withheld
from propagation.numbers.factors import list_history
from propagation.numbers.ranking.quantised_scores import (
    BINS,
    LANES,
    PARTS,
    Sketch,
    add_factors,
    bring_up_to_date,
    count_unfollowed,
    create_empty_sketch,
    score_blocks,
)
from propagation.numbers.ranking.rank import (
    SLOPES,
    Asker,
    Ranked,
    build_standpoint_for,
    count_adopters_by_router,
    prepare,
    rank,
)
from propagation.numbers.rules import (
    FEATURES,
    RECENT_FLOOR,
    Combiner,
    Feature,
    adjust_for_newcomers,
    compute_lifts,
    share_of,
)
from propagation.numbers.rules.neighbours import list_past_items
from propagation.workflow.views import CorePool, NumbersOwner, NumbersView

SHORTLIST, SHORTLIST_A_PLACE = 48, 4
BANKS = 2
NEWEST = 15
NEAR_ITEMS = 5
LEAST_LENGTH = 1e-12
ROUNDING = 1e-3  # weights of co-adoptions and recent adoptions are sums of 32-bit numbers
EMPTY_ROWS = np.empty(0, np.int64)
EVERYTHING = np.empty(0, np.bool_)
NO_SCORES = np.empty(0, np.float32)


@dataclass(frozen=True)
class ReadRequest:
    """One read of the numbers for one user.

    Attributes:
        user: Row of the user; -1 for a user without one.
        arm: ON (with propagation) or OFF.
        limit: How many items to rank.
        factors: [K taste] f64, filter-rule factors of the taste routers; None: no rule.
        own: [2,D] f32, content and attribute vectors of the user's own text; None: no text.
        candidates: Item rows to rank; None: the whole catalogue.
        allowed: bool by item row; empty: all.
        left_out: Item rows that are not ranked.
        leave_seen: Leave out the items that the user already had.
        explain: Add the communities, users and item profiles to the result.
        least_users: Communities' adopters and lifts that rest on fewer users are set to 0.
        now: The moment of the read, in seconds since 1970; 0: only the order of the user's choices
            counts, not how long ago they were.
    """

    user: int
    arm: int
    limit: int
    factors: NDArray[np.float64] | None = None
    own: NDArray[np.float32] | None = None
    candidates: NDArray[np.int64] | None = None
    allowed: NDArray[np.bool_] = field(default_factory=lambda: EVERYTHING)
    left_out: NDArray[np.int64] = field(default_factory=lambda: EMPTY_ROWS)
    leave_seen: bool = True
    explain: bool = False
    least_users: int = 0
    now: float = 0.0


@dataclass(frozen=True)
class BankCommunities:
    """Communities of one bank that a user reads by.

    Attributes:
        routers: [R] by descending share.
        shares: [R] pi, 0 to 1.
        lifts: [n,R] lift (ln) of each item in each router.
        adopters: [n,R] how many users' adoptions of the item wrote most to the router.
    """

    routers: NDArray[np.int64]
    shares: NDArray[np.float64]
    lifts: NDArray[np.float64]
    adopters: NDArray[np.int64]


@dataclass(frozen=True)
class ReadResult:
    """Ranked items of one read.

    Attributes:
        applied_through: Sequence that the numbers reflect.
        cold: The user has no history.
        communities: Session and taste bank; empty unless the request asks to explain.
        item_profiles: [n,D] f32 profile vectors of the ranked items, if explained.
        users: [n,F] at least how many users' events each feature rests on, if explained.
        history: [h] item rows of the user's history, newest first, if explained; likewise
            history_parts [n,2,h], what each adds to the ranked items' history factor, over the long
            run and in this session.
        near_taste: The items nearest to the user's taste vector, with their cosines, if explained.
    """

    ranked: Ranked
    applied_through: int
    cold: bool
    communities: tuple[BankCommunities, ...] = ()
    item_profiles: NDArray[np.float32] | None = None
    users: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    history: NDArray[np.int64] = field(default_factory=lambda: EMPTY_ROWS)
    history_parts: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 2, 0), "f4"))
    near_taste: Sequence[tuple[int, float]] = ()


class CatalogueScorer:
    """Scores all items roughly, and a short list exactly.

    The rough scores of the first stage are quantised. The scorer runs on the thread that owns the
    view; its first stage uses other threads as well.
    """

    def __init__(self, cores: CorePool) -> None:
        self._cores = cores
        self._total: NDArray[np.float64] | None = None
        self._sketch: Sketch | None = None

    def read(self, view: NumbersView, requests: Sequence[ReadRequest]) -> list[ReadResult]:
        """Answer requests, in their order."""
        askers = [_build_asker(view, request) for request in requests]
        cold = [
            bool(asker.user < 0 or not view.state.history_length[asker.user]) for asker in askers
        ]
        newcomers = adjust_for_newcomers(view.combiner) if any(cold) else view.combiner
        combiners = [newcomers if is_cold else view.combiner for is_cold in cold]
        whole = [
            place
            for place, request in enumerate(requests)
            if request.candidates is None and view.items
        ]
        scores = dict(zip(whole, self._compute_scores(view, askers, combiners, whole), strict=True))
        results = []
        for place, (asker, combiner, request) in enumerate(
            zip(askers, combiners, requests, strict=True)
        ):
            ranked = (
                self._rank(view, combiner, asker, request, scores[place])
                if place in scores
                else _rank_rows(view, combiner, asker, request)
            )
            results.append(_build_result(view, asker, request, ranked, cold=cold[place]))
        return results

    def _compute_scores(
        self,
        view: NumbersView,
        askers: Sequence[Asker],
        combiners: Sequence[Combiner],
        chosen: Sequence[int],
    ) -> Iterable[NDArray[np.float32]]:
        """Compute quantised scores of all items for some of the askers.

        Args:
            chosen: Places of these askers.

        Returns:
            Scores [chosen askers, items], with the number of items rounded up to whole blocks.
        """
        if not chosen:
            return ()
        sketch = self._get_current_sketch(view)
        queries = len(chosen)
        width = max(end - begin for begin, end in pairwise(sketch.bounds.tolist())) + 4
        places = np.zeros((queries, PARTS, width), np.int64)
        weights = np.zeros((queries, PARTS, width), np.float32)
        counts = np.zeros((queries, PARTS), np.int64)
        slopes = np.zeros((queries, SLOPES, BINS), np.float32)
        factors = view.state.factors
        histories = np.zeros((queries, factors.target.shape[1]), np.float32)
        tastes = np.zeros((queries, factors.liked.shape[1]), np.float32)
        mass = np.zeros((queries, BANKS, 2), np.float32)
        for row, place in enumerate(chosen):
            prepare(
                view.state,
                combiners[place],
                sketch,
                askers[place],
                places[row],
                weights[row],
                counts[row],
                slopes[row],
                mass[row],
                histories[row],
                tastes[row],
            )
        blocks = -(-view.items // LANES)
        scores = np.empty((queries, blocks * LANES), np.float32)

        def score_part(begin: int, end: int) -> None:
            score_blocks(sketch, begin, end, places, weights, counts, slopes, mass, scores)
            add_factors(
                sketch.bin.reshape(-1),
                factors.target,
                factors.liked,
                begin,
                end,
                histories,
                tastes,
                slopes,
                scores,
            )

        self._cores.run(blocks, score_part)
        return scores

    def exact_items(self, view: NumbersView, limit: int) -> int:
        """Count the items that a read of the catalogue scores exactly.

        Items whose quantised numbers it must first update count, too.
        """
        outdated = (
            view.items
            if self._sketch is None or self._has_other_routers(view)
            else min(view.items, count_unfollowed(self._sketch, view.state) + view.changed_items)
        )
        return min(view.items, _choose_shortlist_size(limit)) + outdated

    def _has_other_routers(self, view: NumbersView) -> bool:
        """Tell whether the sketch was made for other routers.

        If so, the view's totals are another array.
        """
        return view.state.taste.total is not self._total

    def _get_current_sketch(self, view: NumbersView) -> Sketch:
        if self._has_other_routers(view):
            self._total, self._sketch = view.state.taste.total, None
        self._sketch = bring_up_to_date(self._sketch, view.state, view.take_changed_items())
        return self._sketch

    def _rank(
        self,
        view: NumbersView,
        combiner: Combiner,
        asker: Asker,
        request: ReadRequest,
        scores: NDArray[np.float32],
    ) -> Ranked:
        ranked: Ranked = rank(
            view.state,
            combiner,
            self._sketch,
            asker,
            scores,
            EMPTY_ROWS,
            request.left_out[request.left_out < view.items],
            request.leave_seen,
            request.allowed[: len(scores)],
            _choose_shortlist_size(request.limit),
            request.limit,
        )
        return ranked


def _choose_shortlist_size(limit: int) -> int:
    """Return how many items are scored exactly.

    Args:
        limit: The length of the list.
    """
    return max(SHORTLIST, SHORTLIST_A_PLACE * limit)


def _build_asker(view: NumbersView, request: ReadRequest) -> Asker:
    dimension, routers = view.state.content.shape[1], view.state.taste.mass.shape[1]
    factors = request.factors
    if factors is None or len(factors) != routers:
        factors = np.ones(routers)
    own = np.zeros((2, dimension), np.float32) if request.own is None else request.own
    return Asker(
        request.user if request.user < view.users else -1, request.arm, factors, own, request.now
    )


def _rank_rows(view: NumbersView, combiner: Combiner, asker: Asker, request: ReadRequest) -> Ranked:
    candidates = EMPTY_ROWS if request.candidates is None else request.candidates
    ranked: Ranked = rank(
        view.state,
        combiner,
        create_empty_sketch(),
        asker,
        NO_SCORES,
        candidates[candidates < view.items],
        request.left_out,
        request.leave_seen,
        EVERYTHING,
        0,
        request.limit,
    )
    return ranked


def _build_result(
    view: NumbersView, asker: Asker, request: ReadRequest, ranked: Ranked, *, cold: bool
) -> ReadResult:
    if not request.explain:
        return ReadResult(ranked, view.applied_through, cold)
    return ReadResult(
        ranked,
        view.applied_through,
        cold,
        list_communities(view, asker, ranked.rows, request.least_users),
        view.state.item_profile[ranked.rows],
        _count_users_behind(view, asker, ranked, cold=cold),
        *_split_history(view, asker, ranked.rows, cold=cold),
        _find_nearest_to_taste(view, asker, cold=cold),
    )


def _split_history(
    view: NumbersView, asker: Asker, rows: NDArray[np.int64], *, cold: bool
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Split the history factor of items by the user's history.

    Returns:
        As `history` and `history_parts` of ReadResult.
    """
    state, factors = view.state, view.state.factors
    if cold or not factors.target.shape[1]:
        return EMPTY_ROWS, np.empty((len(rows), 2, 0), np.float32)
    items, shares = list_history(
        state.seen_item, state.seen_time, state.seen_before, state.seen_last[asker.user], asker.now
    )
    vectors = np.stack([factors.long[items], factors.now[items]])
    parts = shares[None] * np.einsum("shd,nd->nsh", vectors, factors.target[rows])
    return items, parts


def _find_nearest_to_taste(
    view: NumbersView, asker: Asker, *, cold: bool
) -> list[tuple[int, float]]:
    """Find the visible items that are nearest to the user's taste vector.

    Items that nobody chose are left out.
    """
    state, factors = view.state, view.state.factors
    if cold or not factors.taste.shape[1]:
        return []
    liked, vector = factors.liked[: view.items], factors.taste[asker.user]
    lengths = np.linalg.norm(liked, axis=1) * np.linalg.norm(vector)
    cosines = (liked @ vector) / np.maximum(lengths, LEAST_LENGTH)
    shown = state.visible[: view.items] & (state.adoptions[: view.items] > 0)
    cosines[~shown] = -np.inf
    nearest = np.argsort(-cosines, kind="stable")[:NEAR_ITEMS]
    return [(int(row), float(cosines[row])) for row in nearest if cosines[row] > 0]


def _count_users_behind(
    view: NumbersView, asker: Asker, ranked: Ranked, *, cold: bool
) -> NDArray[np.float64]:
    """Count the users behind each feature of each item: a lower bound.

    Of recent adoptions and co-adoptions only the weight is known, to which a user adds at most 1.
    Both kNN features count the users who chose the item and one of the reader's newest items.

    Returns:
        [n,F]; infinity for what rests on the catalogue and the reader's own history.
    """
    state, rows = view.state, ranked.rows
    users = np.repeat(state.adoptions[rows, None].astype(np.float64), FEATURES, axis=1)
    users[:, [Feature.CONTENT, Feature.ATTRIBUTES]] = np.inf
    recent = np.exp(ranked.raw[:, Feature.RECENT]) - RECENT_FLOOR
    users[:, Feature.RECENT] = np.ceil(recent - ROUNDING)
    together = np.zeros(view.items)
    # As plain Python: one more compiled entry would make every first start longer.
    past = []
    if not cold:
        past = list_past_items.py_func(
            state.history[asker.user],
            state.history_next[asker.user],
            state.history_length[asker.user],
        )
    for other in past[:NEWEST]:
        near = state.neighbour[other, : state.neighbour_count[other]]
        together[near] = np.maximum(together[near], state.together[other, : len(near)])
    users[:, [Feature.KNN_SLOW, Feature.KNN_FAST]] = np.ceil(together[rows, None] - ROUNDING)
    # Nothing bounds how many users' order of choices a factor of this user and this item rests on.
    users[:, [Feature.HISTORY, Feature.TASTE]] = 0
    return users


def list_communities(
    view: NumbersView, asker: Asker, rows: NDArray[np.int64], least_users: int = 0
) -> tuple[BankCommunities, ...]:
    """Find the routers by which items are ranked for a user.

    Each router comes with the lift and the adopters of the items in it.

    Args:
        rows: [n] item rows.
        least_users: If an item has fewer adopters in a router, its lift and adopters there are 0.

    Returns:
        Session bank, then taste bank.
    """
    state = view.state
    standpoint = build_standpoint_for(state, asker)
    routers = max(state.session.mass.shape[1], state.taste.mass.shape[1])
    adopters = np.zeros((len(rows), BANKS, routers), np.int64)
    learned = int(state.clock[SEEN])
    count_adopters_by_router(
        state.seen_item[:learned], state.seen_router[:learned], view.items, rows, adopters
    )
    few = adopters < least_users
    few[[is_withheld(state.adoptions[item], state.limits) for item in rows]] = True
    adopters[few] = 0
    found = []
    for place, (bank, pi) in enumerate(
        ((state.session, standpoint.session), (state.taste, standpoint.taste))
    ):
        order = np.argsort(-pi[1], kind="stable")
        chosen = pi[0][order]
        lifted = np.empty((len(rows), bank.mass.shape[1]))
        for row, item in enumerate(rows):
            compute_lifts(bank, share_of(state.adoptions[item], state.totals), item, lifted[row])
        lifted[few[:, place, : lifted.shape[1]]] = 0.0
        found.append(
            BankCommunities(chosen, pi[1][order], lifted[:, chosen], adopters[:, place][:, chosen])
        )
    return tuple(found)


BATCH = 8
# Costs, in roughly scored items: to hand a read to the numbers' thread, and to score one exactly.
HAND_OVER_ITEMS, EXACT_SCORE_ITEMS = 4_000, 16


class ReadBatcher:
    """Answers reads on the numbers' thread, up to eight in one pass.

    A read that costs less than handing it over is answered at once if the view is free.
    """

    def __init__(self, numbers: NumbersOwner) -> None:
        self._numbers = numbers
        self._scorer = CatalogueScorer(numbers.cores)
        self._calls: CallBatcher[ReadRequest, ReadResult] = CallBatcher(
            lambda requests: numbers.run(self._scorer.read, requests), lambda request: 1, BATCH
        )

    async def read(self, request: ReadRequest) -> ReadResult:
        """Answer one request, together with others that wait."""
        if not self._calls.busy and self._is_brief(request):
            with self._numbers.try_borrow() as view:
                if view is not None:
                    return self._scorer.read(view, [request])[0]
        return await self._calls.submit(request)

    def _is_brief(self, request: ReadRequest) -> bool:
        if request.explain:
            return False
        if request.candidates is not None:
            return EXACT_SCORE_ITEMS * len(request.candidates) <= HAND_OVER_ITEMS
        view = self._numbers.view
        exact = self._scorer.exact_items(view, request.limit)
        return view.items + EXACT_SCORE_ITEMS * exact <= HAND_OVER_ITEMS
