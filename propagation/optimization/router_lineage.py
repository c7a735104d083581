"""Lineage: the routers that each router became.

Edges and filter rules that name routers follow the lineage.

Source: `docs/evolution.md`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from propagation.model import (
    F32,
    I64,
    MAX_RULES,
    ClientKind,
    EvolutionChange,
    EvolutionKind,
    FilterMemory,
    FilterRule,
    Halves,
    RouterMap,
    RoutingEdge,
    get_kind,
    index_of,
)
from propagation.routing import TableChange


@dataclass(frozen=True)
class Numbering:
    """The routers' numbers after a run's changes.

    Attributes:
        home: As in RouterMap.
        halves: The numbers of both halves, by router that is split.
        routers: As in RouterMap.
        retired: As in RouterMap.
        changes: What the run does, one entry for each split, merge and rewrite.
    """

    home: I64
    halves: dict[int, tuple[int, int]]
    routers: int
    retired: frozenset[int]
    changes: tuple[EvolutionChange, ...]

    def fewer(self, routers: int, retired: frozenset[int]) -> int:
        """Return how many fewer routers there are than before.

        Args:
            routers: How many numbers there were before.
            retired: The numbers that stood for no router before.
        """
        return (routers - len(retired)) - (self.routers - len(self.retired))

    def to_map(
        self,
        halves: Mapping[int, Halves],
        through: int,
        epoch: int,
        centres: F32,
        versions: Mapping[int, int] | None = None,
        undoes: int | None = None,
    ) -> RouterMap:
        """Build the map from `epoch` to the next one.

        The map's run and start shares are not known yet. The arguments are as in RouterMap.
        """
        return RouterMap(
            run=0,
            through=through,
            from_epoch=epoch,
            to_epoch=epoch + 1,
            home=self.home,
            routers=self.routers,
            retired=self.retired,
            centres=centres,
            halves=halves,
            versions=versions or {},
            undoes=undoes,
        )


def number_routers(
    changes: Sequence[EvolutionChange], routers: int, retired: frozenset[int]
) -> Numbering:
    """Give the routers of decided changes their numbers.

    A split keeps its number for the first half; the second gets the smallest retired number, else a
    new one. A merge keeps its smallest number.

    Args:
        changes: Their `after` is not known yet; each router is in at most one.
        routers: How many numbers there are.
        retired: Numbers that stand for no router.
    """
    home = np.arange(routers)
    free, retired_after = sorted(retired), set(retired)
    halves: dict[int, tuple[int, int]] = {}
    numbered = []
    for change in changes:
        after = change.before
        if change.kind == EvolutionKind.SPLIT:
            (router,) = change.before
            second = free.pop(0) if free else routers
            routers = max(routers, second + 1)
            retired_after.discard(second)
            after = halves[router] = (router, second)
        elif change.kind == EvolutionKind.MERGE:
            after = (min(change.before),)
            home[list(change.before)] = after[0]
            retired_after.update(set(change.before) - set(after))
        numbered.append(change.model_copy(update={"after": after}))
    return Numbering(home, halves, routers, frozenset(retired_after), tuple(numbered))


def find_moved_routers(change: RouterMap) -> list[int]:
    """List the routers whose successor is not their own number alone."""
    return [
        router for router in range(len(change.home)) if change.get_successors(router) != (router,)
    ]


def follow_edges(
    change: RouterMap, moved: Iterable[int], edges: Sequence[RoutingEdge]
) -> TableChange:
    """Move the routing table's edges to the routers' successors.

    After a split, a user's edge goes to the user's half, an item's edge to both halves. If a merge
    makes one edge of two, the larger score stays.

    Args:
        moved: Routers that became other ones.
        edges: Edges of these routers, and of those that they became.
    """
    moved = frozenset(moved)
    scores: dict[tuple[int, int], float] = {}
    for edge in edges:
        targets = _find_targets(change, edge) if edge.router in moved else (edge.router,)
        for target in targets:
            scores[target, edge.ref] = max(scores.get((target, edge.ref), -np.inf), edge.score)
    before = {(edge.router, edge.ref): edge.score for edge in edges}
    return TableChange(
        closed=[key for key, score in before.items() if scores.get(key) != score],
        opened=[
            RoutingEdge(router=router, ref=ref, score=score, from_sequence=0)
            for (router, ref), score in scores.items()
            if before.get((router, ref)) != score
        ],
    )


def _find_targets(change: RouterMap, edge: RoutingEdge) -> tuple[int, ...]:
    if get_kind(edge.ref) == ClientKind.ITEM:
        return change.get_successors(edge.router)
    user = np.array([index_of(edge.ref)])
    return (int(change.map_routers(np.array([edge.router]), user)[0]),)


def follow_rules(
    memory: FilterMemory, change: RouterMap, undone: RouterMap | None = None
) -> FilterMemory:
    """Move the rules that name routers to the routers' successors.

    A rule on a router that is split counts for both halves. But where an undo brings both routers
    of a merge back, a rule from before the merge goes to the one that it was about. If a merge
    makes one rule of several, the strongest stays: the one whose factor is furthest from 1. If
    there are more than MAX_RULES, those with the least evidence are dropped, the oldest first.

    Args:
        undone: The run that `change` undoes, if it is an undo.

    Returns:
        The memory; the same object if nothing changes.
    """
    kept: dict[tuple[int | None, str | None], FilterRule] = {}
    for rule in memory.rules:
        if rule.router is None:
            followers = [rule]
        else:
            numbers = change.get_successors(rule.router)
            first = rule.router if rule.first_router is None else rule.first_router
            if undone is not None and rule.age <= undone.through and first in numbers:
                numbers = (first,)
            followers = [rule.move(number) for number in numbers]
        for followed in followers:
            other = kept.get(followed.target)
            if other is None or _measure_strength(followed) > _measure_strength(other):
                kept[followed.target] = followed
    rules = list(kept.values())
    while len(rules) > MAX_RULES:
        rules.remove(min(rules, key=lambda old: (len(old.evidence), old.age)))
    return memory if tuple(rules) == memory.rules else FilterMemory(rules=tuple(rules))


def _measure_strength(rule: FilterRule) -> tuple[float, int, int]:
    return (abs(log(rule.factor)), len(rule.evidence), rule.age)
