"""The log: the global order (sequence) of everything that can change a number or a text."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from propagation.model.base import Term


class EntryKind(StrEnum):
    CLIENTS = "clients"
    BOOTSTRAP = "bootstrap"
    ROUND = "round"
    RETRACTION = "retraction"
    ERASURE = "erasure"
    EVOLUTION = "evolution"


class LogEntry(Term):
    """Anything in the log that is not an interaction. `refs`: the clients it touches, in order."""

    sequence: int
    kind: EntryKind
    refs: tuple[int, ...] = ()
    number: int = 0
    time: int = 0


@dataclass(frozen=True)
class Interactions:
    """Interactions as columns, in sequence order; users and items as rows of their kind (not refs).
    `negative` is -1 where the caller named none; `day` is the UTC day of the commit, counted from
    1970."""

    sequence: NDArray[np.int64]
    user: NDArray[np.int64]
    item: NDArray[np.int64]
    negative: NDArray[np.int64]
    weight: NDArray[np.float64]
    seed: NDArray[np.uint64]
    day: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sequence)


@dataclass(frozen=True)
class LogSlice:
    """The log from just after one sequence up to `through`: every entry of it, interactions and
    others."""

    interactions: Interactions
    entries: tuple[LogEntry, ...]
    through: int
