"""Events of watching: merges, texts and gaps.

Merges and texts come in the order of their commits.
"""

from dataclasses import dataclass
from enum import StrEnum

from propagation.model.clients.profile import MessageMerge


class WatchEventKind(StrEnum):
    """Kinds of events that a watcher can ask for."""

    ROUND = "round"
    MESSAGE = "message"
    MERGE = "merge"
    EVOLUTION = "evolution"


@dataclass(frozen=True, slots=True)
class NumberedMerge:
    """A merge with its place in the order of commits.

    Attributes:
        number: From 1.
        sequence: Sequence that the merged text belongs to.
    """

    number: int
    sequence: int
    merge: MessageMerge


@dataclass(frozen=True, slots=True)
class NumberedText:
    """A new version of a client's text.

    Attributes:
        number: Its place among all versions in the order of commits.
    """

    number: int
    ref: int
    version: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that a watcher does not get.

    Attributes:
        missed: How many.
        sequence: The sequence recorded through when they were left out.
    """

    missed: int
    sequence: int
