"""Kernels that take back what interactions wrote, for retraction and erasure.

`workflow/forget` decides what is taken back.

Source: docs/design.md, "State".
"""

import numpy as np

from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.learn import CONTENT_DECAY, compute_increments
from propagation.numbers.rules import (
    CO_DECAY,
    CO_HISTORY,
    EMPTY,
    RECENT_HALF_LIFE,
    add_trust,
    count_together,
    find_place,
    find_slot,
    normalize_vector,
)
from propagation.numbers.seeded_hash import mix_seed

LEAST_TOGETHER = 1e-6


@kernel
def unwrite(bank, item, routers, weights):
    """Undo rule 5 for one adoption.

    N[i,k] -= q_k and n_k -= q_k. Rounding never leaves less than zero.
    """
    mass, total = bank.mass, bank.total
    for place in range(len(routers)):
        if weights[place] > 0:
            taken = min(mass[item, routers[place]], weights[place])
            mass[item, routers[place]] -= taken
            total[routers[place]] -= np.float64(taken)


@kernel
def empty_row(bank, item):
    """Remove an item from a bank: its whole mass, the start included."""
    for router in range(bank.mass.shape[1]):
        bank.total[router] -= np.float64(bank.mass[item, router])
        bank.mass[item, router] = 0.0


@kernel
def fade_recent(recent, recent_at, item, learned_at):
    """Take one adoption out of an item's recent popularity.

    Args:
        recent: Recent popularity of each item [I].
        recent_at: How many interactions were learned when it was last updated [I].
        learned_at: How many were learned before the adoption.
    """
    faded = np.exp(-(np.log(2.0) / RECENT_HALF_LIFE) * (recent_at[item] - learned_at))
    recent[item] = max(recent[item] - faded, 0.0)


@kernel(nogil=True)
def compute_own_sums(content, attributes, first, parts, content_sum, attribute_sum):
    """Compute a user's decayed sums over its interactions in order.

    Args:
        content: [n,D] of the interactions' items; likewise attributes.
        parts: [n,D] filled with what each first adoption added to its item's adopters' sum.
    """
    content_sum[:] = 0.0
    attribute_sum[:] = 0.0
    for row in range(len(content)):
        content_sum[:] = np.float32(CONTENT_DECAY) * content_sum + content[row]
        attribute_sum[:] = np.float32(CONTENT_DECAY) * attribute_sum + attributes[row]
        parts[row] = normalize_vector(content_sum) if first[row] else np.zeros_like(content_sum)


@kernel(nogil=True)
def fill_own_pairs(items, first, pairs, weights):
    """Fill a user's part of co, in the order of learning.

    Args:
        pairs: (item, other) [n*20,2]; with their weights.

    Returns:
        Its size.
    """
    count = 0
    for row in range(len(items)):
        if not first[row]:
            continue
        weight = np.float32(1.0)
        for age in range(min(row, CO_HISTORY)):
            other = items[row - 1 - age]
            if other != items[row]:
                pairs[count, 0], pairs[count, 1] = items[row], other
                weights[count] = weight
                count += 1
            weight *= np.float32(CO_DECAY)
    return count


@kernel(nogil=True)
def add_together(neighbour, together, filled, adoptions, items, others, weights):
    """Add weights of either sign to co[item, other].

    A count that falls to zero gives up its place.
    """
    for row in range(len(items)):
        item, other = items[row], others[row]
        if weights[row] > 0:
            count_together(
                neighbour, together, filled, item, other, np.float32(weights[row]), adoptions
            )
            continue
        place = find_place(neighbour, item, filled[item], other)
        if place >= 0:
            together[item, place] += np.float32(weights[row])
            if together[item, place] < LEAST_TOGETHER:
                _leave_place(neighbour, together, filled, item, place)


@inner_kernel
def _leave_place(neighbour, together, filled, item, place):
    """Remove a place, with the others in their order.

    The order matters: of equally near ones the older is the nearer.
    """
    for following in range(place, filled[item] - 1):
        neighbour[item, following] = neighbour[item, following + 1]
        together[item, following] = together[item, following + 1]
    filled[item] -= 1


@kernel(nogil=True)
def drop_neighbour(neighbour, together, filled, items, item):
    """Remove an item from every row of co, and empty its own."""
    for row in range(items):
        place = find_place(neighbour, row, filled[row], item)
        if place >= 0:
            _leave_place(neighbour, together, filled, row, place)
    filled[item] = 0


@kernel
def forget_trust(bank, user):
    """Set a user's trust as before the first interaction.

    Retired routers stay at -inf.
    """
    for router in range(bank.trust.shape[1]):
        if not np.isneginf(bank.trust[user, router]):
            bank.trust[user, router] = 0.0


@kernel(nogil=True)
def recompute_own_trust(state, user, items, weights):
    """Apply rule 4 again over a user's interactions.

    The lifts are as they are now.
    """
    forget_trust(state.session, user)
    forget_trust(state.taste, user)
    increments = np.empty(
        (2, max(state.session.mass.shape[1], state.taste.mass.shape[1])), np.float32
    )
    for row in range(len(items)):
        compute_increments(state, items[row], weights[row], increments)
        add_trust(state.session, user, increments[0])
        add_trust(state.taste, user, increments[1])


@kernel(nogil=True)
def drop_keys(table, keys):
    """Remove keys from a hash set.

    The following keys move up, so that look-ups still end.
    """
    mask = len(table) - 1
    for key in keys:
        gap = find_slot(table, key)
        if table[gap] == EMPTY:
            continue
        place = (gap + 1) & mask
        while table[place] != EMPTY:
            home = np.int64(mix_seed(np.uint64(table[place]), np.uint64(0)) & np.uint64(mask))
            if ((place - home) & mask) >= ((place - gap) & mask):
                table[gap] = table[place]
                gap = place
            place = (place + 1) & mask
        table[gap] = EMPTY
