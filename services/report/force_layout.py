"""Places for the nodes of a picture: a force layout, seeded."""

import numpy as np
from numpy.typing import NDArray

ROUNDS = 220
STEP, COOLING = 0.12, 0.985
NEAREST = 1e-3


def force_layout(weights: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """[N,2] places in -1..1 for a symmetric matrix of pulls [N,N] >= 0: what pulls lies near,
    everything else apart (Fruchterman and Reingold, 1991)."""
    count = len(weights)
    places = _spectral(weights, seed)
    spring = 1.6 / np.sqrt(max(count, 1))
    step = STEP
    for _ in range(ROUNDS):
        gaps = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.linalg.norm(gaps, axis=2), NEAREST)
        push = spring**2 / distance**2 - weights * distance / spring
        moves = np.einsum("ij,ijd->id", push, gaps) - 0.3 * spring * places
        lengths = np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), NEAREST)
        places = places + moves / lengths * np.minimum(lengths, step)
        step *= COOLING
    places -= places.mean(axis=0)
    return places / max(float(np.abs(places).max()), NEAREST)


def _spectral(weights: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """A start in which groups lie apart already: the two slow directions of the graph, a little
    shaken."""
    degrees = np.maximum(weights.sum(axis=1), NEAREST)
    scaled = weights / np.sqrt(degrees)[:, None] / np.sqrt(degrees)[None, :]
    _, vectors = np.linalg.eigh(scaled)
    start = vectors[:, -3:-1] if len(weights) > 2 else np.zeros((len(weights), 2))
    shake = np.random.default_rng(seed).normal(0, 0.05, (len(weights), 2))
    return np.asarray(
        start / max(float(np.abs(start).max(initial=0.0)), NEAREST) + shake, np.float64
    )


def spread_labels(
    wanted: NDArray[np.float64], sizes: NDArray[np.float64], rounds: int = 200
) -> NDArray[np.float64]:
    """Label centres [N,2] near the wanted ones whose boxes sizes [N,2] do not overlap: overlapping
    pairs are pushed apart."""
    places = wanted.copy()
    for _ in range(rounds):
        moved = False
        for one in range(len(places)):
            for other in range(one):
                gap = places[one] - places[other]
                overlap = (sizes[one] + sizes[other]) / 2 - np.abs(gap)
                if (overlap > 0).all():
                    axis = int(np.argmin(overlap))
                    shift = (overlap[axis] / 2 + NEAREST) * (1.0 if gap[axis] >= 0 else -1.0)
                    places[one, axis] += shift
                    places[other, axis] -= shift
                    moved = True
        if not moved:
            break
    return places
