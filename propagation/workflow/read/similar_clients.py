"""Similar clients: the nearest users or items, by profile or by routers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from propagation.model import F64, Client, ClientKind, compute_ref, get_kind, index_of
from propagation.numbers import is_withheld, mix_seed
from propagation.numbers.rules import compute_lifts, share_of
from propagation.ports import ClientStore
from propagation.workflow.views import NumbersOwner, NumbersView

CHUNK = 4_096
By = Literal["profile", "routers"]


@dataclass(frozen=True)
class Neighbours:
    """Clients with their cosine (-1 to 1), the most similar first.

    Attributes:
        applied_through: Sequence that the numbers reflect.
    """

    clients: Sequence[tuple[Client, float]]
    applied_through: int


async def find_similar(
    store: ClientStore,
    numbers: NumbersOwner,
    ref: int,
    kind: ClientKind,
    by: By,
    limit: int,
    least_users: int,
) -> Neighbours:
    """Find the `limit` most similar clients of a kind.

    Leaves out the client itself, hidden items and clients without a vector; the list is empty
    if the client has no vector. Equal cosines are ordered by a seeded hash. The clients are
    compared in chunks; learning runs in between.

    Args:
        least_users: If more than one, items are compared by the catalogue's content instead of
            their profiles, which hold lines that rest on one user. By routers, only items that so
            many users chose are compared. Items that only events named, and fewer users than this
            chose, are left out.
    """
    applied_through = numbers.view.applied_through
    row = index_of(ref)
    own = await numbers.run(stack_vectors, get_kind(ref), by, row, row + 1, least_users)
    cosines = (
        await _compute_all_cosines(numbers, own[0], kind, by, least_users)
        if own.any()
        else np.empty(0)
    )
    if kind == get_kind(ref) and row < len(cosines):
        cosines[row] = -np.inf
    count = limit
    while True:
        best = _find_best(cosines, count, numbers.view.seed)
        clients = await store.get_clients([compute_ref(kind, row) for row in best])
        only_in_events = [client.ref for client in clients if client.only_in_events]
        unlisted = await numbers.find_rarely_chosen(only_in_events, least_users)
        listed = [one for one in clients if not one.hidden and one.ref not in unlisted]
        if len(listed) >= limit or len(best) < count:
            break
        count *= 2  # a shorter list would tell that an item is left out
    return Neighbours(
        [(client, float(cosines[index_of(client.ref)])) for client in listed[:limit]],
        applied_through,
    )


async def _compute_all_cosines(
    numbers: NumbersOwner, own: F64, kind: ClientKind, by: By, least_users: int
) -> F64:
    count = numbers.view.users if kind == ClientKind.USER else numbers.view.items
    parts = [
        await numbers.run(_compute_cosines, own, kind, by, start, start + CHUNK, least_users)
        for start in range(0, count, CHUNK)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def stack_vectors(
    view: NumbersView, kind: ClientKind, by: By, start: int, end: int, least_users: int
) -> F64:
    """Return the vectors by which clients are compared.

    By profile: the profile's vector. Without a profile: the catalogue's content of an item, the
    content of a user's history. By routers: a user's trust in taste routers, an item's taste lifts.
    Trust adds up lifts, so users and items can be compared; a retired router (trust -inf) counts 0.
    See `find_similar` for `least_users`.

    Returns:
        Vectors [n, D or K] of the rows from `start` to before `end`, as far as there are rows.
    """
    state = view.state
    rows = np.arange(start, min(end, view.users if kind == ClientKind.USER else view.items))
    if by == "routers":
        if kind == ClientKind.USER:
            return np.nan_to_num(state.taste.trust[rows].astype(np.float64), neginf=0.0)
        out = np.zeros((len(rows), state.taste.mass.shape[1]))
        for place, row in enumerate(rows):
            adopted = state.adoptions[row]
            if not is_withheld(adopted, state.limits) and adopted >= least_users:
                compute_lifts(state.taste, share_of(adopted, state.totals), row, out[place])
        return out
    if kind == ClientKind.ITEM and least_users > 1:
        return state.content[rows].astype(np.float64)
    profiles = state.user_profile if kind == ClientKind.USER else state.item_profile
    fallback = state.user_content if kind == ClientKind.USER else state.content
    chosen = profiles[rows]
    return np.where(chosen.any(axis=1, keepdims=True), chosen, fallback[rows]).astype(np.float64)


def _compute_cosines(
    view: NumbersView,
    own: F64,
    kind: ClientKind,
    by: By,
    start: int,
    end: int,
    least_users: int,
) -> F64:
    """Return cosines; -inf for clients without a vector and for hidden items."""
    others = stack_vectors(view, kind, by, start, end, least_users)
    norms = np.linalg.norm(others, axis=1) * np.linalg.norm(own)
    comparable = norms > 0
    if kind == ClientKind.ITEM:
        comparable &= view.state.visible[start : start + len(others)]
    cosines: F64 = np.divide(
        others @ own, norms, out=np.full(len(others), -np.inf), where=comparable
    )
    return cosines


def _find_best(cosines: F64, limit: int, seed: int) -> list[int]:
    candidates = np.flatnonzero(cosines > -np.inf)
    if len(candidates) > limit:
        cut = np.partition(cosines[candidates], len(candidates) - limit)[len(candidates) - limit]
        candidates = candidates[cosines[candidates] >= cut]
    keys = {int(row): int(mix_seed(np.uint64(row), np.uint64(seed))) for row in candidates}
    return sorted(keys, key=lambda row: (-cosines[row], keys[row]))[:limit]
