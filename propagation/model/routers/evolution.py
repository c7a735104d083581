"""Evolution (RecNet 2.4, eq. 9 of routers): routers are split, merged or rewritten from their
gradients, in one run."""

from enum import StrEnum

from propagation.model.base import Term


class EvolutionKind(StrEnum):
    """What becomes of a router. Numbers keep their meaning: a split keeps the router's number for
    one half and gives the other a retired or a new one; a merge keeps the smaller number and
    retires the other."""

    SPLIT = "split"
    MERGE = "merge"
    REWRITE = "rewrite"


class EvolutionChange(Term):
    """One change of a run: router numbers before it and after it, and why."""

    kind: EvolutionKind
    before: tuple[int, ...]
    after: tuple[int, ...]
    reason: str = ""


class EvolutionRun(Term):
    """What one run found. `run` and `time` (ms) are 0 for a dry run, `sequence` and `epoch` unless
    it was published; `round`: the newest round there was, its own where it was published.
    `judged_from` is T, a sequence; log-losses are means over `users` of what each chose in
    `interactions` after T; `standard_error` is that of new less old. None where nothing was judged
    (an undo, nothing to change, too little)."""

    run: int = 0
    sequence: int = 0
    epoch: int = 0
    round: int = 0
    time: int = 0
    published: bool = False
    changes: tuple[EvolutionChange, ...] = ()
    verdict: str = ""
    undoes: int | None = None
    judged_from: int | None = None
    users: int = 0
    interactions: int = 0
    log_loss_before: float | None = None
    log_loss_after: float | None = None
    standard_error: float | None = None


class LineageStep(Term):
    """Lineage: what one router became when an epoch opened. kind: split, merge or rewrite."""

    run: int
    before: int
    after: int
    kind: str
