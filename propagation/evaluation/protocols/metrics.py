"""Levels and paired differences of per-event values."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from propagation.model.base import Term

F64 = NDArray[np.float64]


class Paired(Term):
    """Mean over users of each user's mean difference, and its t (None with fewer than two users, or
    no spread)."""

    mean: float
    t: float | None


def paired(left: F64, right: F64, user: NDArray[np.int64]) -> Paired | None:
    """left - right [E] by user [E]; events where either is NaN are left out; None where nothing is
    left."""
    difference = left - right
    kept = ~np.isnan(difference)
    if not kept.any():
        return None
    _, place = np.unique(user[kept], return_inverse=True)
    means = np.bincount(place, difference[kept]) / np.bincount(place)
    spread = float(means.std(ddof=1)) if len(means) > 1 else 0.0
    mean = float(means.mean())
    return Paired(mean=mean, t=mean / (spread / np.sqrt(len(means))) if spread > 0 else None)


def level(values: F64) -> float | None:
    """The mean over events; None without any."""
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if len(kept) else None


def over_time(values: F64, points: int) -> tuple[list[int], list[float | None]]:
    """Ends and means of `points` equal stretches of the stream."""
    edges = np.linspace(0, len(values), points + 1).astype(int)
    means = [level(values[start:end]) for start, end in pairwise(edges)]
    return edges[1:].tolist(), means


def middle(values: Sequence[float | None]) -> float | None:
    """The median over seeds, of those that have a value."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def middle_pair(pairs: Sequence[Paired | None]) -> Paired | None:
    """The medians of mean and t over seeds."""
    known = [pair for pair in pairs if pair is not None]
    if not known:
        return None
    return Paired(mean=median(pair.mean for pair in known), t=middle([pair.t for pair in known]))
