"""A seeded force layout for a drawing's nodes and labels."""

from itertools import combinations

import networkx
import numpy as np
from numpy.typing import NDArray

STEPS = 60
MIN_DISTANCE = 1e-3
MOST_PUSHES = 200


def compute_force_layout(weights: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Place nodes that pull each other near, all others apart.

    Args:
        weights: Symmetric pulls [N, N], at least 0.

    Returns:
        Places [N, 2] in -1..1.
    """
    graph = networkx.from_numpy_array(weights)
    # Gravity keeps nodes without a link on the page.
    places = networkx.spring_layout(
        graph, iterations=STEPS, seed=seed, method="energy", gravity=1.0
    )
    return np.array(list(places.values())).reshape(-1, 2)


def spread_labels(centres: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Push overlapping labels apart.

    Args:
        centres: Where the labels should be, [N, 2].
        sizes: Their widths and heights, [N, 2].

    Returns:
        Centres [N, 2] whose boxes do not overlap, if MOST_PUSHES were enough.
    """
    places = centres.copy()
    for _ in range(MOST_PUSHES):
        moved = False
        for other, one in combinations(range(len(places)), 2):
            gap = places[one] - places[other]
            overlap = (sizes[one] + sizes[other]) / 2 - np.abs(gap)
            if (overlap > 0).all():
                axis = int(np.argmin(overlap))
                shift = (overlap[axis] / 2 + MIN_DISTANCE) * (1.0 if gap[axis] >= 0 else -1.0)
                places[one, axis] += shift
                places[other, axis] -= shift
                moved = True
        if not moved:
            break
    return places


def shorten(label: str, most: int) -> str:
    """Cut a label to at most so many characters.

    A longer one ends in an ellipsis.
    """
    return label if len(label) <= most else label[: most - 1].rstrip(" ,") + "…"
