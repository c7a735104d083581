"""Adoption mass and lift (OFFLINE_ROUTING.md, State and rules 1, 2 and 5)."""

import numpy as np
from numba import njit

PRIOR = 50.0
START_MASS = 0.2
START_SHARPNESS = 8.0


@njit(cache=True)
def share(state, item):
    """P_i: the item's smoothed share of all adoptions."""
    return (state.adoptions[item] + 0.5) / (state.totals[0] + 0.5 * state.totals[1])


@njit(cache=True)
def lift(bank, share_of_item, item, router):
    """Rule 1: l_k(i) = ln((N[i,k] + 50 P_i) / ((n_k + 50) P_i)). 0: as everywhere; above: more here than elsewhere."""
    return np.log((bank.mass[item, router] + PRIOR * share_of_item) / ((bank.total[router] + PRIOR) * share_of_item))


@njit(cache=True)
def lifts(bank, share_of_item, item, out):
    """Rule 1 for every router of a bank: an item's own row (out [K])."""
    for router in range(bank.mass.shape[1]):
        out[router] = lift(bank, share_of_item, item, router)


@njit(cache=True)
def reading(bank, weights, state, item):
    """Rule 2: s(u,i) = ln sum_k pi_k exp l_k(i), pi given as (routers, values)."""
    routers, values = weights
    p = share(state, item)
    total = 0.0
    for place in range(len(routers)):
        router = routers[place]
        total += values[place] * (bank.mass[item, router] + PRIOR * p) / (bank.total[router] + PRIOR)
    return np.log(total / p)


@njit(cache=True)
def start_mass(bank, item, direction):
    """N[i,k] = .2 softmax_k(8 z_i.C_k); n follows."""
    routers = bank.mass.shape[1]
    cosines = np.empty(routers)
    for router in range(routers):
        cosines[router] = START_SHARPNESS * np.dot(direction, bank.centres[router])
    powers = np.exp(cosines - cosines.max())
    powers *= START_MASS / powers.sum()
    for router in range(routers):
        bank.mass[item, router] = powers[router]
        bank.total[router] += np.float64(bank.mass[item, router])


@njit(cache=True)
def write(bank, item, routers, weights):
    """Rule 5: N[i,k] += q_k, n_k += q_k."""
    for place in range(len(routers)):
        if weights[place] > 0:
            bank.mass[item, routers[place]] += weights[place]
            bank.total[routers[place]] += np.float64(weights[place])
