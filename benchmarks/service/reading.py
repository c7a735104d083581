"""Reads on 1M interactions, while 500 events a second are recorded.

There are 50,000 users and 100,000 items. The service also learns the events meanwhile.
"""

import asyncio
from collections.abc import Sequence

from benchmarks.life.background import background
from benchmarks.life.states import copy_of
from benchmarks.run import Figures, Run
from benchmarks.service.reads import measured
from benchmarks.service.real_service import Service, serving
from benchmarks.service.town import Town, catalogue_town
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from services.client.stub import connect

SECONDS = 20.0
CALLERS = 8
LIMIT = 10
TRIES = 20
CANDIDATES_A_CALL = 10_000
COMPARED, COMPARED_SHORT = 20, 5


def measure(run: Run) -> Figures:
    """Measure reads, and compare them with exact scores.

    Latencies are those of one caller, throughput that of eight. The comparison with exact scores is
    made after the load has ended.
    """
    town = catalogue_town(run.short)
    seconds = run.seconds(SECONDS)
    compared = COMPARED_SHORT if run.short else COMPARED
    users = [f"u{row}" for row in range(town.users)]
    with serving(copy_of(town, run), "--auto-create") as service:
        with background(service.address, town, run, "one caller of Recommend"):
            alone = measured(service.address, "recommend", users, 1, seconds)
        yield "recommend_p50_ms", alone["p50_ms"]
        yield "recommend_p99_ms", alone["p99_ms"]
        with background(service.address, town, run, f"{CALLERS} callers of Recommend"):
            together = measured(service.address, "recommend", users, CALLERS, seconds)
        yield "recommend_per_s", together["per_s"]
        with background(service.address, town, run, "one caller of GetProfile"):
            profiles = measured(service.address, "profile", users, 1, seconds)
        yield "get_profile_p99_ms", profiles["p99_ms"]
        run.note(
            f"Recommend by {CALLERS} callers: p50 {together['p50_ms']:.1f} ms, p99"
            f" {together['p99_ms']:.1f} ms; GetProfile p50 {profiles['p50_ms']:.1f} ms,"
            f" {profiles['per_s']:,.0f}/s; the service uses {service.rss_mb():,.0f} MB"
        )
        yield (
            "recommend_overlap",
            asyncio.run(_measure_overlap(service, town, users[:: town.users // compared])),
        )


async def _measure_overlap(service: Service, town: Town, users: Sequence[str]) -> float:
    """Return the share of the exact top 10 that Recommend gives.

    For the exact top 10 every item is named as a candidate: Recommend scores candidates exactly.
    """
    async with connect(service.address) as stub:
        return sum([await _shared(stub, town, user) for user in users]) / (LIMIT * len(users))


async def _shared(stub: PropagationServiceStub, town: Town, user: str) -> int:
    """Count the items of the exact top 10 that Recommend gives.

    The reads are repeated if the numbers changed between them.
    """
    for _ in range(TRIES):
        given = await stub.Recommend(pb.RecommendRequest(user_id=user, limit=LIMIT))
        answers = [
            await stub.Recommend(
                pb.RecommendRequest(
                    user_id=user,
                    limit=LIMIT,
                    candidate_ids=[
                        f"i{row}"
                        for row in range(start, min(start + CANDIDATES_A_CALL, town.items))
                    ],
                )
            )
            for start in range(0, town.items, CANDIDATES_A_CALL)
        ]
        if all(
            answer.reflects.applied_through == given.reflects.applied_through for answer in answers
        ):
            exact = sorted(
                (item for answer in answers for item in answer.recommendations),
                key=lambda item: -item.score,
            )[:LIMIT]
            return len(
                {item.item_id for item in given.recommendations} & {item.item_id for item in exact}
            )
    raise RuntimeError(f"the numbers changed between the compared reads in each of {TRIES} tries")
