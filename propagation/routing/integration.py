"""Integration (RecNet 2.2.2, eq. 3): a touched router takes what arrived into a new version of its profile."""

from collections.abc import Mapping, Sequence

from propagation.model.router import Integrated, RouterVersion
from propagation.ports.reasoner import Reasoner
from propagation.routing.policy import Arrival

STANDING_KEPT = 0.95
STANDING_MAX = 12


def grouped(arrivals: Sequence[Arrival], routers: Sequence[Sequence[int]]) -> dict[int, list[Arrival]]:
    """Arrivals by router, routers ascending."""
    out: dict[int, list[Arrival]] = {}
    for arrival, places in zip(arrivals, routers, strict=True):
        for router in places:
            out.setdefault(router, []).append(arrival)
    return dict(sorted(out.items()))


def standing_after(before: RouterVersion | None, arrived: Mapping[str, int]) -> dict[str, float]:
    """What the router stands for: a decayed count of what arrived, the largest twelve."""
    weights = {name: weight * STANDING_KEPT for name, weight in before.standing} if before else {}
    for name, count in arrived.items():
        weights[name] = weights.get(name, 0.0) + count
    kept = sorted(weights, key=lambda name: (-weights[name], name))[:STANDING_MAX]
    return {name: round(weights[name], 6) for name in kept}


async def integrate(reasoner: Reasoner, router: int, before: RouterVersion | None, arrivals: Sequence[Arrival],
                    round_number: int, epoch: int, examples: Sequence[str]) -> RouterVersion:
    """Eq. 3: P_R* from the attributes that arrived and P_R. Raises ReasonerFailed."""
    arrived: dict[str, int] = {}
    for arrival in arrivals:
        arrived[arrival.attribute] = arrived.get(arrival.attribute, 0) + 1
    standing = standing_after(before, arrived)
    name, text = await reasoner.summarize(before, router, arrived, standing, examples)
    return RouterVersion(
        router=router, version=before.version + 1 if before else 1, round=round_number, epoch=epoch, name=name, text=text,
        attributes=tuple(sorted(arrived, key=lambda attribute: (-arrived[attribute], attribute))),
        standing=tuple(standing.items()),
        integrated=tuple(Integrated(attribute=a.attribute, ref=a.ref, profile_version=a.profile_version, sequence=a.sequence)
                         for a in arrivals))
