"""Integration (RecNet 2.2.2, eq. 3): a touched router takes what arrived into a new version of its
profile."""

from collections.abc import Iterable, Mapping, Sequence

from propagation.model.clients.attribute import rank_by_distinctiveness
from propagation.model.routers.router import IntegratedAttribute, RouterVersion
from propagation.ports.reasoner import Integration, Summary
from propagation.routing.policy import Arrival

STANDING_KEPT = 0.95
STANDING_MAX = 24


def grouped(
    arrivals: Sequence[Arrival], routers: Sequence[Sequence[int]]
) -> dict[int, list[Arrival]]:
    """Arrivals by router, routers ascending."""
    out: dict[int, list[Arrival]] = {}
    for arrival, places in zip(arrivals, routers, strict=True):
        for router in places:
            out.setdefault(router, []).append(arrival)
    return dict(sorted(out.items()))


def standing_after(before: RouterVersion | None, arrived: Mapping[str, int]) -> dict[str, float]:
    """What the router stands for: a decayed count of what arrived, the largest twenty-four."""
    weights = {name: weight * STANDING_KEPT for name, weight in before.standing} if before else {}
    for name, count in arrived.items():
        weights[name] = weights.get(name, 0.0) + count
    kept = sorted(weights, key=lambda name: (-weights[name], name))[:STANDING_MAX]
    return {name: round(weights[name], 6) for name in kept}


def commonness(standings: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean share (0..1) of each attribute over the routers."""
    shares: dict[str, float] = {}
    count = 0
    for standing in standings:
        total = sum(standing.values())
        if total <= 0:
            continue
        count += 1
        for name, weight in standing.items():
            shares[name] = shares.get(name, 0.0) + weight / total
    return {name: share / count for name, share in shares.items()}


def arrived_counts(arrivals: Sequence[Arrival]) -> dict[str, int]:
    """How many clients brought each attribute."""
    arrived: dict[str, int] = {}
    for arrival in arrivals:
        arrived[arrival.attribute] = arrived.get(arrival.attribute, 0) + 1
    return arrived


def asked_of(
    router: int,
    before: RouterVersion | None,
    arrivals: Sequence[Arrival],
    common: Mapping[str, float],
    examples: Sequence[str],
) -> Integration:
    """What eq. 3 asks of a router."""
    arrived = arrived_counts(arrivals)
    return Integration(router, before, arrived, standing_after(before, arrived), common, examples)


def integrated(
    asked: Integration,
    answer: Summary,
    version: int,
    arrivals: Sequence[Arrival],
    round_number: int,
    epoch: int,
    written_by: str = "",
) -> RouterVersion:
    """Eq. 3, answered: P_R* from the attributes that arrived and P_R. A_R is ordered by what sets
    it apart from what is common."""
    return RouterVersion(
        router=asked.router,
        version=version,
        round=round_number,
        epoch=epoch,
        name=answer.name,
        text=answer.text,
        attributes=tuple(rank_by_distinctiveness(asked.arrived, asked.common)),
        standing=tuple(asked.standing.items()),
        integrated=_integrated(arrivals),
        written_by=written_by,
    )


def verbatim(
    router: int,
    version: int,
    arrivals: Sequence[Arrival],
    round_number: int,
    epoch: int,
    name: str,
    text: str,
) -> RouterVersion:
    """Without eq. 3: the sender's profile as it is, carrying its attributes (point-to-point)."""
    return RouterVersion(
        router=router,
        version=version,
        round=round_number,
        epoch=epoch,
        name=name,
        text=text,
        attributes=tuple(dict.fromkeys(arrival.attribute for arrival in arrivals)),
        integrated=_integrated(arrivals),
    )


def _integrated(arrivals: Sequence[Arrival]) -> tuple[IntegratedAttribute, ...]:
    return tuple(
        IntegratedAttribute(
            attribute=a.attribute, ref=a.ref, profile_version=a.profile_version, sequence=a.sequence
        )
        for a in arrivals
    )
