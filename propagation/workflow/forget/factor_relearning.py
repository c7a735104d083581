"""The learned factors without withdrawn adoptions: learned again from the start.

A withdrawal takes a user's own vector and adoptions out at once. What they did to the vectors of
items stays until the tables are learned again, from the adoptions that remain. Learning and reads
go on meanwhile.

Source: docs/erasure.md; docs/numbers.md, "Learned factors".
"""

import asyncio
from dataclasses import dataclass
from functools import partial

import numpy as np

from propagation.model import FactorSettings
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
from propagation.ports import GraphStore
from propagation.workflow.concurrency import Activity, Exclusion
from propagation.workflow.forget.withdrawal import Withdrawer
from propagation.workflow.views import NumbersOwner, NumbersView

ADOPTIONS_A_TURN = 1_000
SMALL_TAIL, MOST_CATCH_UPS = 500, 8


@dataclass
class FactorRelearning:
    """Learns the factors again after withdrawals."""

    store: GraphStore
    numbers: NumbersOwner
    withdrawer: Withdrawer
    exclusion: Exclusion

    @property
    def is_due(self) -> bool:
        """Whether the tables learned from an adoption that was withdrawn since."""
        return bool(self.numbers.view.state.factors.withdrawn[0])

    async def run_if_due(self) -> int:
        """Learn the factors again, if a withdrawal left something in them.

        Returns:
            How many adoptions were learned; 0 if it was not due.

        Raises:
            LeaseLost: Another process learns, evolves or runs a round for too long.
        """
        while self.is_due:
            withdrawn = await self.store.get_last_withdrawal()
            state, done = await self._learn_most()
            async with self.exclusion.run(Activity.WITHDRAW):
                # A withdrawal meanwhile moved the places of adoptions: begin again.
                if await self.store.get_last_withdrawal() == withdrawn:
                    return await self.withdrawer.replace_factors(
                        partial(_replace_factors, state=state, done=done)
                    )
        return 0

    async def _learn_most(self) -> tuple[State, int]:
        """Learn all adoptions but the newest few, while others are added."""
        state, done = await self.numbers.run(_start_anew), 0
        for _ in range(MOST_CATCH_UPS):
            end = len(state.seen_item)
            await asyncio.to_thread(_relearn, state, done, end)
            done = end
            state = await self.numbers.run(_add_newest, state)
            if len(state.seen_item) - done <= SMALL_TAIL:
                break
        return state, done


def relearn(view: NumbersView) -> int:
    """Learn a view's factors again, all at once.

    Returns:
        How many adoptions were learned.
    """
    return _replace_factors(view, _start_anew(view), 0)


def _start_anew(view: NumbersView) -> State:
    """Return empty tables, with a copy of the list of adoptions."""
    state = view.state
    settings = FactorSettings(
        state.factors.target.shape[1],
        state.factors.taste.shape[1],
        *state.factors.plan.tolist(),
    )
    fresh = state._replace(
        factors=create_factors(settings, state.seed, view.users, view.items),
        seen_set=np.full(2, EMPTY, np.int64),
    )
    return _add_newest(view, fresh)


def _add_newest(view: NumbersView, state: State) -> State:
    """Return the state with the list as it is now.

    Its tables have room for what the list names.
    """
    count = int(view.state.clock[SEEN])
    copies = {name: getattr(view.state, name)[:count].copy() for name in BY_SEEN}
    size = 1 << (2 * max(count, 1)).bit_length()
    factors = with_item_rows(
        state.factors, max(view.items, len(state.factors.bias)), view.state.seed
    )
    factors = with_user_rows(factors, max(view.users, len(factors.taste)), view.state.seed)
    return state._replace(**copies, factors=factors, seen_set=rehash(state.seen_set, size))


def _relearn(state: State, begin: int, end: int) -> None:
    """Learn adoptions in turns, so that the process may end between them."""
    for start in range(begin, end, ADOPTIONS_A_TURN):
        relearn_factors(state, start, min(start + ADOPTIONS_A_TURN, end))


def _replace_factors(view: NumbersView, state: State, done: int) -> int:
    """Learn the newest adoptions and give the tables to the view.

    Returns:
        How many adoptions the tables learned.
    """
    state = _add_newest(view, state)
    count = len(state.seen_item)
    _relearn(state, done, count)
    rows = view.state
    factors = with_item_rows(state.factors, len(rows.adoptions), rows.seed)
    factors = with_user_rows(factors, len(rows.history), rows.seed)
    view.state = rows._replace(factors=factors)
    return count
