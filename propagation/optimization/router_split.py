"""Split a router's community in two (RecNet 2.4): seeded 2-means over the unit vectors of the users
who wrote to it."""

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
STARTS, ROUNDS = 3, 25


def two_means(vectors: F32, weights: NDArray[np.float64], seed: int) -> F32:
    """Centres [2,D] of unit length that maximise the sum of weight times cosine of each unit vector
    [n,D] with its nearer centre; weights [n] > 0. The best of three seeded starts; the same input
    gives the same centres. Two equal centres where all vectors are one."""
    rng = np.random.default_rng(seed)
    found = [_from_start(vectors, weights, rng) for _ in range(STARTS)]
    return max(found, key=lambda centres: float(weights @ (vectors @ centres.T).max(axis=1)))


def nearer_second(vectors: F32, centres: F32) -> NDArray[np.bool_]:
    """[n]: who is nearer to the second centre."""
    cosines = vectors @ centres.T
    nearer: NDArray[np.bool_] = cosines[:, 1] > cosines[:, 0]
    return nearer


def _from_start(vectors: F32, weights: NDArray[np.float64], rng: np.random.Generator) -> F32:
    first = vectors[_drawn(weights, rng)]
    apart = weights * np.maximum(1 - vectors @ first, 0)
    centres = np.stack([first, vectors[_drawn(apart, rng)] if apart.sum() > 0 else first])
    before = nearer_second(vectors, centres)
    for _ in range(ROUNDS):
        for place, mine in enumerate((~before, before)):
            centre = weights[mine] @ vectors[mine]
            norm = np.linalg.norm(centre)
            if norm > 0:
                centres[place] = centre / norm
        after = nearer_second(vectors, centres)
        if (after == before).all():
            break
        before = after
    return centres


def _drawn(weights: NDArray[np.float64], rng: np.random.Generator) -> int:
    """A place, in proportion to the weights."""
    sums = np.cumsum(weights)
    return min(int(np.searchsorted(sums, rng.random() * sums[-1], side="right")), len(weights) - 1)
