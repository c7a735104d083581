"""A propagation round (forward, batch): Algorithm 1, lines 13 to 20."""

from propagation.model.base import Term


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
