"""What the learn commit stores: the deltas of the numbers (DESIGN, State, 2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NEGATIVES = 4
WRITTEN = 16


@dataclass(frozen=True)
class LearnedBlock:
    """One learn commit: B interactions in sequence order, and what each wrote.

    sequence [B] i64 · epoch · negatives [B,4] i32 item rows, -1 where none was left to draw ·
    scores [B,2] f32 of i+ and i- from before the updates, NaN without a negative · profile_cosines
    [B,5] f32 as read · routers [B,2,16] u16 and weights [B,2,16] f32, by bank (0 session, 1 taste):
    the adoption mass each wrote, all zero for a repeat · trust [B,2,K] f32, the increments of rule
    4 · combiner: the combiner's state after the block. The block covers the log from just after
    `after` to `through`, which may be past its last interaction.
    """

    after: int
    through: int
    epoch: int
    sequence: NDArray[np.int64]
    negatives: NDArray[np.int32]
    scores: NDArray[np.float32]
    profile_cosines: NDArray[np.float32]
    routers: NDArray[np.uint16]
    weights: NDArray[np.float32]
    trust: NDArray[np.float32]
    combiner: NDArray[np.float64]


@dataclass(frozen=True)
class StagedCheckpoint:
    """A checkpoint that is written and not visible yet: its id in the store, and the sequence it
    stands at."""

    id: int
    sequence: int


@dataclass(frozen=True)
class Checkpoint:
    """The numbers at one sequence. `rebuild` never goes behind a barrier, and the newest one is
    never pruned."""

    sequence: int
    epoch: int
    barrier: bool
    arrays: dict[str, NDArray[np.generic]]
