"""Learned numbers: the deltas that a learn commit stores, and checkpoints."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propagation.errors import DamagedNumbers

NEGATIVES = 4
WRITTEN = 16


@dataclass(frozen=True)
class LearnedBlock:
    """One learn commit: B interactions in sequence order, with what each wrote.

    Attributes:
        after: The block covers the log from just after this sequence,
        through: to this one, which may lie behind its last interaction.
        sequence: [B] i64.
        negatives: [B,4] i32 item rows; -1 if none was left to draw.
        scores: [B,2] f32 of i+ and i- before the updates; NaN without a negative.
        profile_cosines: [B,5] f32, as read.
        routers: [B,2,16] u16, by bank (0 session, 1 taste).
        weights: [B,2,16] f32, adoption mass that each wrote to these routers; zeros for a repeat.
        trust: [B,2,K] f32, increments of rule 4 (docs/numbers.md).
        combiner: The combiner's state after the block.
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


@contextmanager
def name_damage(what: str, after: int = -1, through: int = -1) -> Iterator[None]:
    """Turn an error about a value into one that names the damage.

    Args:
        what: What the body of the `with` reads.

    Raises:
        DamagedNumbers: The body raised TypeError, ValueError or LookupError.
    """
    try:
        yield
    except (TypeError, ValueError, LookupError) as error:
        raise DamagedNumbers(f"{what} is damaged: {error}", after, through) from error


@dataclass(frozen=True)
class StagedCheckpoint:
    """A checkpoint that is written but not visible yet.

    Attributes:
        id: Its id in the store.
        sequence: Sequence at which the numbers stand.
    """

    id: int
    sequence: int


@dataclass(frozen=True)
class Checkpoint:
    """The numbers at one sequence.

    Attributes:
        barrier: `rebuild` never goes behind a barrier, and the newest one is never dropped.
    """

    sequence: int
    epoch: int
    barrier: bool
    arrays: dict[str, NDArray[np.generic]]
