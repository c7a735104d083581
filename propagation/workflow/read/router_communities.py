"""Communities of routers: masses, users who trust them, items of session routers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from propagation.model import BankName, ClientKind, compute_ref
from propagation.numbers import LEAST_SUPPORT, find_retired
from propagation.numbers.rules import compute_lift, share_of
from propagation.workflow.views import NumbersView


@dataclass(frozen=True)
class RouterNumbers:
    """The numbers of a bank's routers at one moment, retired routers included.

    Attributes:
        epoch: The number of the epoch; 0 before bootstrap.
        masses: n_k by router; its start mass is included.
        trusting_users: How many users trust each router most, by router. Users without a history
            are not counted.
        retired: The numbers of routers that evolution retired.

    Source: docs/numbers.md, State and rule 4.
    """

    epoch: int
    masses: Sequence[float]
    trusting_users: Sequence[int]
    retired: frozenset[int]


def read_router_numbers(view: NumbersView, name: BankName) -> RouterNumbers:
    """Read the numbers of a bank's routers."""
    bank = view.get_bank(name)
    return RouterNumbers(
        epoch=view.epoch,
        masses=bank.total.tolist(),
        trusting_users=view.count_trusting_users(name).tolist(),
        retired=frozenset(np.flatnonzero(find_retired(bank)).tolist()),
    )


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
