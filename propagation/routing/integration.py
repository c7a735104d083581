"""Integration: a router takes arrivals into a new profile version.

workflow/rounds/router_integration.py asks the reasoner for the text. The reasoner writes it by
Prompt_summarize (adapters/openai/prompts/summarize.py), or without a language model
(adapters/offline/summarize.py). This module builds the request, and the version from the answer.

Source: RecNet 2.2.2, eq. 3.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from propagation.model import IntegratedAttribute, RouterVersion, rank_by_distinctiveness, sum_pairs
from propagation.ports import Integration, Summary
from propagation.routing.policy import Arrival, ArrivalsByRouter

STANDING_KEPT = 0.95
STANDING_MAX = 24


def build_integration_requests(
    groups: ArrivalsByRouter, before: Mapping[int, RouterVersion], titles: Mapping[int, str]
) -> list[Integration]:
    """Build the integration request of each router that attributes arrived at.

    Args:
        before: Current versions of all routers, by router.
        titles: Titles of items, by ref; a request quotes those of its senders as examples.

    Source: RecNet eq. 3.
    """
    arrived = {
        router: dict(Counter(arrival.attribute for arrival in group))
        for router, group in groups.items()
    }
    standing = {router: update_standing(before.get(router), arrived[router]) for router in groups}
    untouched = [dict(one.standing) for router, one in before.items() if router not in groups]
    common = compute_mean_shares([*untouched, *standing.values()])
    return [
        Integration(
            router,
            before.get(router),
            arrived[router],
            standing[router],
            common,
            list(dict.fromkeys(titles[arrival.ref] for arrival in group if arrival.ref in titles)),
        )
        for router, group in groups.items()
    ]


def build_next_version(
    request: Integration,
    answer: Summary,
    version: int,
    arrivals: Sequence[Arrival],
    round_number: int,
    epoch: int,
    written_by: str = "",
) -> RouterVersion:
    """Build the version P_R* of a router from a reasoner's answer.

    The most distinctive of its attributes A_R come first.

    Source: RecNet eq. 3.
    """
    return RouterVersion(
        router=request.router,
        version=version,
        round=round_number,
        epoch=epoch,
        name=answer.name,
        text=answer.text,
        attributes=tuple(rank_by_distinctiveness(request.arrived, request.common)),
        standing=tuple(request.standing.items()),
        integrated=tuple(
            IntegratedAttribute(
                attribute=arrival.attribute,
                ref=arrival.ref,
                profile_version=arrival.profile_version,
                sequence=arrival.sequence,
            )
            for arrival in arrivals
        ),
        written_by=written_by,
    )


def update_standing(before: RouterVersion | None, arrived: Mapping[str, int]) -> dict[str, float]:
    """Add the arrived attributes to a router's decayed weights.

    Only the STANDING_MAX largest of the new weights are kept.
    """
    decayed = [(name, weight * STANDING_KEPT) for name, weight in before.standing] if before else []
    weights = sum_pairs([*decayed, *((name, float(count)) for name, count in arrived.items())])
    return {name: round(weight, 6) for name, weight in find_largest_weights(weights).items()}


def find_largest_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Keep the STANDING_MAX largest weights, largest first.

    Of equal weights the first by name is kept.
    """
    names = sorted(weights, key=lambda name: (-weights[name], name))[:STANDING_MAX]
    return {name: weights[name] for name in names}


def compute_mean_shares(standings: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Compute each attribute's mean share (0..1) over the routers.

    This is how common the attribute is.
    """
    totals = [(standing, sum(standing.values())) for standing in standings]
    known = [(standing, total) for standing, total in totals if total > 0]
    shares = sum_pairs(
        (name, weight / total) for standing, total in known for name, weight in standing.items()
    )
    return {name: share / len(known) for name, share in shares.items()}
