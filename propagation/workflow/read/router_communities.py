"""Routers as numbers: both banks' mass, and who belongs to a session router, which has no routing
table."""

from dataclasses import dataclass

import numpy as np

from propagation.model.clients.client import ClientKind, ref_of
from propagation.model.routers.epoch import BankName
from propagation.numbers.state import LEAST_SUPPORT, Bank
from propagation.workflow.views.numbers_view import NumbersView


@dataclass(frozen=True)
class Community:
    """Items (ref, lift) by descending lift, among those adopted at least once (`mass_min_support`
    times); `users`: how many trust this router most."""

    items: list[tuple[int, float]]
    users: int


def masses(view: NumbersView, name: BankName) -> list[float]:
    """n_k of every router of a bank, start included."""
    return [float(total) for total in _bank(view, name).total]


def session_users(view: NumbersView) -> list[int]:
    """By router of the session bank, how many users with a history trust it most."""
    active = np.flatnonzero(view.state.history_length[: view.users])
    trust = view.state.session.trust
    return [
        int(count) for count in np.bincount(trust[active].argmax(axis=1), minlength=trust.shape[1])
    ]


def session_community(view: NumbersView, router: int, limit: int) -> Community:
    """Rule 1's lift of every adopted item in one router: ln((N + 50 P) / ((n + 50) P))."""
    state, bank = view.state, view.state.session
    rows = np.flatnonzero(state.adoptions[: view.items] >= max(state.limits[LEAST_SUPPORT], 1.0))
    expected = (state.adoptions[rows] + 0.5) / (state.totals[0] + 0.5 * state.totals[1])
    lifts = np.log(
        (bank.mass[rows, router] + 50 * expected) / ((bank.total[router] + 50) * expected)
    )
    order = np.argsort(-lifts, kind="stable")[:limit]
    return Community(
        [(ref_of(ClientKind.ITEM, int(rows[place])), float(lifts[place])) for place in order],
        session_users(view)[router],
    )


def _bank(view: NumbersView, name: BankName) -> Bank:
    return view.state.session if name == BankName.SESSION else view.state.taste
