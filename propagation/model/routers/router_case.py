"""What a reasoner is told of a router when it decides whether to split, merge or rewrite it (RecNet
2.4, eq. 9), and its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from propagation.model.clients.gradient import Gradient
from propagation.model.routers.evolution import EvolutionKind
from propagation.model.routers.router import RouterVersion


@dataclass(frozen=True)
class RouterHalf:
    """One half of a router's community: its part (0..1) of what was written, what its users chose
    when they had heard the router (how often each attribute), and what it would stand for."""

    share: float
    choices: Mapping[str, int]
    standing: Mapping[str, float]


@dataclass(frozen=True)
class RouterCase:
    """`praised` and `blamed` count all gradients (reward 1 and 0); `gradients` are the newest of
    them. `choices`: what readers chose when they had heard it. `halves`: what a split would give,
    `distance` 1 less the cosine of their centres (0..2). `nearest`: the router most like it,
    `similarity` -1..1, `merged_standing` what both would stand for. `common`: mean shares of attributes over
    all routers."""

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
    """`kind` None: leave it as it is. `texts`: (name, text) of each router afterwards, two for a
    split, in the order of the halves; one for a merge or a rewrite. `written_by`: as in
    RouterVersion."""

    kind: EvolutionKind | None
    reason: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    written_by: str = ""
