"""What happens, for those who follow it: merges and texts in the order of their commits; what a
watcher is told."""

from dataclasses import dataclass
from enum import StrEnum

from propagation.model.clients.client_text import MessageMerge


class WatchEventKind(StrEnum):
    ROUND = "round"
    MESSAGE = "message"
    MERGE = "merge"
    EVOLUTION = "evolution"


@dataclass(frozen=True, slots=True)
class NumberedMerge:
    """A merge, its place among all merges in the order of their commits, and the sequence that its
    text belongs to."""

    number: int
    sequence: int
    merge: MessageMerge


@dataclass(frozen=True, slots=True)
class NumberedText:
    """That a client's text got a version, and the place of that among all texts in the order of
    their commits."""

    number: int
    ref: int
    version: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that were there and are not told, and the sequence that was recorded through when they
    were left out."""

    missed: int
    sequence: int
