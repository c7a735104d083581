"""Merge of routers that stand for one community.

This module compares routers, and sums what two of them stand for. workflow/evolve/planner.py picks
the pair, and the reasoner decides (adapters/openai/prompts/evolve.py, adapters/offline/evolve.py).
numbers/evolved_bank.py adds the numbers.

Source: RecNet 2.4.
"""

from collections.abc import Sequence

import numpy as np

from propagation.model import F32, F64, RouterVersion, sum_pairs
from propagation.routing import find_largest_weights

ITEMS_A_PART = 8_192


def compute_router_similarities(gram: F64) -> F64:
    """Compare routers by what was adopted through them.

    Args:
        gram: As of `compute_router_products`.

    Returns:
        Cosines (0..1) [K, K]; -1 on the diagonal, and where a router has no mass.
    """
    norms = np.sqrt(np.diag(gram))
    norms[norms <= 0] = np.inf
    out: F64 = gram / np.maximum(norms, 1e-12)[:, None] / np.maximum(norms, 1e-12)[None, :]
    out[~np.isfinite(norms)] = out[:, ~np.isfinite(norms)] = -1
    np.fill_diagonal(out, -1)
    return out


def compute_merge_costs(gram: F64, total: F64) -> F64:
    """Compute how much worse two routers explain their adoptions as one.

    The cost is half of Pearson's statistic for two samples from one distribution, and so about the
    log likelihood that a merge loses. A small router costs little, so no router swallows all
    others.

    Args:
        gram: As of `compute_router_products`.
        total: n [K].

    Returns:
        Nats (0 or more) [K, K]; infinite on the diagonal.
    """
    square = np.diag(gram)
    sizes = total[:, None] * total[None, :] / np.maximum(total[:, None] + total[None, :], 1e-12)
    out: F64 = sizes * np.maximum(square[:, None] + square[None, :] - 2 * gram, 0) / 2
    np.fill_diagonal(out, np.inf)
    return out


def compute_router_products(mass: F32, total: F64, adoptions: F64, totals: F64) -> F64:
    """Compute the dot products of the routers' vectors of adoptions.

    A router's vector over the items i is N[i,k] / n_k / sqrt(P_i): the item's share of the router's
    mass, weighed so that popular items do not drown the others. Two routers without a taste of
    their own are alike, too.

    Args:
        mass: N [I, K].
        total: n [K].
        adoptions: How many users adopted each item [I].
        totals: As in State.totals.

    Returns:
        Dot products [K, K]; 0 where a router has no mass.
    """
    gram = np.zeros((len(total), len(total)))
    scale = np.where(total > 0, 1 / np.maximum(total, 1e-12), 0)
    for start in range(0, len(mass), ITEMS_A_PART):
        share = (adoptions[start : start + ITEMS_A_PART] + 0.5) / (totals[0] + 0.5 * totals[1])
        shares = mass[start : start + ITEMS_A_PART] * scale / np.sqrt(share)[:, None]
        gram += shares.T @ shares
    return gram


def merge_standing(versions: Sequence[RouterVersion]) -> dict[str, float]:
    """Add up what merged routers stand for."""
    return find_largest_weights(
        sum_pairs(pair for version in versions for pair in version.standing)
    )
