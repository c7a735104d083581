"""A propagation round (forward, batch): Algorithm 1, lines 13 to 20."""

from propagation.model.base import Term


class Round(Term):
    """Covers every profile version written for interactions up to `boundary`. `sequence` is the
    round's own place in the log, given when it is published; 0 while it is invisible."""

    number: int
    boundary: int
    sequence: int = 0
    changed: int = 0
    touched: int = 0
    edges_opened: int = 0
    edges_closed: int = 0
    reached: int = 0
