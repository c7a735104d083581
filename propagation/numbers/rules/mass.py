"""Adoption mass and lift (docs/numbers.md, rules 1, 2 and 5)."""

import numpy as np

from propagation.numbers.kernels import kernel
from propagation.numbers.products import multiply_rows

PRIOR = 50.0
START_MASS = 0.2
START_SHARPNESS = 8.0


@kernel
def share_of(adopted, totals):
    """Return P_i, an item's smoothed share of all adoptions.

    Args:
        adopted: The item's adoptions.
    """
    return (adopted + 0.5) / (totals[0] + 0.5 * totals[1])


@kernel
def compute_lift(mass, total, share_of_item):
    """Return an item's lift (rule 1) in a router.

    l_k(i) = ln((N[i,k] + 50 P_i) / ((n_k + 50) P_i)).

    0 means as popular as everywhere, above 0 more popular here.
    """
    return np.log((mass + PRIOR * share_of_item) / ((total + PRIOR) * share_of_item))


@kernel
def compute_lifts(bank, share_of_item, item, out):
    """Fill `out` [K] with the lift of rule 1 for each router."""
    mass, total = bank.mass, bank.total
    for router in range(mass.shape[1]):
        out[router] = compute_lift(mass[item, router], total[router], share_of_item)


@kernel
def compute_readings(bank, weights, adoptions, totals, items, out):
    """Fill `out` with the reading of rule 2 for each item.

    s(u,i) = ln sum_k pi_k exp l_k(i).

    Args:
        weights: pi as (routers, values).
        items: [n].
        out: [n], filled.
    """
    routers, values = weights
    dense = np.zeros(bank.mass.shape[1], np.float32)
    prior = 0.0
    for place in range(len(routers)):
        one = values[place] / (bank.total[routers[place]] + PRIOR)
        dense[routers[place]] = one
        prior += PRIOR * one
    multiply_rows(bank.mass, items, dense, out)
    for place in range(len(items)):
        out[place] = np.log(out[place] / share_of(adoptions[items[place]], totals) + prior)


@kernel
def start_mass(bank, item, direction):
    """Set the start: N[i,k] = .2 softmax_k(8 z_i . C_k); n follows."""
    routers = bank.mass.shape[1]
    cosines = np.empty(routers)
    for router in range(routers):
        cosines[router] = START_SHARPNESS * np.dot(direction, bank.centres[router])
    powers = np.exp(cosines - cosines.max())
    powers *= START_MASS / powers.sum()
    for router in range(routers):
        bank.mass[item, router] = powers[router]
        bank.total[router] += np.float64(bank.mass[item, router])


@kernel
def write(bank, item, routers, weights):
    """Apply rule 5: N[i,k] += q_k, n_k += q_k."""
    mass, total = bank.mass, bank.total
    for place in range(len(routers)):
        if weights[place] > 0:
            mass[item, routers[place]] += weights[place]
            total[routers[place]] += np.float64(weights[place])
