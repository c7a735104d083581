"""The learned factors without withdrawn adoptions: learned again from the start.

A withdrawal takes a user's own vector and adoptions out at once. What they did to the vectors of
items stays until the tables are learned again, from the adoptions that remain. Learning and reads
go on meanwhile.

Source: docs/erasure.md; docs/numbers.md, "Learned factors".
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from propagation.numbers import (
    BY_SEEN,
    SEEN,
    State,
    create_factors,
    relearn_factors,
    with_item_rows,
    with_user_rows,
)
from propagation.numbers.rules import EMPTY, rehash
from propagation.workflow.concurrency import Activity, Exclusion
from propagation.workflow.forget.withdrawal import Withdrawer
from propagation.workflow.views import NumbersOwner, NumbersView

Change = Callable[[NumbersView], int]
ADOPTIONS_A_TURN = 1_000
SMALL_TAIL, MOST_CATCH_UPS = 500, 8
TRIES = 3
# What the tables depend on; evolutions change the routers of old adoptions.
ADOPTIONS = tuple(name for name in BY_SEEN if name != "seen_router")


@dataclass
class FactorRelearning:
    """Learns the factors again after withdrawals."""

    numbers: NumbersOwner
    withdrawer: Withdrawer
    exclusion: Exclusion
    _stopping: bool = False

    @property
    def is_due(self) -> bool:
        """Whether the tables learned from what was withdrawn or removed since."""
        factors = self.numbers.view.state.factors
        is_on = factors.target.shape[1] > 0 or factors.taste.shape[1] > 0
        return is_on and bool(factors.withdrawn[0])

    def stop(self) -> None:
        """End a run soon, without effect; the next night begins again."""
        self._stopping = True

    async def run_if_due(self) -> int:
        """Learn the factors again, if a withdrawal left something in them.

        If withdrawals interrupt it twice, learning and withdrawals wait for the third try.

        Returns:
            How many adoptions were learned; 0 if it was not due, or the process stops.

        Raises:
            LeaseLost: Another process learns, evolves or runs a round for too long.
        """
        for attempt in range(TRIES):
            if not self.is_due:
                break
            ahead = None if attempt == TRIES - 1 else await self._learn_most()
            async with self.exclusion.run(Activity.WITHDRAW):
                count = await self.withdrawer.replace_factors(partial(self._finish, ahead))
            if count or self._stopping:
                return count
        return 0

    async def _finish(self, ahead: tuple[State, int] | None) -> Change | None:
        """Return what gives the tables to the view.

        Nothing else changes the numbers meanwhile.

        Args:
            ahead: What `_learn_most` returned; None: learn everything now.

        Returns:
            None if a withdrawal changed the list since, or the process stops.
        """
        if ahead is None:
            ahead = await self._learn_most()
        state, done = ahead
        if self._stopping or not await self.numbers.run(_has_same_start, state, done):
            return None
        return partial(_replace_factors, state=state, done=done)

    async def _learn_most(self) -> tuple[State, int]:
        """Learn all adoptions but the newest few, while others are added.

        Returns:
            The state, whose list may be longer, and how many adoptions its tables learned.
        """
        state, done = await self.numbers.run(_start_anew), 0
        for _ in range(MOST_CATCH_UPS):
            end = len(state.seen_item)
            while done < end and not self._stopping:
                turn = min(done + ADOPTIONS_A_TURN, end)
                await asyncio.to_thread(relearn_factors, state, done, turn)
                done = turn
            state = await self.numbers.run(_add_newest, state)
            if self._stopping or len(state.seen_item) - done <= SMALL_TAIL:
                break
        return state, done


def _has_same_start(view: NumbersView, state: State, done: int) -> bool:
    """Return whether the view has what was learned.

    Its list begins with the same adoptions, and no item was removed since.
    """
    rows = view.state
    return (
        int(rows.clock[SEEN]) >= done
        and np.array_equal(rows.present[: len(state.present)], state.present)
        and all(
            np.array_equal(getattr(rows, name)[:done], getattr(state, name)[:done])
            for name in ADOPTIONS
        )
    )


def relearn(view: NumbersView) -> int:
    """Learn a view's factors again, all at once.

    Returns:
        How many adoptions were learned.
    """
    return _replace_factors(view, _start_anew(view), 0)


def _start_anew(view: NumbersView) -> State:
    """Return empty tables, with a copy of the list of adoptions."""
    state = view.state
    fresh = state._replace(
        factors=create_factors(state.factors.settings, state.seed, view.users, view.items),
        seen_set=np.full(2, EMPTY, np.int64),
        present=view.state.present[: view.items].copy(),
    )
    return _add_newest(view, fresh)


def _add_newest(view: NumbersView, state: State) -> State:
    """Return the state with the list as it is now.

    Its tables have room for what the list names.
    """
    count = int(view.state.clock[SEEN])
    copies = {name: getattr(view.state, name)[:count].copy() for name in BY_SEEN}
    # An item that was removed since may have been drawn already; `_has_same_start` notices that.
    added = view.state.present[len(state.present) : view.items]
    copies["present"] = np.concatenate([state.present, added])
    size = 1 << (2 * max(count, 1)).bit_length()
    factors = with_item_rows(
        state.factors, max(view.items, len(state.factors.bias)), view.state.seed
    )
    factors = with_user_rows(factors, max(view.users, len(factors.taste)), view.state.seed)
    return state._replace(**copies, factors=factors, seen_set=rehash(state.seen_set, size))


def _replace_factors(view: NumbersView, state: State, done: int) -> int:
    """Learn the newest adoptions and give the tables to the view.

    Returns:
        How many adoptions the tables learned.
    """
    state = _add_newest(view, state)
    count = len(state.seen_item)
    relearn_factors(state, done, count)
    rows = view.state
    factors = with_item_rows(state.factors, len(rows.adoptions), rows.seed)
    factors = with_user_rows(factors, len(rows.history), rows.seed)
    factors.skipped[0] += rows.factors.skipped[0]  # monitoring looks at how it grows
    view.state = rows._replace(factors=factors)
    return count
