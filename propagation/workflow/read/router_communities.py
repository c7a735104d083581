"""Communities of routers: masses, and the items of session routers."""

import numpy as np

from propagation.model import BankName, ClientKind, compute_ref
from propagation.numbers import LEAST_SUPPORT, Bank
from propagation.numbers.rules import compute_lift, share_of
from propagation.workflow.views import NumbersView


def compute_router_masses(view: NumbersView, name: BankName) -> list[float]:
    """Return n_k of every router of a bank.

    The router's start mass is included.

    Source: docs/numbers.md, State.
    """
    return [float(total) for total in _get_bank(view, name).total]


def count_trusting_users(view: NumbersView, name: BankName) -> list[int]:
    """Count the users who trust each router of a bank most.

    Users without a history are not counted.

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
) -> tuple[list[tuple[int, float]], int]:
    """Rank items by their lift in one session router.

    Args:
        limit: The most items.
        least_users: How many users must have adopted an item; never fewer than 1.

    Returns:
        (ref, lift) of the items by descending lift; and how many users trust this router most.
    """
    state, bank = view.state, view.state.session
    least = max(state.limits[LEAST_SUPPORT], least_users, 1.0)
    rows = np.flatnonzero(state.adoptions[: view.items] >= least)
    shares = share_of.py_func(state.adoptions[rows], state.totals)
    lifts = compute_lift.py_func(bank.mass[rows, router], bank.total[router], shares)
    order = np.argsort(-lifts, kind="stable")[:limit]
    items = [
        (compute_ref(ClientKind.ITEM, int(rows[place])), float(lifts[place])) for place in order
    ]
    return items, count_trusting_users(view, BankName.SESSION)[router]
