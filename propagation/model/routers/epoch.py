"""An epoch: a router set's life between two evolutions; bootstrap opens the first."""

from enum import StrEnum

from propagation.model.base import Term


class BankName(StrEnum):
    """The two banks of routers; only taste routers have profiles and send messages."""

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
