"""Lineage: what became of each router, and how edges, filter rules and texts that name routers
follow it (DESIGN, step 8)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.client import ClientKind, index_of, kind_of
from propagation.model.clients.filter_memory import MAX_RULES, FilterMemory, FilterRule
from propagation.model.routers.evolution import EvolutionChange, EvolutionKind
from propagation.model.routers.router import RoutingEdge
from propagation.model.routers.router_maps import RouterMap


@dataclass(frozen=True)
class Numbering:
    """The numbers after a run's changes: as in RouterMap; `halves` by router (first, second)."""

    home: NDArray[np.int64]
    halves: dict[int, tuple[int, int]]
    routers: int
    retired: frozenset[int]
    changes: tuple[EvolutionChange, ...]


def numbered(
    changes: Sequence[EvolutionChange], routers: int, retired: frozenset[int]
) -> Numbering:
    """Numbers for decided changes, whose `after` is not known yet. Every router is in one change at
    most. A split keeps its number for the first half; the second gets the smallest retired one,
    else a new one. A merge keeps its smallest number."""
    home = np.arange(routers)
    free, gone = sorted(retired), set(retired)
    halves: dict[int, tuple[int, int]] = {}
    done = []
    for change in changes:
        after = change.before
        if change.kind == EvolutionKind.SPLIT:
            (router,) = change.before
            second = free.pop(0) if free else routers
            routers = max(routers, second + 1)
            gone.discard(second)
            after = halves[router] = (router, second)
        elif change.kind == EvolutionKind.MERGE:
            after = (min(change.before),)
            home[list(change.before)] = after[0]
            gone.update(set(change.before) - set(after))
        done.append(change.model_copy(update={"after": after}))
    return Numbering(home, halves, routers, frozenset(gone), tuple(done))


def edges_followed(
    change: RouterMap, routers: Iterable[int], standing: Sequence[RoutingEdge]
) -> tuple[list[tuple[int, int]], list[RoutingEdge]]:
    """(to close, to open) of the routing table. `standing`: the edges of the routers that changed,
    and of those that they became. A user goes with its half of a split, an item to both; of two
    edges that a merge makes one the larger score stays."""
    moved = frozenset(routers)
    scores: dict[tuple[int, int], float] = {}
    for edge in standing:
        targets = _targets(change, edge) if edge.router in moved else (edge.router,)
        for target in targets:
            scores[target, edge.ref] = max(scores.get((target, edge.ref), -np.inf), edge.score)
    before = {(edge.router, edge.ref): edge.score for edge in standing}
    closed = [key for key, score in before.items() if scores.get(key) != score]
    opened = [
        RoutingEdge(router=router, ref=ref, score=score, from_sequence=0)
        for (router, ref), score in scores.items()
        if before.get((router, ref)) != score
    ]
    return closed, opened


def _targets(change: RouterMap, edge: RoutingEdge) -> tuple[int, ...]:
    if kind_of(edge.ref) == ClientKind.ITEM:
        return change.successors_of(edge.router)
    return (int(change.map_routers(np.array([edge.router]), np.array([index_of(edge.ref)]))[0]),)


def rules_followed(memory: FilterMemory, change: RouterMap) -> FilterMemory:
    """The rules, those of routers under the new numbers: of both halves of a split; of rules that a
    merge makes one the stronger stays, the one further from 1. The same object where nothing
    changes."""
    kept: dict[tuple[int | None, str | None], FilterRule] = {}
    for rule in memory.rules:
        numbers = (None,) if rule.router is None else change.successors_of(rule.router)
        for number in numbers:
            followed = rule if number == rule.router else replace(rule, router=number)
            other = kept.get(followed.target)
            if other is None or _strength(followed) > _strength(other):
                kept[followed.target] = followed
    rules = list(kept.values())
    while len(rules) > MAX_RULES:
        rules.remove(min(rules, key=lambda old: (len(old.evidence), old.age)))
    return memory if tuple(rules) == memory.rules else FilterMemory(rules=tuple(rules))


def _strength(rule: FilterRule) -> tuple[float, int, int]:
    return (abs(log(rule.factor)), len(rule.evidence), rule.age)
