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
        reason: Why the change was made.
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
        sequence: Sequence of the run's log entry; 0 unless it was published.
        epoch: The epoch that the run opened; 0 unless it was published.
        round: The run's own round if it was published, else the newest round.
        time: Milliseconds since 1970; 0 for a dry run.
        undoes: The run that this one undoes; None if it is no undo.
        judged_from: T, the sequence at which the holdout begins; None like all figures below if
            nothing was judged (an undo, no changes, or too little data).
        users: Users of the holdout.
        interactions: Interactions of the holdout.
        log_loss_before: Mean over users, with the old routers.
        log_loss_after: Mean over users, with the new routers.
        standard_error: Standard error of the mean difference, new minus old.
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
        share: The half's share (0 to 1) of the weights that were written to the router.
        choices: Attributes that its users chose after they read the router, with counts.
        standing: Attributes that the half would stand for, with their weights.
    """

    share: float
    choices: Mapping[str, int]
    standing: Mapping[str, float]


@dataclass(frozen=True)
class RouterCase:
    """Everything that a reasoner is shown to decide on a router.

    Attributes:
        gradients: The router's newest gradients.
        praised: How many of all its gradients have reward 1.
        blamed: How many of them have reward 0.
        choices: Attributes that readers chose after they read the router, with counts.
        common: Mean share (0 to 1) of each attribute over all routers.
        halves: The halves of a split; None if the router cannot be split.
        distance: 1 less the cosine of the halves' centres (0 to 2).
        nearest: The router that this one can be merged with at the least loss; None if there is
            none.
        similarity: Similarity (-1 to 1) of both routers.
        merged_standing: Attributes that both would stand for together, with their weights.
        missing: How many routers are missing for the communities that users' choices show; below
            0, how many are superfluous; 0 if the choices show no communities.
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
        kind: The change; None keeps the router as it is.
        texts: (name, text) of each router afterwards: two for a split, in the order of the halves;
            one for a merge or rewrite. A name is a proposal; for "" the router is named by its
            attributes.
        written_by: As in RouterVersion.
    """

    kind: EvolutionKind | None
    reason: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    written_by: str = ""
