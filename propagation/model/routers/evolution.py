"""Evolution: one run splits, merges or rewrites routers from their gradients.

A reasoner decides on each router's case.

Source: RecNet 2.4, eq. 9 for routers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from propagation.model.base import Term
from propagation.model.clients.gradient import Gradient
from propagation.model.routers.router import RouterVersion


class EvolutionKind(StrEnum):
    """Kinds of changes that a run makes to a router.

    A split keeps the router's number for one half and gives the other a retired or new number; a
    merge keeps the smaller number and retires the other.
    """

    SPLIT = "split"
    MERGE = "merge"
    REWRITE = "rewrite"


class EvolutionChange(Term):
    """One change of a run.

    Attributes:
        before: Router numbers before the change.
        after: Router numbers after the change.
        reason: Why it was made.
    """

    kind: EvolutionKind
    before: tuple[int, ...]
    after: tuple[int, ...]
    reason: str = ""


class LineageStep(Term):
    """A step of a lineage: what one router became in a run.

    Attributes:
        kind: split, merge or rewrite.
    """

    run: int
    before: int
    after: int
    kind: str


class EvolutionRun(Term):
    """Report of one run.

    Attributes:
        run: Number; 0 for a dry run.
        sequence: Of its log entry; 0 unless it was published.
        epoch: The epoch that it opened; 0 unless it was published.
        round: Newest round; its own if it was published.
        time: Milliseconds since 1970; 0 for a dry run.
        undoes: The run that it undoes; None if it is no undo.
        judged_from: T, the sequence at which the holdout begins; None like all figures below if
            nothing was judged (an undo, no changes, or too little data).
        users: Users of the holdout.
        interactions: Interactions of the holdout.
        log_loss_before: Mean over users, with the old routers.
        log_loss_after: Mean over users, with the new routers.
        standard_error: Of the mean of new minus old.
    """

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

    def lineage(self) -> list[LineageStep]:
        """List what each router became in this run."""
        return [
            LineageStep(run=self.run, before=before, after=after, kind=change.kind.value)
            for change in self.changes
            for before in change.before
            for after in change.after
        ]


@dataclass(frozen=True)
class RouterHalf:
    """One half of a router's community.

    Attributes:
        share: Its part (0 to 1) of what was written to the router.
        choices: Attributes that its users chose after they read the router, with counts.
        standing: Attributes that it would stand for, with their weights.
    """

    share: float
    choices: Mapping[str, int]
    standing: Mapping[str, float]


@dataclass(frozen=True)
class RouterCase:
    """A router, as a reasoner is shown it to decide.

    Attributes:
        gradients: The newest ones.
        praised: How many of all gradients have reward 1.
        blamed: How many have reward 0.
        choices: Attributes that readers chose after they read the router, with counts.
        common: Mean share of each attribute over all routers.
        halves: The halves of a split; None if it cannot be split.
        distance: 1 less the cosine of the halves' centres (0 to 2).
        nearest: The router with which it is merged at the least loss; None if there is none.
        similarity: To the nearest router, -1 to 1.
        merged_standing: What both would stand for together.
        missing: How many routers there are too few (below 0: too many) for the communities that
            users' choices tell apart; 0 where they tell none.
    """

    router: RouterVersion
    gradients: Sequence[Gradient]
    praised: int
    blamed: int
    choices: Mapping[str, int]
    common: Mapping[str, float]
    halves: tuple[RouterHalf, RouterHalf] | None = None
    distance: float = 0.0
    nearest: RouterVersion | None = None
    similarity: float = -1.0
    merged_standing: Mapping[str, float] | None = None
    missing: int = 0


@dataclass(frozen=True)
class RouterDecision:
    """A reasoner's decision on a router.

    Attributes:
        kind: None: keep it as it is.
        texts: (name, text) of each router afterwards: two for a split, in the order of the halves;
            one for a merge or rewrite. Names are proposals; "": its attributes name it.
        written_by: As in RouterVersion.
    """

    kind: EvolutionKind | None
    reason: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    written_by: str = ""
