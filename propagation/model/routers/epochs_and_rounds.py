"""Epochs and the rounds within them.

An epoch is the life of a router set between two evolutions.
"""

from enum import StrEnum

from propagation.model.base import Term


class BankName(StrEnum):
    """The two banks of routers.

    Only taste routers have profiles and send messages.
    """

    SESSION = "session"
    TASTE = "taste"


class Epoch(Term):
    """A router set.

    Attributes:
        sequence: Sequence at which it opened.
        session_k: Session routers.
        taste_k: Taste routers that it opened with, retired ones included.
        tau: Threshold of eq. 4, fixed at its opening; None until the semantic policy needs it.
        era: Epoch of the bootstrap that it descends from; its own number for a bootstrap's.
    """

    number: int
    sequence: int
    session_k: int
    taste_k: int
    tau: float | None = None
    embedder: str = ""
    era: int = 0


class Round(Term):
    """A round, and what it did.

    Attributes:
        boundary: It covers profile versions written for interactions up to this sequence.
        sequence: Its own place in the log; 0 until it is published.
        changed: Clients whose attributes changed.
        touched: Routers that got a new version.
        reached: Clients that a new message reaches.
    """

    number: int
    boundary: int
    sequence: int = 0
    changed: int = 0
    touched: int = 0
    edges_opened: int = 0
    edges_closed: int = 0
    reached: int = 0
