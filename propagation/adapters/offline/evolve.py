"""Decide whether a router's gradients ask for a split, merge or rewrite.

Source:
    RecNet, eq. 9.
"""

from collections.abc import Mapping

from propagation.adapters.offline.summarize import summarize_router
from propagation.model import (
    EvolutionKind,
    RouterCase,
    RouterDecision,
    join_names,
    rank_by_distinctiveness,
)

ONE_COMMUNITY = 0.95
SMALLEST_HALF = 0.15
LEAST_WANTED = 5
MOST_SHARED = 0.5
BLAMED = 0.5
SHOWN = 2


def decide(case: RouterCase) -> RouterDecision:
    """Decide on a router.

    One whose halves ask for different things is split, routers of one community are merged, and one
    that is mostly blamed is rewritten towards what its readers chose.
    """
    if case.halves is not None and _differ(case):
        one, other = (
            join_names(rank_by_distinctiveness(half.choices, case.common)[:SHOWN])
            for half in case.halves
        )
        reason = f"holds two communities: one chose {one}, the other {other}"
        return RouterDecision(
            EvolutionKind.SPLIT,
            reason,
            tuple(_text(case, half.standing, half.choices) for half in case.halves),
        )
    if (
        case.nearest is not None
        and case.merged_standing is not None
        and case.similarity >= ONE_COMMUNITY
    ):
        reason = (
            f"holds the community of router {case.nearest.router}: their adoptions agree "
            f"to {case.similarity:.2f}"
        )
        return RouterDecision(EvolutionKind.MERGE, reason, (_text(case, case.merged_standing),))
    readers = case.praised + case.blamed
    if case.choices and case.blamed >= BLAMED * readers:
        reason = (
            f"{case.blamed} of {readers} readers chose something else: says more of what they chose"
        )
        standing = {name: float(count) for name, count in case.choices.items()}
        return RouterDecision(EvolutionKind.REWRITE, reason, (_text(case, standing, case.choices),))
    return RouterDecision(None, f"{case.praised} of {readers} readers chose what it spoke of")


def _differ(case: RouterCase) -> bool:
    assert case.halves is not None
    one, other = case.halves
    enough = min(sum(one.choices.values()), sum(other.choices.values())) >= LEAST_WANTED
    return (
        enough
        and min(one.share, other.share) >= SMALLEST_HALF
        and _overlap(one.choices, other.choices) <= MOST_SHARED
    )


def _overlap(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Return the overlap (0..1) of two tallies as distributions."""
    here, there = sum(one.values()), sum(other.values())
    return sum(min(count / here, other.get(name, 0) / there) for name, count in one.items())


def _text(
    case: RouterCase, standing: Mapping[str, float], arrived: Mapping[str, int] | None = None
) -> tuple[str, str]:
    return summarize_router(case.router.router, arrived or {}, standing, case.common, ())
