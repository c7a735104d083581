"""A router's case for evolution, and the reasoner's decision.

Source: RecNet 2.4, eq. 9.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from propagation.model.clients.gradient import Gradient
from propagation.model.routers.evolution import EvolutionKind
from propagation.model.routers.router import RouterVersion


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
    """What a reasoner is shown of a router.

    Attributes:
        gradients: The newest ones.
        praised: How many of all gradients have reward 1.
        blamed: How many have reward 0.
        choices: Attributes that readers chose after they read the router, with counts.
        common: Mean share of each attribute over all routers.
        halves: The halves of a split; None if it cannot be split.
        distance: 1 less the cosine of the halves' centres (0 to 2).
        nearest: The most similar router; None if there is none.
        similarity: To the nearest router, -1 to 1.
        merged_standing: What both would stand for together.
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


@dataclass(frozen=True)
class RouterDecision:
    """What to do with a router.

    Attributes:
        kind: None: keep it as it is.
        texts: (name, text) of each router afterwards: two for a split, in the order of the halves;
            one for a merge or rewrite.
        written_by: As in RouterVersion.
    """

    kind: EvolutionKind | None
    reason: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    written_by: str = ""
