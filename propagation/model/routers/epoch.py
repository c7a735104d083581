"""An epoch: a router set's life between two evolutions (bootstrap opens the first)."""

from enum import StrEnum

from propagation.model.base import Term


class BankName(StrEnum):
    """The two banks of routers. Only taste routers have profiles and send messages."""

    SESSION = "session"
    TASTE = "taste"


class Epoch(Term):
    """`tau` is eq. 4's threshold as fixed at its opening (None until the semantic policy needs it).
    `taste_k`: the taste routers it opened with, retired ones too. `era`: the epoch of the bootstrap
    that it descends from; its own number for a bootstrap's."""

    number: int
    sequence: int
    session_k: int
    taste_k: int
    tau: float | None = None
    embedder: str = ""
    era: int = 0
