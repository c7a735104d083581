"""The taste bank after an evolution.

Masses add or are divided, and trust is merged or copied.

A retired router has trust of minus infinity in its whole column, and no rule raises it again.

Source: docs/evolution.md.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.model import F32, F64, I64, Array, Bools, RouterMap
from propagation.numbers.kernels import kernel
from propagation.numbers.state import Bank


class Written(NamedTuple):
    """Mass that interactions wrote to the two halves of a router.

    Attributes:
        first: By item row [I] f64.
        second: By item row [I] f64.
    """

    first: F64
    second: F64


def find_retired(bank: Bank) -> Bools:
    """Return which numbers [K] are retired routers."""
    return np.isneginf(bank.trust[0])


def retire_spare_rows(bank: Bank, first: int) -> None:
    """Retire the retired routers for users that come later.

    Their rows begin at `first`.
    """
    bank.trust[first:, find_retired(bank)] = -np.inf


def evolve_bank(
    bank: Bank, change: RouterMap, written: Mapping[int, Written], centres: F32
) -> Bank:
    """Return the bank after a change of routers.

    `bank` stays as it is.

    Args:
        written: By router that is split.
        centres: [K after, D].
    """
    return Bank(
        evolve_mass(bank.mass, change, written),
        evolve_total(bank.total, bank.mass, change, written),
        evolve_trust(bank.trust, change),
        np.ascontiguousarray(centres, np.float32),
        bank.discount,
        bank.sharpness,
    )


def evolve_mass(mass: Array, change: RouterMap, written: Mapping[int, Written]) -> Array:
    """Return N [I,K after] from N [I,K before].

    Args:
        written: Rows are those of `mass`, or fewer.
    """
    out = np.zeros((len(mass), change.routers), mass.dtype)
    add_columns(mass, _find_unsplit(change), out)
    for router, halves in change.halves.items():
        first, second = written[router]
        divide_column(mass, router, first, second, halves.share, halves.first, halves.second, out)
    return out


def evolve_total(total: F64, mass: Array, change: RouterMap, written: Mapping[int, Written]) -> F64:
    """Return n [K after].

    The total of a half is the sum of the mass that `evolve_mass` gives it over all items, so that
    total and mass agree however often routers are divided.
    """
    out = np.zeros(change.routers)
    home = _find_unsplit(change)
    np.add.at(out, home[home >= 0], total[home >= 0])
    both = np.empty((len(mass), 2), mass.dtype)
    for router, halves in change.halves.items():
        divide_column(mass, router, *written[router], halves.share, 0, 1, both)
        out[[halves.first, halves.second]] = both.sum(axis=0, dtype=np.float64)
    return out


def evolve_trust(trust: Array, change: RouterMap) -> Array:
    """Move users' trust L to the routers after an evolution.

    Args:
        trust: Log of each user's trust in each router before it [U, K before].

    Returns:
        [U, K after]; minus infinity at a router that no earlier one became.
    """
    targets = np.full((len(change.home), 2), -1, np.int64)
    targets[:, 0] = change.home
    for router, halves in change.halves.items():
        targets[router] = halves.first, halves.second
    out = np.full((len(trust), change.routers), -np.inf, trust.dtype)
    raise_columns(trust, targets, out)
    return out


def _find_unsplit(change: RouterMap) -> I64:
    """Return `home`, with -1 for routers that are split."""
    home = change.home.copy()
    home[list(change.halves)] = -1
    return home


def evolve_centres(
    bank: Bank, change: RouterMap, written: Mapping[int, Written], content: F32
) -> F32:
    """Return the centres [K after, D].

    A merged router gets the direction of its parts weighted by mass, a half that of its adoptions,
    and a retired one zeros.

    Args:
        content: [>= I, D] unit vectors of items.
    """
    out = np.zeros((change.routers, bank.centres.shape[1]), np.float32)
    for number in range(change.routers):
        parts = [
            router
            for router in np.flatnonzero(change.home == number).tolist()
            if router not in change.halves
        ]
        if len(parts) == 1:
            out[number] = bank.centres[parts[0]]
        elif parts:
            out[number] = _compute_direction(
                bank.total[parts] @ bank.centres[parts], bank.centres[parts[0]]
            )
    for router, halves in change.halves.items():
        for number, adopted in zip((halves.first, halves.second), written[router], strict=True):
            out[number] = _compute_direction(
                adopted @ content[: len(adopted)], bank.centres[router]
            )
    out[list(change.retired)] = 0
    return out


def _compute_direction(vector: NDArray[np.floating], otherwise: F32) -> F32:
    norm = np.linalg.norm(vector)
    return (vector / norm).astype(np.float32) if norm > 0 else otherwise


def evolve_seen(
    seen_router: NDArray[np.uint16],
    seen_last: I64,
    seen_before: I64,
    change: RouterMap,
) -> NDArray[np.uint16]:
    """Return the routers that adoptions wrote most to, under the new numbers."""
    out = seen_router.copy()
    users = np.arange(len(seen_last))
    splits = list(change.halves)
    split_of = np.full(len(change.home), -1, np.int64)
    split_of[splits] = np.arange(len(splits))
    half_of = np.array([halves.of(users) for halves in change.halves.values()], np.int64)
    rename_seen(
        out,
        seen_last,
        seen_before,
        change.home,
        split_of,
        half_of.reshape(len(splits), len(users)),
    )
    return out


@kernel(nogil=True)
def add_columns(old, home, out):
    """Compute out[:, home_k] += old[:, k], leaving out -1."""
    for row in range(old.shape[0]):
        for router in range(len(home)):
            if home[router] >= 0:
                out[row, home[router]] += old[row, router]


@kernel(nogil=True)
def raise_columns(old, targets, out):
    """Raise columns of `out` to those of `old` that merge into them.

    For both targets t of router k, out[:, t] becomes the larger of it and old[:, k]. A target of -1
    is left out.
    """
    for row in range(old.shape[0]):
        for router in range(len(targets)):
            for place in range(2):
                target = targets[router, place]
                if target >= 0 and old[row, router] > out[row, target]:
                    out[row, target] = old[row, router]


@kernel(nogil=True)
def divide_column(mass, router, first, second, share, one, other, out):
    """Divide a router's mass between its two halves.

    Written mass goes to its half, and start mass in proportion to `share`.
    """
    for row in range(len(mass)):
        to_one = first[row] if row < len(first) else 0.0
        to_other = second[row] if row < len(second) else 0.0
        start = max(mass[row, router] - to_one - to_other, 0.0)
        out[row, other] = min(to_other + (1.0 - share) * start, mass[row, router])
        out[row, one] = mass[row, router] - out[row, other]


@kernel(nogil=True)
def rename_seen(seen_router, seen_last, seen_before, home, split_of, half_of):
    """Replace the routers of the users' adoptions by those that they became."""
    for user in range(len(seen_last)):
        place = seen_last[user]
        while place >= 0:
            router = np.int64(seen_router[place, 1])
            split = split_of[router]
            seen_router[place, 1] = home[router] if split < 0 else half_of[split, user]
            place = seen_before[place]
