"""A seeded force layout for a drawing's nodes and labels."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

STEPS = 100
GRAVITY = 0.02
MIN_LENGTH, FIRST_MOVE = 0.01, 0.1
MIN_DISTANCE = 1e-3
MOST_PUSHES = 200


def compute_force_layout(weights: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Place nodes that pull each other near, all others apart.

    Each node is moved along the sum of its forces, by less from step to step (Fruchterman and
    Reingold, 1991).

    Args:
        weights: Symmetric pulls [N, N], at least 0.

    Returns:
        Places [N, 2] in -1..1, around 0.
    """
    nodes = len(weights)
    distance = 1 / max(nodes, 1) ** 0.5
    # A weak pull between all nodes keeps those without a link on the page.
    pulls = weights + GRAVITY * max(float(weights.max(initial=0.0)), 1.0)
    places = np.random.default_rng(seed).random((nodes, 2))
    for step in range(STEPS):
        gaps = places[:, None] - places
        lengths = np.maximum(np.hypot(gaps[..., 0], gaps[..., 1]), MIN_LENGTH)
        pushes = distance**2 / lengths**2 - pulls * lengths / distance
        forces = (pushes[..., None] * gaps).sum(axis=1)
        strengths = np.maximum(np.hypot(*forces.T), MIN_LENGTH)
        longest = FIRST_MOVE * (1 - step / STEPS)
        places += forces * np.minimum(1.0, longest / strengths)[:, None]
    places -= places.mean(axis=0)
    return places / max(float(np.abs(places).max(initial=0.0)), MIN_LENGTH)


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
