"""Communities of routers: masses, users who trust them, items of session routers."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from propagation.model import BankName, ClientKind, compute_ref
from propagation.numbers import LEAST_SUPPORT, Bank
from propagation.numbers.rules import compute_lift, share_of
from propagation.workflow.views import NumbersOwner, NumbersView

CHEAP_SECONDS = 0.002
"""Counting that takes no longer is done for every call."""
SHARE_OF_TIME = 0.02
"""The part of the time that is spent on counting at most."""
OLDEST_SECONDS = 1.0


def compute_router_masses(view: NumbersView, name: BankName) -> list[float]:
    """Return n_k of every router of a bank.

    The router's start mass is included.

    Source: docs/numbers.md, State.
    """
    return [float(total) for total in _get_bank(view, name).total]


def count_trusting_users(view: NumbersView, name: BankName) -> list[int]:
    """Count the users who trust each router of a bank most.

    Users without a history are not counted. For 100,000 users and 80 routers it takes 14 to 30 ms.

    Source: docs/numbers.md, rule 4.
    """
    trust = _get_bank(view, name).trust
    trusted_most = trust[: view.users].argmax(axis=1)
    active = view.state.history_length[: view.users] > 0
    counts = np.bincount(trusted_most[active], minlength=trust.shape[1])
    return [int(count) for count in counts]


def _get_bank(view: NumbersView, name: BankName) -> Bank:
    return view.state.session if name == BankName.SESSION else view.state.taste


def find_session_community(
    view: NumbersView, router: int, limit: int, least_users: int
) -> list[tuple[int, float]]:
    """Rank items by their lift in one session router.

    Args:
        limit: The most items.
        least_users: How many users must have adopted an item; never fewer than 1.

    Returns:
        (ref, lift) of the items by descending lift.
    """
    state, bank = view.state, view.state.session
    least = max(state.limits[LEAST_SUPPORT], least_users, 1.0)
    rows = np.flatnonzero(state.adoptions[: view.items] >= least)
    shares = share_of.py_func(state.adoptions[rows], state.totals)
    lifts = compute_lift.py_func(bank.mass[rows, router], bank.total[router], shares)
    order = np.argsort(-lifts, kind="stable")[:limit]
    return [
        (compute_ref(ClientKind.ITEM, int(rows[place])), float(lifts[place])) for place in order
    ]


@dataclass(frozen=True)
class _KeptCounts:
    """Counts of one bank.

    Attributes:
        applied_through: The sequence that they reflect.
        until: The time until which they may be shown although more was learned, in seconds of
            time.monotonic.
    """

    counts: Sequence[int]
    epoch: int
    applied_through: int
    until: float


@dataclass
class TrustCounts:
    """Counts of the users who trust each router most.

    Where counting takes long, calls are shown the same counts for up to OLDEST_SECONDS.
    """

    numbers: NumbersOwner
    _kept: dict[BankName, _KeptCounts] = field(default_factory=dict)
    _counting: dict[BankName, asyncio.Lock] = field(
        default_factory=lambda: {bank: asyncio.Lock() for bank in BankName}
    )

    async def read(self, bank: BankName, through: int = 0) -> Sequence[int]:
        """Return the counts of a bank's routers, by number.

        Args:
            through: The sequence that they must reflect at least.
        """
        async with self._counting[bank]:
            if not self._is_current(bank, through):
                self._kept[bank] = await self._count(bank)
            return self._kept[bank].counts

    def _is_current(self, bank: BankName, through: int) -> bool:
        kept, view = self._kept.get(bank), self.numbers.view
        if kept is None or kept.epoch != view.epoch or kept.applied_through < through:
            return False
        return kept.applied_through == view.applied_through or time.monotonic() < kept.until

    async def _count(self, bank: BankName) -> _KeptCounts:
        def count(view: NumbersView) -> _KeptCounts:
            started = time.monotonic()
            counts = count_trusting_users(view, bank)
            ended = time.monotonic()
            seconds = ended - started
            kept_for = 0.0 if seconds < CHEAP_SECONDS else seconds / SHARE_OF_TIME
            until = ended + min(kept_for, OLDEST_SECONDS)
            return _KeptCounts(counts, view.epoch, view.applied_through, until)

        return await self.numbers.run(count)
