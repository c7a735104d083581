"""The pairwise logistic combiner (docs/numbers.md, rule 3).

It learns several arms at once over the same features: the live one, one without propagation, and
those of an evaluation.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.numbers.gauge import GaugeSums, compute_gain, create_gauge, note_gains
from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.rules.features import Feature

GROUPS = 9
START_WEIGHT = 0.3
RATE, BIN_RATE = 0.1, 0.05
L2, BIN_L2 = 1e-4, 1e-3
GRADIENT_CLIP = 4.0
LEAST_DEVIATION = 1e-3
# A lift is a logarithm of odds, so the start weight counts it at most twice. Lifts of few choices
# are small, and mostly noise (docs/numbers.md, "Measured").
LEAST_LIFT_DEVIATION = 0.15
# Where numbers are learned ahead of texts nearly all profile cosines are 0: their deviation says
# nothing of those to come.
LEAST_PROFILE_DEVIATION = 0.1
# Factors of few choices are small, and mostly noise: they stay small beside the other features.
LEAST_FACTOR_DEVIATION = 1.0
LEAST_DEVIATIONS: Mapping[int, float] = {
    Feature.LIFT_SESSION: LEAST_LIFT_DEVIATION,
    Feature.LIFT_TASTE: LEAST_LIFT_DEVIATION,
    Feature.PROFILE: LEAST_PROFILE_DEVIATION,
    Feature.HISTORY: LEAST_FACTOR_DEVIATION,
    Feature.TASTE: LEAST_FACTOR_DEVIATION,
}
# Features that mean nothing before they have learned: they start at weight 0.
FROM_NOTHING = (Feature.PROFILE, Feature.HISTORY, Feature.TASTE)
# Upper limits of the bins; the last bin has none.
MATURITY_BINS = np.array((0, 5, 20))
ADOPTER_BINS = np.array((2, 10, 50))


class Combiner(NamedTuple):
    """The learned state of A arms over F features.

    Args:
        mask: [A,F] 0 or 1: the features that an arm sees.
        least: [F] least deviation that a feature is divided by.
        weights: [A,F,9] global, 4 user maturities, 4 bins of item adopters; likewise squares.
        moments: [F,2] running mean and sum of squared differences.
        seen: [1] values behind the moments.
        gauge: How well each arm ranked before it learned.
    """

    mask: NDArray[np.float64]
    least: NDArray[np.float64]
    weights: NDArray[np.float64]
    squares: NDArray[np.float64]
    moments: NDArray[np.float64]
    seen: NDArray[np.float64]
    gauge: GaugeSums


def create_combiner(
    mask: NDArray[np.float64], least: Mapping[int, float] = LEAST_DEVIATIONS
) -> Combiner:
    """Make a combiner that has learned nothing.

    Args:
        mask: [A,F].
        least: Least deviations of features, where they are not LEAST_DEVIATION.
    """
    arms, features = mask.shape
    start, deviations = np.full(features, START_WEIGHT), np.full(features, LEAST_DEVIATION)
    for feature in range(features):
        if feature in FROM_NOTHING:
            start[feature] = 0.0
        deviations[feature] = least.get(feature, LEAST_DEVIATION)
    weights = np.zeros((arms, features, GROUPS))
    weights[:, :, 0] = mask * start
    return Combiner(
        mask,
        deviations,
        weights,
        np.ones((arms, features, GROUPS)),
        np.zeros((features, 2)),
        np.zeros(1),
        create_gauge(arms),
    )


def _list_arrays(combiner: Combiner) -> list[NDArray[np.float64]]:
    """Return the learned arrays, the gauge last."""
    return [combiner.weights, combiner.squares, combiner.moments, combiner.seen, *combiner.gauge]


def pack_combiner(combiner: Combiner) -> NDArray[np.float64]:
    """Return the learned state as one vector, for the learn commit."""
    return np.concatenate([part.ravel() for part in _list_arrays(combiner)])


def unpack(combiner: Combiner, vector: NDArray[np.float64]) -> None:
    """Unpack a packed state into the combiner, in place.

    A state without a gauge begins a new gauge.

    Raises:
        ValueError: It is another combiner's.
    """
    parts = _list_arrays(combiner)
    gauge = np.concatenate([part.ravel() for part in create_gauge(len(combiner.mask))])
    size = sum(part.size for part in parts)
    if len(vector) == size - len(gauge):
        vector = np.concatenate([vector, gauge])
    if len(vector) != size:
        raise ValueError("the combiner's stored state has other arms or features")
    ends = np.cumsum([part.size for part in parts])
    for part, values in zip(parts, np.split(vector, ends[:-1]), strict=True):
        part[...] = values.reshape(part.shape)


@kernel
def compute_maturity(count):
    """Return the bin of a user's interactions: 0, 1-5, 6-20, >20."""
    return np.searchsorted(MATURITY_BINS, count)


@kernel
def find_adopter_bin(count):
    """Return the bin of an item's adopters: <=2, 3-10, 11-50, >50."""
    return np.searchsorted(ADOPTER_BINS, count)


@kernel
def find_deviation(combiner, feature):
    """Return the deviation of a feature, at least its least one."""
    variance = combiner.moments[feature, 1] / combiner.seen[0]
    return max(np.sqrt(variance), combiner.least[feature])


@kernel
def standardise(combiner, raw, out):
    """Standardise raw features by the running moments.

    Args:
        out: [n,F], filled with (raw - mean) / deviation.
    """
    for feature in range(raw.shape[1]):
        mean = combiner.moments[feature, 0]
        deviation = 1.0
        if combiner.seen[0] > 1:
            deviation = find_deviation(combiner, feature)
        for row in range(raw.shape[0]):
            out[row, feature] = (raw[row, feature] - mean) / deviation


def adjust_for_newcomers(combiner: Combiner) -> Combiner:
    """Return the combiner for reading users without history.

    Popularity counts at least at its start weight, and recency not against an item. Users who know
    the popular items already teach the combiner the opposite.
    """
    weights = combiner.weights.copy()
    for feature, least in ((Feature.POPULARITY, START_WEIGHT), (Feature.RECENT, 0.0)):
        lowest = (
            weights[:, feature, 0] + weights[:, feature, 1] + weights[:, feature, 5:].min(axis=1)
        )
        weights[:, feature, 0] += np.maximum(least - lowest, 0) * combiner.mask[:, feature]
    return combiner._replace(weights=weights)


@kernel
def get_weight(combiner, arm, feature, user_bin, item_bin):
    """Return an arm's weight of a feature.

    The weight is for a user bin and an item bin.
    """
    w = combiner.weights
    return w[arm, feature, 0] + w[arm, feature, 1 + user_bin] + w[arm, feature, 5 + item_bin]


@kernel
def score(combiner, arm, values, user_bin, item_bin):
    """Return the weighted sum of one row of standardised features."""
    total = 0.0
    for feature in range(len(values)):
        if combiner.mask[arm, feature] > 0:
            total += get_weight(combiner, arm, feature, user_bin, item_bin) * values[feature]
    return total


@inner_kernel
def _limit_value(value):
    return min(max(value, -GRADIENT_CLIP), GRADIENT_CLIP)


@kernel
def learn_pairs(combiner, values, user_bin, item_bins):
    """Make one AdaGrad step of every arm on the positive.

    The positive is row 0, which the step sets against the other rows.

    The gauge notes how each arm ranked row 0 before.

    Args:
        values: [n,F] standardised features.
    """
    arms, others = combiner.mask.shape[0], values.shape[0] - 1
    gradient = np.empty(GROUPS)
    slope = np.empty(others)
    gains = np.empty(arms)
    for arm in range(arms):
        positive = score(combiner, arm, values[0], user_bin, item_bins[0])
        above, ties = 0, 0
        for row in range(others):
            margin = positive - score(combiner, arm, values[1 + row], user_bin, item_bins[1 + row])
            above += margin < 0.0
            ties += margin == 0.0
            slope[row] = 1.0 / (1.0 + np.exp(min(margin, 50.0))) / others
        for feature in range(values.shape[1]):
            if combiner.mask[arm, feature] == 0:
                continue
            gradient[:] = 0.0
            up = _limit_value(values[0, feature])
            for row in range(others):
                down = _limit_value(values[1 + row, feature])
                gradient[0] += slope[row] * (up - down)
                gradient[5 + item_bins[0]] += slope[row] * up
                gradient[5 + item_bins[1 + row]] -= slope[row] * down
            gradient[1 + user_bin] = gradient[0]
            for group in range(GROUPS):
                w = combiner.weights[arm, feature, group]
                step = gradient[group] - (L2 if group == 0 else BIN_L2) * w
                if gradient[group] == 0.0:
                    continue
                combiner.squares[arm, feature, group] += step * step
                rate = RATE if group == 0 else BIN_RATE
                combiner.weights[arm, feature, group] = w + rate * step / np.sqrt(
                    combiner.squares[arm, feature, group]
                )
        gains[arm] = compute_gain(above, ties)
    note_gains(combiner.gauge, gains)


@kernel
def observe(combiner, raw):
    """Take raw feature rows into the running moments (Welford)."""
    for row in range(raw.shape[0]):
        combiner.seen[0] += 1
        for feature in range(raw.shape[1]):
            before = raw[row, feature] - combiner.moments[feature, 0]
            combiner.moments[feature, 0] += before / combiner.seen[0]
            combiner.moments[feature, 1] += before * (
                raw[row, feature] - combiner.moments[feature, 0]
            )
