"""Learned numbers: the deltas that a learn commit stores, and checkpoints."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from propagation.arrays import F32, F64, I32, I64, U16, Array
from propagation.errors import DamagedNumbers

NEGATIVES = 4
WRITTEN = 16


@dataclass(frozen=True)
class LearnedBlock:
    """One learn commit: B interactions in sequence order, with their writes.

    Attributes:
        after: The block covers the log's entries after this sequence.
        through: The block covers the log up to this sequence, which may be later than its last
            interaction.
        sequence: [B] i64.
        negatives: [B,4] i32 item rows; -1 if no item was left to draw, or if it was removed since.
        scores: [B,2] f32 of i+ and the first negative before the updates; NaN without it.
        profile_cosines: [B,5] f32 cosines of the user's profile with those of the item and its
            negatives, as they were when the block was learned; 0 without a negative.
        routers: [B,2,16] u16, by bank (0 session, 1 taste).
        weights: [B,2,16] f32, adoption mass that each interaction wrote to these routers; zeros
            for a repeat.
        trust: [B,2,K] f32, increments of rule 4 (docs/numbers.md).
        combiner: The combiner's state after the block.
    """

    after: int
    through: int
    epoch: int
    sequence: I64
    negatives: I32
    scores: F32
    profile_cosines: F32
    routers: U16
    weights: F32
    trust: F32
    combiner: F64


@contextmanager
def name_damage(what: str, after: int = -1, through: int = -1) -> Iterator[None]:
    """Turn an error about a value into one that names the damage.

    Args:
        what: Names the value that the body reads; begins the message.
        after: As in DamagedNumbers.
        through: As in DamagedNumbers.

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
        sequence: Sequence that the numbers reflect.
    """

    id: int
    sequence: int


@dataclass(frozen=True)
class Checkpoint:
    """The numbers at one sequence.

    Attributes:
        barrier: Whether this is a barrier: `rebuild` never goes behind one, and the newest one is
            never dropped.
        arrays: The numbers, by name.
    """

    sequence: int
    epoch: int
    barrier: bool
    arrays: dict[str, Array]
