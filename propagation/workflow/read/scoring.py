"""Reading the numbers: what is brief at once, where nobody has the view; else requests that wait
are answered together, on the thread of the numbers."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

import numpy as np
from numpy.typing import NDArray

from propagation.numbers.limits import withheld
from propagation.numbers.ranking.quantised_scores import (
    BINS,
    LANES,
    PARTS,
    Sketch,
    score_blocks,
    unfollowed,
    up_to_date,
)
from propagation.numbers.ranking.rank import (
    SLOPES,
    Asker,
    Ranked,
    adopters_by_router,
    prepare,
    rank_all,
    rank_rows,
    standpoint_for,
)
from propagation.numbers.rules.combiner import Combiner, for_newcomers
from propagation.numbers.rules.mass import lifts, share
from propagation.workflow.concurrency.core_pool import CorePool
from propagation.workflow.views.numbers_owner import NumbersOwner
from propagation.workflow.views.numbers_view import NumbersView

BATCH = 8
SHORTLIST, SHORTLIST_A_PLACE = 48, 4
BRIEF_ITEMS, EXACT_ITEMS = (
    4_000,
    16,
)  # what handing over takes, and what an exact score does, in items looked at
BANKS = 2
EMPTY_ROWS = np.empty(0, np.int64)
EVERYTHING = np.empty(0, np.bool_)


@dataclass(frozen=True)
class Ask:
    """One read. `factors` [K taste] f64, None: no filter rule · `own` [2,D] f32, None: no text of
    the user's own · `candidates` rows to rank, None: the whole catalogue · `allowed` bool by row,
    empty: all · `left_out` rows."""

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


@dataclass(frozen=True)
class Community:
    """Why, by router, of one read and bank: routers [R] by descending share, shares [R], lifts
    [n,R], adopters [n,R]."""

    routers: NDArray[np.int64]
    shares: NDArray[np.float64]
    lifts: NDArray[np.float64]
    adopters: NDArray[np.int64]


@dataclass(frozen=True)
class Read:
    """What a read saw at `applied_through`. `cold`: the user has no history. `communities`: session
    and taste, where explained; `item_profiles` [n,D] too."""

    ranked: Ranked
    applied_through: int
    cold: bool
    communities: tuple[Community, ...] = ()
    item_profiles: NDArray[np.float32] | None = None


class Reader:
    """The two stages over one view: quantised scores of everything, exact scores of a short list.
    For who has the view, and it uses other threads for the first stage."""

    def __init__(self, cores: CorePool) -> None:
        self._cores = cores
        self._totals: tuple[NDArray[np.float64], ...] = ()
        self._sketch: Sketch | None = None

    def read(self, view: NumbersView, asks: Sequence[Ask]) -> list[Read]:
        """Answers in the order of the asks."""
        askers = [_asker(view, ask) for ask in asks]
        newcomers = (
            for_newcomers(view.combiner)
            if any(_is_cold(view, asker) for asker in askers)
            else view.combiner
        )
        combiners = [newcomers if _is_cold(view, asker) else view.combiner for asker in askers]
        whole = [place for place, ask in enumerate(asks) if ask.candidates is None]
        answers: list[Ranked | None] = [None] * len(asks)
        if whole and view.items:
            scores = self._scores(
                view, [askers[place] for place in whole], [combiners[place] for place in whole]
            )
            for row, place in enumerate(whole):
                answers[place] = self._rank(
                    view, combiners[place], askers[place], asks[place], scores[row]
                )
        return [
            self._finished(view, asker, ask, answer or _rank_rows(view, combiner, asker, ask))
            for asker, ask, answer, combiner in zip(askers, asks, answers, combiners, strict=True)
        ]

    def _scores(
        self, view: NumbersView, askers: Sequence[Asker], combiners: Sequence[Combiner]
    ) -> NDArray[np.float32]:
        sketch = self._followed(view)
        queries, width = (
            len(askers),
            max(end - begin for begin, end in pairwise(sketch.bounds.tolist())) + 4,
        )
        places = np.zeros((queries, PARTS, width), np.int64)
        weights = np.zeros((queries, PARTS, width), np.float32)
        counts = np.zeros((queries, PARTS), np.int64)
        slopes = np.zeros((queries, SLOPES, BINS), np.float32)
        mass = np.zeros((queries, BANKS, 2), np.float32)
        for row, (asker, combiner) in enumerate(zip(askers, combiners, strict=True)):
            prepare(
                view.state,
                combiner,
                sketch,
                asker,
                places[row],
                weights[row],
                counts[row],
                slopes[row],
                mass[row],
            )
        blocks = -(-view.items // LANES)
        scores = np.empty((queries, blocks * LANES), np.float32)
        self._cores.run(
            blocks,
            lambda begin, end: score_blocks(
                sketch, begin, end, places, weights, counts, slopes, mass, scores
            ),
        )
        return scores

    def behind(self, view: NumbersView) -> int:
        """How many items the sketch has yet to follow."""
        if self._sketch is None or self._is_of_others(view):
            return view.items
        return min(view.items, unfollowed(self._sketch, view.state) + view.restyled)

    def _is_of_others(self, view: NumbersView) -> bool:
        """Whether the sketch is of other routers than the view's."""
        return any(one is not other for one, other in zip_longest(_totals(view), self._totals))

    def _followed(self, view: NumbersView) -> Sketch:
        if self._is_of_others(view):
            self._totals, self._sketch = _totals(view), None
        self._sketch = up_to_date(self._sketch, view.state, view.take_restyled())
        return self._sketch

    def _rank(
        self,
        view: NumbersView,
        combiner: Combiner,
        asker: Asker,
        ask: Ask,
        scores: NDArray[np.float32],
    ) -> Ranked:
        count = _short(ask.limit)
        left_out = ask.left_out[ask.left_out < view.items]
        ranked: Ranked = rank_all(
            view.state,
            combiner,
            self._sketch,
            asker,
            scores,
            left_out,
            ask.leave_seen,
            ask.allowed[: len(scores)],
            count,
            ask.limit,
        )
        return ranked

    def _finished(self, view: NumbersView, asker: Asker, ask: Ask, ranked: Ranked) -> Read:
        cold = _is_cold(view, asker)
        if not ask.explain:
            return Read(ranked, view.applied_through, cold)
        return Read(
            ranked,
            view.applied_through,
            cold,
            communities_of(view, asker, ranked.rows),
            view.state.item_profile[ranked.rows],
        )


def _totals(view: NumbersView) -> tuple[NDArray[np.float64], ...]:
    """The same arrays for as long as these routers live."""
    return view.state.session.total, view.state.taste.total


def _short(limit: int) -> int:
    """How many items are scored exactly for a list of so many."""
    return max(SHORTLIST, SHORTLIST_A_PLACE * limit)


def _asker(view: NumbersView, ask: Ask) -> Asker:
    dimension, routers = view.state.content.shape[1], view.state.taste.mass.shape[1]
    factors = (
        np.ones(routers) if ask.factors is None or len(ask.factors) != routers else ask.factors
    )
    own = np.zeros((2, dimension), np.float32) if ask.own is None else ask.own
    return Asker(ask.user if ask.user < view.users else -1, ask.arm, factors, own)


def _is_cold(view: NumbersView, asker: Asker) -> bool:
    """Without history."""
    return bool(asker.user < 0 or not view.state.history_length[asker.user])


def _rank_rows(view: NumbersView, combiner: Combiner, asker: Asker, ask: Ask) -> Ranked:
    rows = EMPTY_ROWS if ask.candidates is None else ask.candidates[ask.candidates < view.items]
    ranked: Ranked = rank_rows(
        view.state, combiner, asker, rows, ask.left_out, ask.leave_seen, ask.limit
    )
    return ranked


def communities_of(
    view: NumbersView, asker: Asker, rows: NDArray[np.int64]
) -> tuple[Community, ...]:
    """By bank, the routers that the asker reads by, and each item's lift and adopters in them."""
    state = view.state
    standpoint = standpoint_for(state, asker)
    routers = max(state.session.mass.shape[1], state.taste.mass.shape[1])
    adopters = np.zeros((len(rows), BANKS, routers), np.int64)
    adopters_by_router(state, rows, adopters)
    out = []
    for place, (bank, pi) in enumerate(
        ((state.session, standpoint.session), (state.taste, standpoint.taste))
    ):
        order = np.argsort(-pi[1], kind="stable")
        chosen = pi[0][order]
        lifted = np.empty((len(rows), bank.mass.shape[1]))
        for row, item in enumerate(rows):
            lifts(bank, share(state, item), item, lifted[row])
            if withheld(state, item):
                lifted[row], adopters[row] = 0.0, 0
        out.append(
            Community(chosen, pi[1][order], lifted[:, chosen], adopters[:, place][:, chosen])
        )
    return tuple(out)


class Readings:
    """Gathers reads that wait and runs them together: one pass over the catalogue serves up to
    eight."""

    def __init__(self, numbers: NumbersOwner) -> None:
        self._numbers = numbers
        self._reader = Reader(numbers.cores)
        self._waiting: list[tuple[Ask, asyncio.Future[Read]]] = []
        self._running = False

    async def read(self, ask: Ask) -> Read:
        """With others that wait; over few items at once, where nobody has the view."""
        if not self._running and self._is_brief(ask):
            with self._numbers.at_once() as view:
                if view is not None:
                    return self._read(view, [ask])[0]
        done: asyncio.Future[Read] = asyncio.get_running_loop().create_future()
        self._waiting.append((ask, done))
        if not self._running:
            self._running = True
            self._task = asyncio.ensure_future(self._drain())
        return await done

    def _is_brief(self, ask: Ask) -> bool:
        """Whether it is read sooner than handed to another thread and back."""
        if ask.explain:
            return False
        if ask.candidates is not None:
            return EXACT_ITEMS * len(ask.candidates) <= BRIEF_ITEMS
        view = self._numbers.view
        exactly = min(view.items, _short(ask.limit)) + self._reader.behind(view)
        return view.items + EXACT_ITEMS * exactly <= BRIEF_ITEMS

    async def _drain(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                try:
                    answers = await self._numbers.run(self._read, [ask for ask, _ in batch])
                except Exception as error:  # the callers' to hear, each of them
                    for _, done in batch:
                        if not done.done():
                            done.set_exception(error)
                    continue
                for (_, done), answer in zip(batch, answers, strict=True):
                    if not done.done():
                        done.set_result(answer)
        finally:
            self._running = False

    def _read(self, view: NumbersView, asks: Sequence[Ask]) -> list[Read]:
        return self._reader.read(view, asks)
