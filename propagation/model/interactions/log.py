"""The log: the global order (sequence) of all changes.

It holds everything that can change a number or a text.
"""

from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from propagation.arrays import I64, U32
from propagation.model.base import Term


class EntryKind(StrEnum):
    """Kinds of log entries that are no interactions."""

    CLIENTS = "clients"
    BOOTSTRAP = "bootstrap"
    ROUND = "round"
    RETRACTION = "retraction"
    ERASURE = "erasure"
    ORPHANS = "orphans"
    """Items that go with an erased client, because only its events named them."""
    EVOLUTION = "evolution"
    FACTORS = "factors"
    """The ranker's factors were learned again, without events that were withdrawn before."""


class LogEntry(Term):
    """An entry of the log that is no interaction.

    Attributes:
        refs: Clients that the entry concerns, in order.
        number: Number of the round or epoch; for a withdrawal, the barrier's sequence.
        time: Time of the commit, in milliseconds since 1970.
    """

    sequence: int
    kind: EntryKind
    refs: tuple[int, ...] = ()
    number: int = 0
    time: int = 0


LAST_SECOND_KEPT = 2**32 - 1


def to_seconds(milliseconds: I64) -> U32:
    """Return times since 1970 in whole seconds, [n] u32.

    Times from 2106 on are the largest number.
    """
    return np.clip(milliseconds // 1000, 0, LAST_SECOND_KEPT).astype(np.uint32)


@dataclass(frozen=True)
class Interactions:
    """n interactions as columns, in sequence order.

    Attributes:
        sequence: [n] i64.
        user: [n] i64 rows (not refs).
        item: [n] i64 rows.
        negative: [n] i64 item rows; -1 if the caller named none.
        weight: [n] f64.
        seed: [n] u64.
        day: [n] i64 UTC day of the commit, counted from 1970.
        time: [n] u32 seconds since 1970, when it happened; the largest number from 2106 on.
    """

    sequence: NDArray[np.int64]
    user: NDArray[np.int64]
    item: NDArray[np.int64]
    negative: NDArray[np.int64]
    weight: NDArray[np.float64]
    seed: NDArray[np.uint64]
    day: NDArray[np.int64]
    time: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.sequence)


@dataclass(frozen=True)
class LogSlice:
    """Every entry of the log from just after one sequence to another.

    Attributes:
        entries: The entries that are no interactions.
        through: Last sequence of the slice.
    """

    interactions: Interactions
    entries: tuple[LogEntry, ...]
    through: int

    def part(self, after: int, through: int) -> "LogSlice":
        """Return this slice's part after one sequence and up to another."""
        columns = self.interactions
        rows = slice(*np.searchsorted(columns.sequence, (after, through), side="right"))
        return LogSlice(
            Interactions(*(getattr(columns, column.name)[rows] for column in fields(columns))),
            tuple(entry for entry in self.entries if after < entry.sequence <= through),
            through,
        )
