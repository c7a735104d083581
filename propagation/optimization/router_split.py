"""Split of a router: seeded 2-means halves its community.

workflow/evolve/planner.py asks the reasoner whether to split (adapters/openai/prompts/evolve.py,
adapters/offline/evolve.py); numbers/evolved_bank.py divides the numbers.

Source: RecNet 2.4.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from propagation.model import F32, F64, Bools, RouterHalf, RouterVersion, index_of, sum_pairs
from propagation.routing import find_largest_weights

STARTS, MAX_ITERATIONS = 3, 25
LEAST_WRITERS = 4


@dataclass(frozen=True)
class Community:
    """The users who wrote to a router, in two halves.

    Attributes:
        amounts: What each user row wrote [U].
        centres: Centres of the halves [2, D].
        in_second: Whether each user row belongs to the second half [U]; False for users who did not
            write.
    """

    amounts: F64
    centres: F32
    in_second: Bools

    @property
    def share(self) -> float:
        """The first half's part (0..1) of what was written."""
        return float(self.amounts[~self.in_second].sum() / self.amounts.sum())

    @property
    def distance(self) -> float:
        """One less the cosine of the halves' centres (0..2)."""
        return float(1 - self.centres[0] @ self.centres[1])


def split_community(amounts: F64, directions: F32, seed: int) -> Community | None:
    """Split the users who wrote to a router by their direction.

    Args:
        amounts: What each user row wrote to it [U].
        directions: The users' unit vectors [U, D]; zeros for a user without history.
        seed: Seed of the 2-means.

    Returns:
        The halves; None if fewer than four users with a history wrote.
    """
    wrote = np.flatnonzero((amounts > 0) & directions.any(axis=1))
    if len(wrote) < LEAST_WRITERS:
        return None
    centres = split_by_two_means(directions[wrote], amounts[wrote], seed)
    in_second = np.zeros(len(directions), np.bool_)
    in_second[wrote] = is_nearer_second(directions[wrote], centres)
    return Community(amounts, centres, in_second)


def list_supported_choices(choices: Collection[Counter[str]], least: int) -> Counter[str]:
    """Add up the readers' choices of attributes that enough readers chose.

    Args:
        choices: How often each reader chose each attribute.
        least: How many readers must have chosen an attribute.
    """
    readers = Counter(name for names in choices for name in names)
    total = sum_pairs(pair for names in choices for pair in names.items())
    return Counter({name: count for name, count in total.items() if readers[name] >= least})


def split_router(
    version: RouterVersion,
    choices: Mapping[int, Counter[str]],
    community: Community,
    least: int,
) -> tuple[RouterHalf, RouterHalf]:
    """Divide what a router stands for between two halves.

    An attribute's weight is divided by how often the readers of each half chose the attribute.

    Args:
        choices: How often each reader (ref) chose each attribute.
        least: How many readers of a half must have chosen an attribute.

    Returns:
        The first and the second half.
    """
    in_first: list[Counter[str]] = []
    in_second: list[Counter[str]] = []
    for writer, names in choices.items():
        row = index_of(writer)
        if row < len(community.amounts) and community.amounts[row] > 0:
            (in_second if community.in_second[row] else in_first).append(names)
    first = list_supported_choices(in_first, least)
    second = list_supported_choices(in_second, least)
    share = community.share
    return _build_half(version, share, first, second), _build_half(
        version, 1 - share, second, first
    )


def split_by_two_means(vectors: F32, weights: F64, seed: int) -> F32:
    """Find two centres that maximise the weighted cosine with the nearer one.

    The best of three seeded starts is taken. The same input gives the same centres. The two centres
    are equal if all vectors are equal.

    Args:
        vectors: Unit rows [n, D].
        weights: Above 0 [n].

    Returns:
        Unit rows [2, D].
    """
    rng = np.random.default_rng(seed)
    found = [_from_start(vectors, weights, rng) for _ in range(STARTS)]
    return max(found, key=lambda centres: float(weights @ (vectors @ centres.T).max(axis=1)))


def is_nearer_second(vectors: F32, centres: F32) -> Bools:
    """Return whether each vector is nearer to the second centre.

    Args:
        vectors: Rows [n, D].
        centres: The two centres [2, D].

    Returns:
        One truth value for each vector [n].
    """
    cosines = vectors @ centres.T
    return cosines[:, 1] > cosines[:, 0]


def _build_half(
    version: RouterVersion, share: float, choices: Counter[str], others: Counter[str]
) -> RouterHalf:
    standing = {
        name: weight * (choices[name] + share) / (choices[name] + others[name] + 1)
        for name, weight in version.standing
    }
    for name, count in choices.items():
        standing.setdefault(name, count * share)
    return RouterHalf(share=share, choices=choices, standing=find_largest_weights(standing))


def _from_start(vectors: F32, weights: F64, rng: np.random.Generator) -> F32:
    first = vectors[_draw(weights, rng)]
    apart = weights * np.maximum(1 - vectors @ first, 0)
    centres = np.stack([first, vectors[_draw(apart, rng)] if apart.sum() > 0 else first])
    before = is_nearer_second(vectors, centres)
    for _ in range(MAX_ITERATIONS):
        for place, mine in enumerate((~before, before)):
            centre = weights[mine] @ vectors[mine]
            norm = np.linalg.norm(centre)
            if norm > 0:
                centres[place] = centre / norm
        after = is_nearer_second(vectors, centres)
        if (after == before).all():
            break
        before = after
    return centres


def _draw(weights: F64, rng: np.random.Generator) -> int:
    """Draw a row in proportion to the weights."""
    sums = np.cumsum(weights)
    return min(int(np.searchsorted(sums, rng.random() * sums[-1], side="right")), len(weights) - 1)
