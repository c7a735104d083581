"""Stage one of ranking: approximate scores of all items.

The scores come from a quantised copy of the items' vectors.

Every feature but popularity, kNN and the learned factors is linear in a vector of the copy, or
(lift, rule 2) the logarithm of one that is: s(u,i) = ln((N_i . v) / P_i + 50 sum v), v_k = pi_k /
(n_k + 50). One pass over eight bits a component finds the items that deserve an exact score
(rank.py). The copy follows the state item by item, so it is never out of date.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.limits import is_withheld
from propagation.numbers.products import multiply
from propagation.numbers.rules import (
    KNN_FLOOR,
    RECENT_FLOOR,
    compute_nearness,
    decay_count,
    find_adopter_bin,
    share_of,
)
from propagation.numbers.state import State

LANES = 64
PARTS = 6
CONTENT, ATTRIBUTES, ADOPTERS, PROFILE, SESSION, TASTE = range(PARTS)
BINS = 4
# Rows of a query's slopes: three counts, the parts, the learned factors.
OF_HISTORY, OF_TASTE = 3 + PARTS, 4 + PARTS
LEVELS = 127.0
LEAST = np.float32(1e-30)
LN2 = np.float32(0.6931472)
MANTISSA, ONE = np.int32(0x7FFFFF), np.int32(0x3F800000)
RECENT_EVERY = 64


class Sketch(NamedTuple):
    """Quantised features of items, in blocks of 64.

    One component of 64 items is one run of memory.

    For B blocks and W components in all:

    Args:
        levels: [B,W,64] i8 quantised components.
        scale: [B,6,64] f32, by part.
        popular: [B,64] f32, as the feature; likewise recent.
        prior: [B,64] f32 1 / (c_i + .5).
        offset: [B,64] f32: 0, or -inf for hidden or missing items.
        bin: [B,64] u8.
        bounds: [7] where the parts begin and end.
        clock: [3] i64: adoptions followed, interactions at the last update of recent popularity,
            items.
    """

    levels: NDArray[np.int8]
    scale: NDArray[np.float32]
    popular: NDArray[np.float32]
    recent: NDArray[np.float32]
    prior: NDArray[np.float32]
    offset: NDArray[np.float32]
    bin: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    clock: NDArray[np.int64]


def create_sketch(state: State) -> Sketch:
    """Make an empty sketch with room for the state's item rows."""
    dim = state.content.shape[1]
    widths = [dim] * 4 + [state.session.mass.shape[1], state.taste.mass.shape[1]]
    blocks = -(-len(state.adoptions) // LANES)
    rows = (blocks, LANES)
    return Sketch(
        levels=np.zeros((blocks, sum(widths), LANES), np.int8),
        scale=np.zeros((blocks, PARTS, LANES), np.float32),
        popular=np.zeros(rows, np.float32),
        recent=np.zeros(rows, np.float32),
        prior=np.zeros(rows, np.float32),
        offset=np.full(rows, -np.inf, np.float32),
        bin=np.zeros(rows, np.uint8),
        bounds=np.cumsum([0, *widths]).astype(np.int64),
        clock=np.zeros(3, np.int64),
    )


def create_empty_sketch() -> Sketch:
    """Make a sketch of no items, for reads that need none."""
    rows = (0, LANES)
    return Sketch(
        levels=np.zeros((0, 0, LANES), np.int8),
        scale=np.zeros((0, PARTS, LANES), np.float32),
        popular=np.zeros(rows, np.float32),
        recent=np.zeros(rows, np.float32),
        prior=np.zeros(rows, np.float32),
        offset=np.zeros(rows, np.float32),
        bin=np.zeros(rows, np.uint8),
        bounds=np.zeros(PARTS + 1, np.int64),
        clock=np.zeros(3, np.int64),
    )


@inner_kernel
def _quantise(levels, scale, start, vector, factor):
    """Quantise one part of one item.

    Args:
        levels: [W] the item's levels, of which the part's begin at `start`.
        scale: [1] the part's, filled.
    """
    largest = np.float32(0.0)
    for place in range(len(vector)):
        largest = max(largest, abs(vector[place]))
    if largest < LEAST:
        scale[0] = 0.0
        return
    to_level = np.float32(LEVELS) / largest
    for place in range(len(vector)):
        levels[start + place] = np.int8(np.rint(vector[place] * to_level))
    scale[0] = factor * largest / np.float32(LEVELS)


@inner_kernel
def _list_recent(count, age):
    return np.float32(np.log(decay_count(count, age) + RECENT_FLOOR))


@kernel(nogil=True)
def follow_items(sketch, state, items):
    """Copy the rows of these items again."""
    starts, now = sketch.bounds, state.clock[0]
    for item in items:
        block, lane = item // LANES, item % LANES
        adoptions = state.adoptions[item]
        levels, scale = sketch.levels[block, :, lane], sketch.scale[block, :, lane]
        _quantise(levels, scale[CONTENT:], starts[CONTENT], state.content[item], 1.0)
        _quantise(levels, scale[ATTRIBUTES:], starts[ATTRIBUTES], state.attributes[item], 1.0)
        _quantise(
            levels,
            scale[ADOPTERS:],
            starts[ADOPTERS],
            state.adopters[item],
            1.0 / (adoptions + 2.0),
        )
        _quantise(levels, scale[PROFILE:], starts[PROFILE], state.item_profile[item], 1.0)
        if is_withheld(adoptions, state.limits):  # as everywhere: N = n P, whose lifts are all 0
            share = share_of(adoptions, state.totals)
            _quantise(levels, scale[SESSION:], starts[SESSION], state.session.total, share)
            _quantise(levels, scale[TASTE:], starts[TASTE], state.taste.total, share)
        else:
            _quantise(levels, scale[SESSION:], starts[SESSION], state.session.mass[item], 1.0)
            _quantise(levels, scale[TASTE:], starts[TASTE], state.taste.mass[item], 1.0)
        sketch.popular[block, lane] = np.log(adoptions + 1.0)
        sketch.recent[block, lane] = _list_recent(state.recent[item], now - state.recent_at[item])
        sketch.prior[block, lane] = 1.0 / (adoptions + 0.5)
        sketch.offset[block, lane] = 0.0 if state.visible[item] else -np.inf
        sketch.bin[block, lane] = find_adopter_bin(adoptions)


@kernel(nogil=True)
def follow_recent(out, recent, recent_at, now, items):
    """Update the recent popularity of all items.

    It fades by one percent in 64 interactions.

    Args:
        out: [B,64] of the sketch, filled.
    """
    for item in range(items):
        out[item // LANES, item % LANES] = _list_recent(recent[item], now - recent_at[item])


def count_unfollowed(sketch: Sketch, state: State) -> int:
    """Count the adoptions and items that the sketch has not followed."""
    return int(state.clock[1] - sketch.clock[0] + state.clock[3] - sketch.clock[2])


def bring_up_to_date(sketch: Sketch | None, state: State, changed: NDArray[np.int64]) -> Sketch:
    """Return the sketch after following the state.

    Args:
        changed: Items with new texts.
    """
    if sketch is None or sketch.levels.shape[0] * LANES < len(state.adoptions):
        sketch = create_sketch(state)
    adoptions, interactions, items = (int(state.clock[place]) for place in (1, 0, 3))
    is_followed = count_unfollowed(sketch, state) == 0 and len(changed) == 0
    if is_followed and interactions - sketch.clock[1] < RECENT_EVERY:
        return sketch
    if adoptions - sketch.clock[0] > items // 2 or sketch.clock[2] == 0:
        follow_items(sketch, state, np.arange(items))
    else:
        fresh = np.arange(sketch.clock[2], items)
        adopted = state.seen_item[sketch.clock[0] : adoptions].astype(np.int64)
        follow_items(sketch, state, np.unique(np.concatenate([adopted, changed, fresh])))
    if interactions - sketch.clock[1] >= RECENT_EVERY:
        follow_recent(sketch.recent, state.recent, state.recent_at, interactions, items)
        sketch.clock[1] = interactions
    sketch.clock[0], sketch.clock[2] = adoptions, items
    return sketch


@inner_kernel(fastmath={"contract", "reassoc", "nsz", "arcp"})
def _accumulate(levels, block, places, weights, count, out):
    """Sum weight times level over the components of a block.

    Args:
        count: How many components; a multiple of 4.
        out: [64], filled.
    """
    for lane in range(LANES):
        out[lane] = 0.0
    for place in range(0, count, 4):
        a, b, c, d = places[place], places[place + 1], places[place + 2], places[place + 3]
        wa, wb, wc, wd = weights[place], weights[place + 1], weights[place + 2], weights[place + 3]
        for lane in range(LANES):
            out[lane] += (
                wa * np.float32(levels[block, a, lane])
                + wb * np.float32(levels[block, b, lane])
                + wc * np.float32(levels[block, c, lane])
                + wd * np.float32(levels[block, d, lane])
            )


@inner_kernel(fastmath={"contract", "reassoc", "nsz", "arcp"})
def _add_logarithm(sums, bits, slopes, bins, out):
    """Add slope * ln(sums) to out, exact to 2e-5.

    The logarithm is taken by the exponent and a polynomial of the mantissa.

    `bits` is a view of `sums` and is overwritten.
    """
    for lane in range(LANES):
        exponent = np.float32((bits[lane] >> 23) - 127)
        bits[lane] = (bits[lane] & MANTISSA) | ONE
        t = sums[lane] - np.float32(1.0)
        mantissa = t * (
            np.float32(0.99957776)
            + t
            * (
                np.float32(-0.49213434)
                + t
                * (
                    np.float32(0.28893368)
                    + t * (np.float32(-0.13433515) + t * np.float32(0.03110524))
                )
            )
        )
        out[lane] += slopes[bins[lane]] * (exponent * LN2 + mantissa)


@kernel(nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def score_blocks(sketch, begin, end, places, weights, counts, slopes, mass, out):
    """Score the blocks [begin, end) for Q standpoints at once.

    Each block is read once.

    Args:
        places: [Q,6,M] the components of each part that are not zero; likewise weights.
        counts: [Q,6] multiples of 4.
        slopes: [Q,11,4] by item bin: constant, popularity, recent, four linear parts, two lifts,
            and two of `add_factors`.
        mass: [Q,2,2] by bank: the factor of N.v / (c + .5), and 50 sum v.
        out: [Q, B*64] f32 filled with approximate scores; -inf for hidden items.
    """
    sums = np.empty(LANES, np.float32)
    bits = sums.view(np.int32)
    for block in range(begin, end):
        bins = sketch.bin[block]
        for query in range(counts.shape[0]):
            slope = slopes[query]
            row = out[query, block * LANES : (block + 1) * LANES]
            for lane in range(LANES):
                k = bins[lane]
                row[lane] = (
                    slope[0, k]
                    + slope[1, k] * sketch.popular[block, lane]
                    + slope[2, k] * sketch.recent[block, lane]
                    + sketch.offset[block, lane]
                )
            for part in range(SESSION):
                if counts[query, part]:
                    _accumulate(
                        sketch.levels,
                        block,
                        places[query, part],
                        weights[query, part],
                        counts[query, part],
                        sums,
                    )
                    for lane in range(LANES):
                        row[lane] += (
                            slope[3 + part, bins[lane]]
                            * sums[lane]
                            * sketch.scale[block, part, lane]
                        )
            for bank in range(2):
                part = SESSION + bank
                if counts[query, part]:
                    _accumulate(
                        sketch.levels,
                        block,
                        places[query, part],
                        weights[query, part],
                        counts[query, part],
                        sums,
                    )
                    factor, floor = mass[query, bank, 0], mass[query, bank, 1]
                    for lane in range(LANES):
                        sums[lane] = (
                            sums[lane]
                            * sketch.scale[block, part, lane]
                            * sketch.prior[block, lane]
                            * factor
                            + floor
                        )
                    _add_logarithm(sums, bits, slope[7 + bank], bins, row)


@kernel(nogil=True)
def add_factors(bin_of_item, target, liked, begin, end, histories, tastes, slopes, out):
    """Add the learned factors to the scores of Q standpoints at once.

    Only the blocks [begin, end) are scored.

    Their tables change with every adoption, for too many items to be quantised again each time.

    Args:
        target: [I,h] f32; `liked` [I,t]. A width of 0 means that the factor is off.
        histories: [Q,h] f32 x of each user; `tastes` [Q,t] their taste vectors.
        slopes: [Q,11,4] as in `score_blocks`.
        out: [Q, B*64] f32, added to.
    """
    for item in range(begin * LANES, min(end * LANES, len(target))):
        item_bin = bin_of_item[item]
        for query in range(len(histories)):
            out[query, item] += slopes[query, OF_HISTORY, item_bin] * multiply(
                target[item], histories[query]
            ) + slopes[query, OF_TASTE, item_bin] * multiply(liked[item], tastes[query])


@kernel(fastmath={"contract", "reassoc", "nsz", "arcp"})
def raise_neighbours(bin_of_item, adoptions, near_slow, near_fast, found, slopes, scores):
    """Raise the scores of the gathered neighbours from their floor.

    Args:
        scores: [B*64] += slope * ln(1 + nearness / floor).
        slopes: [2,4] slow and fast, by item bin.
    """
    sums, lifts, adopted = (
        np.empty(LANES, np.float32),
        np.empty(LANES, np.float32),
        np.empty(LANES, np.float32),
    )
    bits = sums.view(np.int32)
    bins = np.zeros(LANES, np.uint8)
    floor = np.float32(KNN_FLOOR)
    for first in range(0, len(found), LANES):
        items = found[first : first + LANES]
        for lane in range(len(items)):
            bins[lane] = bin_of_item[items[lane]]
            adopted[lane] = adoptions[items[lane]]
        lifts[:] = 0.0
        for speed in range(2):
            near = near_slow if speed == 0 else near_fast
            sums[:] = 1.0
            for lane in range(len(items)):
                sums[lane] += compute_nearness(near[items[lane]], adopted[lane]) / floor
            _add_logarithm(sums, bits, slopes[speed], bins, lifts)
        for lane in range(len(items)):
            scores[items[lane]] += lifts[lane]
