"""The largest of many scores.

The scores are of items in one read, or of routers for many clients.
"""

import numpy as np

from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.limits import is_withheld
from propagation.numbers.ranking.quantised_scores import LANES
from propagation.numbers.rules import (
    READ_ROUTERS,
    compute_lifts,
    compute_routing_weights,
    find_largest,
    share_of,
)
from propagation.numbers.seeded_hash import mix_seed
from propagation.numbers.state import ITEMS, USERS

FEW_GROUPS, FEW_LANES = 4, 8
ITEM_STRIDE = 1_000_003


@inner_kernel
def _compute_tie_key(user, item, seed):
    return np.float64(
        mix_seed(np.uint64(user + 1) * np.uint64(ITEM_STRIDE) + np.uint64(item), seed)
    )


@inner_kernel(fastmath={"nnan", "nsz"})
def _select_best_by_group(scores, width):
    best = np.empty(len(scores) // width, np.float32)
    for group in range(len(best)):
        largest = np.float32(-np.inf)
        for item in range(group * width, (group + 1) * width):
            largest = max(largest, scores[item])
        best[group] = largest
    return best


@kernel
def _find_best(scores, count):
    """Return items that may be among the `count` best.

    Looks at the best of each group of neighbours first, so that most items are never looked at.
    """
    width = LANES if len(scores) > FEW_GROUPS * LANES * count else FEW_LANES
    best = _select_best_by_group(scores, width)
    groups = len(best)
    threshold = (
        np.partition(best, groups - count)[groups - count]
        if groups > count
        else np.float32(-np.inf)
    )
    chosen = np.empty(len(scores), np.int64)
    filled = 0
    for group in range(groups):
        if best[group] < threshold or best[group] == -np.inf:
            continue
        for item in range(group * width, (group + 1) * width):
            if scores[item] >= threshold and scores[item] > -np.inf:
                chosen[filled] = item
                filled += 1
    return chosen[:filled]


@kernel
def select_best_rows(scores, count, user, seed):
    """Return the rows of the `count` best scores.

    A seeded hash of (client, item) breaks ties.
    """
    rows = _find_best(scores, count)
    if len(rows) <= count:
        return rows
    values = scores[rows]
    cut = np.partition(values, len(values) - count)[len(values) - count]
    out = np.empty(count, np.int64)
    filled = 0
    tied = np.empty(len(rows), np.int64)
    keys = np.empty(len(rows))
    ties = 0
    for place in range(len(rows)):
        if values[place] > cut:
            out[filled] = rows[place]
            filled += 1
        elif values[place] == cut:
            tied[ties] = rows[place]
            keys[ties] = _compute_tie_key(user, rows[place], seed)
            ties += 1
    order = np.argsort(keys[:ties])
    for place in range(count - filled):
        out[filled + place] = tied[order[place]]
    return out


@kernel
def sort_by_score(rows, scores, user, seed):
    """Return places by descending score.

    A seeded hash of (client, item) breaks ties.
    """
    keys = np.empty(len(rows))
    for place in range(len(rows)):
        keys[place] = _compute_tie_key(user, rows[place], seed)
    by_key = np.argsort(keys, kind="mergesort")
    return by_key[np.argsort(-scores[by_key], kind="mergesort")]


NO_ROUTER, BY_TEXT = -1, -2


@kernel(nogil=True)
def list_taste_rows(state, rows, users, refs, count, routers, values):
    """Return the largest taste routers of each client.

    Args:
        rows: [n] of users or items.
        users: [n] bool: a user's row, else an item's.

    Returns:
        Routers [n, count], largest first, and their values [n, count]: pi of users, lift of
        items. NO_ROUTER fills empty places. BY_TEXT in the first place: only the client's text
        may be read.
    """
    for place in range(len(rows)):
        routers[place] = NO_ROUTER
        row = rows[place]
        if users[place]:
            if row < state.clock[USERS] and not state.history_length[row]:
                routers[place, 0] = BY_TEXT
            elif row < state.clock[USERS]:
                chosen, weights = compute_routing_weights(
                    state.taste, row, READ_ROUTERS, state.seed
                )
                _put(state.taste.trust[0], chosen, weights, routers[place], values[place])
        elif row < state.clock[ITEMS]:
            if is_withheld(state.adoptions[row], state.limits):
                routers[place, 0] = BY_TEXT
                continue
            row_lifts = np.empty(state.taste.mass.shape[1])
            share = share_of(state.adoptions[row], state.totals)
            compute_lifts(state.taste, share, row, row_lifts)
            for router in range(len(row_lifts)):
                if state.taste.trust[0, router] == -np.inf:
                    row_lifts[router] = -np.inf
            chosen = find_largest(row_lifts, min(count, len(row_lifts)), refs[place], state.seed)
            _put(state.taste.trust[0], chosen, row_lifts[chosen], routers[place], values[place])


@inner_kernel
def _put(first_trust, chosen, weights, routers, values):
    """Write the largest routers that are not retired.

    Args:
        first_trust: Trust of any one user [K]; -inf marks retired routers.
    """
    filled = 0
    for place in np.argsort(-weights, kind="mergesort")[: len(routers)]:
        if first_trust[chosen[place]] != -np.inf:
            routers[filled] = chosen[place]
            values[filled] = weights[place]
            filled += 1
