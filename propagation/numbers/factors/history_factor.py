"""The history factor: what users choose next after what they chose.

Source: docs/numbers.md, "Learned factors".
"""

import numpy as np

from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.products import multiply

LONGEST = 200
LONG_DECAY, NOW_DECAY = 0.995, 0.97
PAUSE = 30.0
MOST_SECONDS = 86_400.0
RATE, DECAY = np.float32(0.1), np.float32(0.06)
LEAST_SHARE = np.float32(0.02)
ONE = np.float32(1.0)
LONG, NOW, TARGET, BIAS = range(4)


@kernel
def fade_by_seconds(now, then):
    """Return what is left of a choice after some seconds.

    It is 1 / (1 + seconds / 30). A time after `now` counts as now. After a day the value stays, so
    that a reading of an old history does not depend on the moment.
    """
    gap = min(max(now - np.float64(then), 0.0), MOST_SECONDS)
    return 1.0 / (1.0 + gap / PAUSE)


@kernel
def list_history(seen_item, seen_time, seen_before, last, now):
    """List a user's newest items, at most 200, and what each counts.

    Args:
        last: Place of the newest adoption to count; -1: none.
        now: Seconds since 1970.

    Returns:
        Rows [n] i64, newest first, and weights [2,n] f32: .995^a, and .97^a / (1 + seconds / 30),
        each divided by the square root of its sum.
    """
    items = np.empty(LONGEST, np.int64)
    weights = np.empty((2, LONGEST))
    size, place = 0, last
    long_weight, now_weight = 1.0, 1.0
    long_sum, now_sum = 0.0, 0.0
    while place >= 0 and size < LONGEST:
        items[size] = seen_item[place]
        weights[0, size] = long_weight
        weights[1, size] = now_weight * fade_by_seconds(now, seen_time[place])
        long_sum += long_weight
        now_sum += weights[1, size]
        long_weight *= LONG_DECAY
        now_weight *= NOW_DECAY
        place = seen_before[place]
        size += 1
    shares = np.empty((2, size), np.float32)
    for age in range(size):
        shares[0, age] = weights[0, age] / np.sqrt(long_sum)
        shares[1, age] = weights[1, age] / np.sqrt(now_sum)
    return items[:size], shares


@kernel
def compute_history_vector(long, now, items, shares):
    """Return x of a history, [h].

    x = sum w_a P[h_a] + sum v_a P'[h_a].
    """
    x = np.zeros(long.shape[1], np.float32)
    for age in range(len(items)):
        item, w, v = items[age], shares[0, age], shares[1, age]
        for column in range(len(x)):
            x[column] += w * long[item, column] + v * now[item, column]
    return x


@inner_kernel
def _step_target(target, bias, squares, item, slope, x, length):
    """Step Q_i and b_i of one item.

    Args:
        slope: r, which is +p for the choice and -p_j for a negative.
    """
    decay = DECAY * abs(slope)
    squares[item, TARGET] += slope * slope * length
    rate = RATE / np.sqrt(squares[item, TARGET])
    for column in range(len(x)):
        target[item, column] += rate * (slope * x[column] - decay * target[item, column])
    step = slope - decay * bias[item]
    squares[item, BIAS] += step * step
    bias[item] += RATE * step / np.sqrt(squares[item, BIAS])


@inner_kernel
def _step_history(table, squares, which, items, shares, gradient, length, decay):
    """Step P (or P') of the items of a history.

    Items that count for too little are left out.
    """
    for age in range(len(items)):
        share = shares[age]
        if share > LEAST_SHARE:
            item = items[age]
            squares[item, which] += share * share * length
            rate = RATE * share / np.sqrt(squares[item, which])
            for column in range(len(gradient)):
                table[item, column] += rate * (gradient[column] - decay * table[item, column])


@kernel
def learn_choice(factors, items, shares, chosen, negatives):
    """Learn one choice after a history, against items that were not chosen.

    Args:
        items, shares: The history before the choice, as `list_history` returns it.
        chosen: Row of the item.
        negatives: [n] rows, at least one.
    """
    target, bias, squares = factors.target, factors.bias, factors.squares
    x = compute_history_vector(factors.long, factors.now, items, shares)
    width = np.float32(len(x))
    own = multiply(x, target[chosen]) + bias[chosen]
    slopes = np.empty(len(negatives), np.float32)
    gradient = np.zeros(len(x), np.float32)
    slope = np.float32(0)
    for place in range(len(negatives)):
        other = negatives[place]
        margin = multiply(x, target[other]) + bias[other] - own
        one = ONE / (ONE + np.exp(-margin)) / np.float32(len(negatives))
        slopes[place] = one
        slope += one
        for column in range(len(x)):
            gradient[column] -= one * target[other, column]
    for column in range(len(x)):
        gradient[column] += slope * target[chosen, column]
    x_length, gradient_length = multiply(x, x) / width, multiply(gradient, gradient) / width
    if not np.isfinite(x_length + gradient_length + slope):
        factors.skipped[0] += 1
        return
    _step_target(target, bias, squares, chosen, slope, x, x_length)
    for place in range(len(negatives)):
        _step_target(target, bias, squares, negatives[place], -slopes[place], x, x_length)
    decay = DECAY * slope
    _step_history(factors.long, squares, LONG, items, shares[0], gradient, gradient_length, decay)
    _step_history(factors.now, squares, NOW, items, shares[1], gradient, gradient_length, decay)
