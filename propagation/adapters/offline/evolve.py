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

SMALLEST_HALF = 0.15
LEAST_WANTED = 5
BLAMED = 0.5
SHOWN = 2


def decide(case: RouterCase) -> RouterDecision:
    """Decide whether a router is split, merged, rewritten or kept.

    If there are too few routers, the router is split, provided that both halves are large enough.
    If there are too many, it is merged with the nearest router. If at least half of its readers
    blamed it, it is rewritten towards what they chose.
    """
    if (
        case.missing > 0
        and case.halves is not None
        and all(
            half.share >= SMALLEST_HALF and sum(half.choices.values()) >= LEAST_WANTED
            for half in case.halves
        )
    ):
        one, other = (
            join_names(rank_by_distinctiveness(half.choices, case.common)[:SHOWN])
            for half in case.halves
        )
        return RouterDecision(
            EvolutionKind.SPLIT,
            f"holds two communities: one chose {one}, the other {other}",
            tuple(_write_text(case, half.standing, half.choices) for half in case.halves),
        )
    if case.missing < 0 and case.nearest is not None and case.merged_standing is not None:
        return RouterDecision(
            EvolutionKind.MERGE,
            f"holds the community of router {case.nearest.router}: their adoptions agree "
            f"to {case.similarity:.2f}",
            (_write_text(case, case.merged_standing),),
        )
    readers = case.praised + case.blamed
    if case.choices and case.blamed >= BLAMED * readers:
        return RouterDecision(
            EvolutionKind.REWRITE,
            f"{case.blamed} of {readers} readers chose something else: says more of what they "
            "chose",
            (_write_text(case, case.choices, case.choices),),
        )
    return RouterDecision(None, f"{case.praised} of {readers} readers chose what it spoke of")


def _write_text(
    case: RouterCase, standing: Mapping[str, float], arrived: Mapping[str, int] | None = None
) -> tuple[str, str]:
    return "", summarize_router(case.router.router, arrived or {}, standing, case.common, ())
