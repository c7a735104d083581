"""Initial clustering: seeded spherical k-means finds the routers' centres.

Each of K routers gets one centre.

The clustered vectors are those of the items' texts or, as in the paper, those of the clients'
attributes (the setting `centres`; see workflow/bootstrap and `docs/numbers.md`).

Source: RecNet 2.2.1.
"""

import numpy as np

from propagation.arrays import F32, I64

MAX_ITERATIONS = 25
SETTLED = 1e-4
SAME = 1e-6
BLOCK = 8_192
START_SAMPLE = 100
WORST = 8


def run_spherical_kmeans(vectors: F32, k: int, seed: int) -> F32:
    """Find k centres that maximise each vector's cosine with the nearest one.

    The same input and seed give the same centres. If there are at most k vectors, each distinct
    direction is a centre, and the other centres are seeded random directions. No vector is nearest
    to a random direction until new vectors arrive.

    Args:
        vectors: Rows [n, D], of any length; rows of length zero or not finite are left out.
        k: How many centres, at least 1.
        seed: Seed of the start and of the random directions.

    Returns:
        Unit rows [k, D].
    """
    rng = np.random.default_rng(seed)
    points = _draw_directions(vectors)
    if len(points) <= k:
        distinct = np.unique(points, axis=0)
        return np.concatenate(
            [distinct, draw_random_directions(rng, k - len(distinct), vectors.shape[1])]
        )
    centres = _spread_start(points, k, rng)
    before = -np.inf
    for _ in range(MAX_ITERATIONS):
        nearest, cosines = find_nearest_centres(points, centres)
        total = float(cosines.mean(dtype=np.float64))
        if total - before < SETTLED:
            break
        before = total
        centres = _compute_means(points, nearest, cosines, k, rng)
    return centres


def find_nearest_centres(vectors: F32, centres: F32) -> tuple[I64, F32]:
    """Find the nearest centre of each vector.

    Args:
        vectors: Unit rows [n, D].
        centres: Unit rows [K, D].

    Returns:
        Rows of the nearest centres [n], and the cosines with them [n].
    """
    nearest = np.empty(len(vectors), np.int64)
    cosines = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK] @ centres.T
        places = block.argmax(axis=1)
        nearest[start : start + BLOCK] = places
        cosines[start : start + BLOCK] = block[np.arange(len(places)), places]
    return nearest, cosines


def draw_random_directions(rng: np.random.Generator, count: int, dimension: int) -> F32:
    """Draw unit vectors [count, D]."""
    vectors = rng.standard_normal((count, dimension), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _draw_directions(vectors: F32) -> F32:
    vectors = np.ascontiguousarray(vectors, np.float32)
    norms = np.linalg.norm(vectors, axis=1)
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(norms) & (norms > 0)
    points: F32 = vectors[usable] / norms[usable, None]
    return points


def _spread_start(points: F32, k: int, rng: np.random.Generator) -> F32:
    """Choose k starting points by k-means++ on the sphere.

    Each next point is drawn in proportion to its distance (1 - cosine) from the nearest chosen one.
    Once every point lies on a chosen one, the rest are random directions.
    """
    sample = points[rng.permutation(len(points))[: START_SAMPLE * k]]
    chosen = [sample[0]]
    distance = 1 - sample @ chosen[0]
    while len(chosen) < k:
        mass = np.cumsum(np.where(distance > SAME, distance, 0), dtype=np.float64)
        if mass[-1] <= 0:
            break
        chosen.append(sample[np.searchsorted(mass, rng.random() * mass[-1], side="right")])
        np.minimum(distance, 1 - sample @ chosen[-1], out=distance)
    return np.concatenate(
        [np.stack(chosen), draw_random_directions(rng, k - len(chosen), points.shape[1])]
    )


def _compute_means(
    points: F32, nearest: I64, cosines: F32, k: int, rng: np.random.Generator
) -> F32:
    """Move each centre to the mean direction of its points.

    A centre without points moves to a point that is far from its nearest centre.
    """
    order = np.argsort(nearest, kind="stable")
    counts = np.bincount(nearest, minlength=k)
    filled = np.flatnonzero(counts)
    sums = np.zeros((k, points.shape[1]), np.float32)
    starts = np.cumsum(counts[filled]) - counts[filled]
    sums[filled] = np.add.reduceat(points[order], starts, axis=0)
    norms = np.linalg.norm(sums, axis=1)
    empty = np.flatnonzero(norms < SAME)
    norms[empty] = 1
    centres: F32 = sums / norms[:, None]
    if len(empty):
        centres[empty] = _find_worst_served(points, cosines, len(empty), rng)
    return centres


def _find_worst_served(points: F32, cosines: F32, count: int, rng: np.random.Generator) -> F32:
    """Find the distinct points [count, D] of least cosine with their centre.

    If there are too few points that do not lie on their centre, the rest are random directions.
    """
    order = np.argsort(cosines, kind="stable")[: WORST * count]
    far = points[order[cosines[order] < 1 - SAME]]
    distinct = (
        far[np.sort(np.unique(far, axis=0, return_index=True)[1])][:count] if len(far) else far
    )
    return np.concatenate(
        [distinct, draw_random_directions(rng, count - len(distinct), points.shape[1])]
    )
