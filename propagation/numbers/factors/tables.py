"""Tables of the learned factors, by row of user or item."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.model import FactorSettings
from propagation.numbers.kernels import kernel
from propagation.numbers.seeded_hash import mix_seed

F32 = NDArray[np.float32]

REPLAYS, RECENT_REPLAYS, STEPS, OWN_STEPS, BY_SECONDS = range(5)
START_DEVIATION = 0.1
START_SQUARE = np.float32(0.1)
ITEM_TABLES = ("long", "now", "target", "bias", "squares", "liked", "liked_bias")
# Each table of noise has draws of its own.
OF_LONG, OF_NOW, OF_TASTE = range(3)


class Factors(NamedTuple):
    """Learned vectors of I items and U users.

    Args:
        long: P [I,h] f32, an item as a part of a history, over the long run; `now` is P', of the
            present session.
        target: Q [I,h] f32, an item as the next choice; bias b [I] f32.
        squares: [I,4] f32 AdaGrad's sums of the rows of long, now, target and bias.
        liked: Q' [I,t] f32, what taste vectors are multiplied by; liked_bias b' [I] f32.
        taste: V [U,t] f32.
        plan: [5] i64: replays, recent replays, steps, own steps, whether the fast kNN fades by
            seconds.
        skipped: [1] i64 steps left out because a value would not have been finite.
        withdrawn: [1] i64 adoptions that the tables learned from and that were withdrawn since, and
            removed items that may have been drawn against them.
    """

    long: F32
    now: F32
    target: F32
    bias: F32
    squares: F32
    liked: F32
    liked_bias: F32
    taste: F32
    plan: NDArray[np.int64]
    skipped: NDArray[np.int64]
    withdrawn: NDArray[np.int64]

    @property
    def settings(self) -> FactorSettings:
        """Return the settings that the tables were made with."""
        return build_settings(self.target, self.taste, self.plan)


def build_settings(target: F32, taste: F32, plan: NDArray[np.int64]) -> FactorSettings:
    """Return the settings that tables were made with."""
    replays, recent_replays, steps, own_steps, by_seconds = plan.tolist()
    return FactorSettings(
        target.shape[1],
        taste.shape[1],
        replays,
        recent_replays,
        steps,
        own_steps,
        bool(by_seconds),
    )


def create_factors(settings: FactorSettings, seed: np.uint64, users: int, items: int) -> Factors:
    """Make tables that have learned nothing."""
    empty = Factors(
        long=np.zeros((0, settings.history), np.float32),
        now=np.zeros((0, settings.history), np.float32),
        target=np.zeros((0, settings.history), np.float32),
        bias=np.zeros(0, np.float32),
        squares=np.zeros((0, 4), np.float32),
        liked=np.zeros((0, settings.taste), np.float32),
        liked_bias=np.zeros(0, np.float32),
        taste=np.zeros((0, settings.taste), np.float32),
        plan=np.array(
            [
                settings.replays,
                settings.recent_replays,
                settings.steps,
                settings.own_steps,
                settings.by_seconds,
            ],
            np.int64,
        ),
        skipped=np.zeros(1, np.int64),
        withdrawn=np.zeros(1, np.int64),
    )
    return with_user_rows(with_item_rows(empty, items, seed), users, seed)


def with_item_rows(factors: Factors, rows: int, seed: np.uint64, skipped: int = 0) -> Factors:
    """Return the tables with more item rows, which have learned nothing.

    Args:
        skipped: Rows below this one stay empty: the caller fills them.
    """
    before = len(factors.bias)
    if rows == before:
        return factors
    tables: dict[str, Any] = {name: _grow(getattr(factors, name), rows) for name in ITEM_TABLES}
    grown = factors._replace(**tables)
    grown.squares[before:] = START_SQUARE
    new = np.arange(max(before, skipped), rows)
    fill_start_rows(grown.long, new, OF_LONG, seed)
    fill_start_rows(grown.now, new, OF_NOW, seed)
    return grown


def reset_item(factors: Factors, item: int, seed: np.uint64) -> None:
    """Set an item's rows as before its first adoption."""
    for name in ITEM_TABLES:
        getattr(factors, name)[item] = 0
    factors.squares[item] = START_SQUARE
    fill_start_rows(factors.long, np.array([item]), OF_LONG, seed)
    fill_start_rows(factors.now, np.array([item]), OF_NOW, seed)


def reset_taste(factors: Factors, users: NDArray[np.int64], seed: np.uint64) -> None:
    """Set users' taste vectors as before their first adoption."""
    fill_start_rows(factors.taste, users, OF_TASTE, seed)


def with_user_rows(factors: Factors, rows: int, seed: np.uint64, skipped: int = 0) -> Factors:
    """Return the tables with more user rows, which have learned nothing.

    Args:
        skipped: Rows below this one stay empty: the caller fills them.
    """
    before = len(factors.taste)
    if rows == before:
        return factors
    grown = factors._replace(taste=_grow(factors.taste, rows))
    fill_start_rows(grown.taste, np.arange(max(before, skipped), rows), OF_TASTE, seed)
    return grown


def _grow(table: F32, rows: int) -> F32:
    out = np.zeros((rows, *table.shape[1:]), np.float32)
    out[: len(table)] = table
    return out


@kernel(nogil=True)
def fill_start_rows(table, rows, which, seed):
    """Fill rows with .1 N(0,1), drawn by a hash of the row.

    Args:
        which: OF_LONG, OF_NOW or OF_TASTE.
    """
    width = table.shape[1]
    own = mix_seed(np.uint64(which), seed)
    for row in rows:
        for column in range(width):
            word = mix_seed(np.uint64(row * width + column), own)
            # Box and Muller: one normal number of two uniform ones of 32 bits.
            radius = np.sqrt(-2.0 * np.log((np.float64(word >> np.uint64(32)) + 1.0) / 2.0**32))
            angle = 2.0 * np.pi * np.float64(word & np.uint64(0xFFFFFFFF)) / 2.0**32
            table[row, column] = START_DEVIATION * radius * np.cos(angle)
