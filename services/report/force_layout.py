"""A seeded force layout for a drawing's nodes and labels."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

STEPS = 220
FIRST_STEP, COOLING = 0.12, 0.985
MIN_DISTANCE = 1e-3
MOST_PUSHES = 200


def compute_force_layout(weights: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Place nodes that pull each other near, all others apart.

    Source: Fruchterman and Reingold, 1991.

    Args:
        weights: Symmetric pulls [N, N], at least 0.

    Returns:
        Places [N, 2] in -1..1.
    """
    count = len(weights)
    places = _compute_spectral_layout(weights, seed)
    spring = 1.6 / np.sqrt(max(count, 1))
    for step in FIRST_STEP * COOLING ** np.arange(STEPS):
        gaps = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.linalg.norm(gaps, axis=2), MIN_DISTANCE)
        push = spring**2 / distance**2 - weights * distance / spring
        moves = np.einsum("ij,ijd->id", push, gaps) - 0.3 * spring * places
        lengths = np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), MIN_DISTANCE)
        places = places + moves / lengths * np.minimum(lengths, step)
    places -= places.mean(axis=0)
    return places / max(float(np.abs(places).max()), MIN_DISTANCE)


def _compute_spectral_layout(weights: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Start with groups apart.

    The places are the two slow directions of the graph, a little shaken.
    """
    degrees = np.maximum(weights.sum(axis=1), MIN_DISTANCE)
    scaled = weights / np.sqrt(degrees)[:, None] / np.sqrt(degrees)[None, :]
    _, vectors = np.linalg.eigh(scaled)
    start = vectors[:, -3:-1] if len(weights) > 2 else np.zeros((len(weights), 2))
    shake = np.random.default_rng(seed).normal(0, 0.05, (len(weights), 2))
    return np.asarray(
        start / max(float(np.abs(start).max(initial=0.0)), MIN_DISTANCE) + shake, np.float64
    )


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
