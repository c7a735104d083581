"""Trust and routing weights (docs/numbers.md, rules 2, 4 and 5)."""

import numpy as np

from propagation.numbers.kernels import kernel
from propagation.numbers.seeded_hash import mix_seed

LIFT_CLIP = 3.0


@kernel
def find_largest(values, count, user, seed):
    """Return the places of the `count` largest values.

    A seeded hash breaks ties.
    """
    size = len(values)
    if count >= size:
        return np.arange(size)
    threshold = np.partition(values, size - count)[size - count]
    chosen = np.empty(count, np.int64)
    filled = 0
    ties = 0
    for place in range(size):
        if values[place] > threshold:
            chosen[filled] = place
            filled += 1
        elif values[place] == threshold:
            ties += 1
    if ties == count - filled:
        for place in range(size):
            if values[place] == threshold:
                chosen[filled] = place
                filled += 1
        return chosen
    tied = np.empty(ties, np.int64)
    order = np.empty(ties, np.float64)
    found = 0
    for place in range(size):
        if values[place] == threshold:
            tied[found] = place
            order[found] = np.float64(
                mix_seed(np.uint64(user) * np.uint64(65_537) + np.uint64(place), seed)
            )
            found += 1
    ranks = np.argsort(order)
    for place in range(count - filled):
        chosen[filled + place] = tied[ranks[place]]
    return chosen


@kernel
def find_softmax_largest(logits, count, user, seed):
    """Return (routers, values): the `count` largest of softmax(logits), renormalised."""
    routers = find_largest(logits, count, user, seed)
    values = np.exp(logits[routers] - logits.max())
    return routers, values / values.sum()


@kernel
def compute_routing_weights(bank, user, count, seed):
    """Return the largest of softmax(g L_u), renormalised.

    They are pi for count 32, and q for count 16.
    """
    return find_softmax_largest(
        bank.sharpness * bank.trust[user].astype(np.float64), count, user, seed
    )


@kernel
def add_trust(bank, user, increments):
    """Apply rule 4: L[u,k] <- d L[u,k] + increment_k."""
    trust, discount = bank.trust, np.float32(bank.discount)
    for router in range(trust.shape[1]):
        trust[user, router] = discount * trust[user, router] + increments[router]
