"""Which routers hold one community: the cosine of what was adopted through them."""

import numpy as np
from numpy.typing import NDArray

ITEMS_A_PART = 8_192


def likeness(
    mass: NDArray[np.float32],
    total: NDArray[np.float64],
    adoptions: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> NDArray[np.float64]:
    """[K,K] cosines (0..1) of routers as vectors over items, N[i,k] / n_k / sqrt(P_i): what share
    of a router's mass an item has, weighed so that popular items do not drown the others. Two
    routers without a taste of their own are alike, too. mass [I,K], total [K], adoptions [I]; -1 on
    the diagonal and where a router has no mass."""
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
