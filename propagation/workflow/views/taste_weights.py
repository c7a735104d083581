"""Weights of the taste routers for clients, as edges of the adoption policy use them."""

from collections.abc import Sequence

import numpy as np

from propagation.model import ClientKind, get_kind, index_of
from propagation.numbers import find_retired
from propagation.numbers.ranking.top_k import BY_TEXT, NO_ROUTER, list_taste_rows
from propagation.numbers.rules import START_SHARPNESS, find_softmax_largest
from propagation.workflow.views.numbers_view import NumbersView


def compute_taste_weights(
    view: NumbersView, refs: Sequence[int], count: int
) -> list[list[tuple[int, float]]]:
    """Return the `count` largest taste routers of each client, with their weights.

    The weight is pi for users and lift for items; a client that is not learned yet has none.
    """
    clients = np.array(refs, np.int64)
    routers = np.empty((len(clients), count), np.int64)
    values = np.empty((len(clients), count))
    list_taste_rows(
        view.state,
        clients >> 1,
        (clients & 1) == ClientKind.USER,
        clients,
        count,
        routers,
        values,
    )
    return [
        _compute_taste_of_text(view, ref, count)
        if row[0] == BY_TEXT
        else [
            (router, value)
            for router, value in zip(row, weights, strict=True)
            if router != NO_ROUTER
        ]
        for ref, row, weights in zip(refs, routers.tolist(), values.tolist(), strict=True)
    ]


def _compute_taste_of_text(view: NumbersView, ref: int, count: int) -> list[tuple[int, float]]:
    """Weigh routers by the text alone: softmax(8 z.C_k).

    An item's start mass is computed in the same way.

    Returns:
        At most `count` pairs of router and weight, largest first; none for a client without a
        vector.
    """
    row, state = index_of(ref), view.state
    profile = state.user_profile[row] if get_kind(ref) == ClientKind.USER else state.content[row]
    if not profile.any():
        return []
    logits = START_SHARPNESS * (state.taste.centres @ profile).astype(np.float64)
    is_retired = find_retired(state.taste)
    logits[is_retired] = -np.inf
    routers, values = find_softmax_largest(
        logits, min(count, len(state.taste.centres)), ref, state.seed
    )
    return [
        (int(routers[place]), float(values[place]))
        for place in np.argsort(-values, kind="stable")
        if not is_retired[routers[place]]
    ]
