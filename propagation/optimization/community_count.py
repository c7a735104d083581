"""Number of communities that users' choices give evidence of.

A direction of the adoption matrix counts as a community only if it predicts choices that were left
out when it was found.

Source: Chen, Roch, Rohe and Yu, "Estimating graph dimension with cross-validated eigenvalues"
(2021); `docs/evolution.md`.
"""

from typing import TYPE_CHECKING

import numpy as np

from propagation.arrays import F32, F64, I64, Bools

if TYPE_CHECKING:
    from scipy import sparse

FOLDS, LEFT_OUT = 5, 0.1
SIGNIFICANT = 1.645
"""The one-sided 5% point of the normal distribution."""
FIRST_TRIED, SPARE, TURNS = 32, 8, 6
NEWEST = 100_000
LEAST_SQUARE = 1e-6
"""A column whose squared length is below this share of the longest column's counts as zero."""


def count_communities(users: I64, items: I64, most: int, seed: int) -> tuple[int, int]:
    """Count the communities among users by what they chose.

    A user may belong to several communities: independent tastes are counted, not groups of users.

    Args:
        users, items: Rows of each choice, in order; the newest 100,000 are read.
        most: The largest number of interest.
        seed: Seed for the choices that are left out.

    Returns:
        The number of evident communities, 1 to `most` (1 if the choices are too few to tell any
        apart); and the number of possible ones. Both are the same if the weakest evident community
        has significantly more evidence than the next direction. Otherwise all directions up to the
        last one whose evidence is not negative are possible; `most`, if there is none.
    """
    rng = np.random.default_rng(seed)
    users, items = (
        np.unique(rows[-NEWEST:], return_inverse=True)[1].astype(np.int64)
        for rows in (users, items)
    )
    tried = FIRST_TRIED
    folds = [rng.random(len(users)) < LEFT_OUT for _ in range(FOLDS)]
    while True:
        tested = [_test_directions(users, items, fold, min(tried, most)) for fold in folds]
        shortest = min(map(len, tested))
        evidence = np.mean([fold[:shortest] for fold in tested], axis=0)
        weak = np.flatnonzero(~(evidence >= SIGNIFICANT))
        if len(weak) or tried >= most or shortest < tried:
            count = int(weak[0] if len(weak) else shortest)
            gap = evidence[count - 1] - evidence[count] if 0 < count < shortest else 0.0
            if gap > SIGNIFICANT * np.sqrt(2):
                return count, count
            supported = np.flatnonzero(evidence >= 0)
            return max(count, 1), int(supported[-1]) + 1 if len(supported) else most
        tried *= 2


def _test_directions(users: I64, items: I64, left_out: Bools, count: int) -> F64:
    """Test directions found in some choices on the left-out choices.

    The first direction is popularity, and counts as one community.

    Returns:
        A statistic of each direction, which is standard normal if there is nothing to find; fewer
        than `count` if the choices have fewer directions.
    """
    from scipy import sparse  # a service need not wait for it when it starts

    shape = (int(users.max(initial=-1)) + 1, int(items.max(initial=-1)) + 1)
    count = min(count, min(shape) - 1)
    if count < 2 or left_out.all() or not left_out.any():
        return np.zeros(0)
    found_from, others = (
        sparse.csr_matrix((np.ones(rows.sum()), (users[rows], items[rows])), shape)
        for rows in (~left_out, left_out)
    )
    degrees = [np.asarray(found_from.sum(axis=axis)).ravel() for axis in (1, 0)]
    scales = [sparse.diags(1 / np.sqrt(degree + degree.mean())) for degree in degrees]
    of_users, of_items = _find_largest_directions(
        (scales[0] @ found_from @ scales[1]).astype(np.float32), count
    )
    left, right = scales[0] @ of_users.astype(np.float64), scales[1] @ of_items.astype(np.float64)
    value: F64 = np.einsum("uk,uk->k", left, others @ right)
    error: F64 = np.sqrt(np.einsum("uk,uk->k", left**2, others @ right**2))
    return value / np.maximum(error, 1e-12)


def _find_largest_directions(matrix: "sparse.csr_matrix", count: int) -> tuple[F32, F32]:
    """Find the directions of largest singular value by block power iteration.

    The time that it takes is bounded, also if the matrix is nothing but noise. With 32-bit numbers
    it takes about half as long.

    Args:
        matrix: 32-bit numbers [U, I].

    Returns:
        Singular vectors [U, count] and [I, count], largest first.
    """
    width = min(count + SPARE, *matrix.shape)
    of_items = np.random.default_rng(0).standard_normal((matrix.shape[1], width)).astype(np.float32)
    for _ in range(TURNS):
        of_users, _ = _orthonormalize(matrix @ of_items)
        of_items, _ = _orthonormalize(matrix.T @ of_users)
    of_users, rotation = _orthonormalize(matrix @ of_items)
    return of_users[:, :count], (of_items @ rotation)[:, :count]


def _orthonormalize(columns: F32) -> tuple[F32, F32]:
    """Find an orthonormal basis of tall columns, longest direction first.

    It comes from the eigenvectors of the columns' small product with themselves, which is several
    times faster than a QR factorization.

    Returns:
        The basis, with columns of zeros where the rank is less; and the rotation of the columns'
        coordinates that leads to it.
    """
    squares, rotation = np.linalg.eigh(columns.T @ columns)
    squares, rotation = squares[::-1], rotation[:, ::-1]
    full_rank = squares > LEAST_SQUARE * squares[0]
    lengths = np.sqrt(np.where(full_rank, squares, 1))
    return columns @ (rotation * (full_rank / lengths)), rotation
