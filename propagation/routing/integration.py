"""Integration: a router takes arrivals into a new profile version.

workflow/rounds/router_integration.py asks the reasoner for the text (Prompt_summarize is
adapters/openai/prompts/summarize.py, without a language model adapters/offline/summarize.py); here
the question is built, and the version from the answer.

Source: RecNet 2.2.2, eq. 3.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from propagation.model import IntegratedAttribute, RouterVersion, rank_by_distinctiveness
from propagation.ports import Integration, Summary
from propagation.routing.policy import Arrival, ArrivalsByRouter

STANDING_KEPT = 0.95
STANDING_MAX = 24


def build_integration_requests(
    groups: ArrivalsByRouter, before: Mapping[int, RouterVersion], titles: Mapping[int, str]
) -> list[Integration]:
    """Build the integration request of each router that attributes arrived at.

    Args:
        before: Current versions of all routers.
        titles: Of items, by ref; a request quotes those of its senders as examples.

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
    """Make P_R* of a reasoner's answer.

    Its attributes A_R are ordered by what sets them apart from what is common.

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

    The largest of the new weights are kept.
    """
    weights = {name: weight * STANDING_KEPT for name, weight in before.standing} if before else {}
    for name, count in arrived.items():
        weights[name] = weights.get(name, 0.0) + count
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
    shares: dict[str, float] = {}
    known = [standing for standing in standings if sum(standing.values()) > 0]
    for standing in known:
        total = sum(standing.values())
        for name, weight in standing.items():
            shares[name] = shares.get(name, 0.0) + weight / total
    return {name: share / len(known) for name, share in shares.items()}
