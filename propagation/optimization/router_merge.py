"""Merge of routers that stand for one community.

Here such routers are found, and what they stand for together.

Source: RecNet 2.4.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.model import RouterVersion
from propagation.routing import largest_weights

ITEMS_A_PART = 8_192


def router_similarities(
    mass: NDArray[np.float32],
    total: NDArray[np.float64],
    adoptions: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Compare routers by what was adopted through them.

    A router is the vector N[i,k] / n_k / sqrt(P_i) over items: the share of its mass that an item
    has, weighed so that popular items do not drown the others. Two routers without a taste of their
    own are alike, too.

    Args:
        mass: N [I, K].
        total: n [K].
        adoptions: By item [I].
        totals: As in State.totals.

    Returns:
        Cosines (0..1) [K, K]; -1 on the diagonal, and where a router has no mass.
    """
    routers = len(total)
    gram = np.zeros((routers, routers))
    scale = np.where(total > 0, 1 / np.maximum(total, 1e-12), 0)
    for start in range(0, len(mass), ITEMS_A_PART):
        share = (adoptions[start : start + ITEMS_A_PART] + 0.5) / (totals[0] + 0.5 * totals[1])
        shares = mass[start : start + ITEMS_A_PART] * scale / np.sqrt(share)[:, None]
        gram += shares.T @ shares
    norms = np.sqrt(np.diag(gram))
    norms[total <= 0] = np.inf
    out: NDArray[np.float64] = (
        gram / np.maximum(norms, 1e-12)[:, None] / np.maximum(norms, 1e-12)[None, :]
    )
    out[~np.isfinite(norms)] = out[:, ~np.isfinite(norms)] = -1
    np.fill_diagonal(out, -1)
    return out


def merged_standing(versions: Sequence[RouterVersion]) -> dict[str, float]:
    """Add up what merged routers stand for."""
    sums: dict[str, float] = {}
    for version in versions:
        for name, weight in version.standing:
            sums[name] = sums.get(name, 0.0) + weight
    return largest_weights(sums)
