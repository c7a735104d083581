"""What the page is made of, asked of a service."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import grpc

from propagation.v1 import propagation_pb2 as pb

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

ROUTERS_MOST, MEMBERS, RUNS = 120, 200, 50
AT_ONCE = 4


@dataclass(frozen=True)
class Material:
    """`routers`: those of the taste bank that carried most, by reach, members and number ·
    `members`: of each of them, the first 200 by score · `reach`: by router · `runs`: evolutions,
    newest first; None where this release has none · `left_out`: taste routers that are not among
    `routers`."""

    status: pb.GetStatusResponse
    routers: Sequence[pb.Router]
    members: Mapping[int, Sequence[pb.RouterMember]]
    reach: Mapping[int, pb.RouterReach]
    runs: Sequence[pb.EvolutionRun] | None
    left_out: int
    time: datetime


async def gather(stub: "PropagationServiceAsyncStub") -> Material:
    """Some hundred short calls, four at a time. Raises grpc.aio.AioRpcError."""
    status = await stub.GetStatus(pb.GetStatusRequest(history=True))
    reach = {one.router: one for one in status.reach}
    everyone = await _routers(stub)
    chosen = sorted(
        everyone,
        key=lambda router: (-clients_reached(reach, router.number), -router.members, router.number),
    )
    chosen = chosen[:ROUTERS_MOST]
    turns = asyncio.Semaphore(AT_ONCE)
    members = await asyncio.gather(*(_members(stub, router.number, turns) for router in chosen))
    return Material(
        status,
        chosen,
        {router.number: found for router, found in zip(chosen, members, strict=True)},
        reach,
        await _runs(stub),
        len(everyone) - len(chosen),
        datetime.now(UTC),
    )


def clients_reached(reach: Mapping[int, pb.RouterReach], router: int) -> int:
    """Distinct clients that a router's messages reached."""
    return reach[router].clients if router in reach else 0


async def _routers(stub: "PropagationServiceAsyncStub") -> list[pb.Router]:
    found: list[pb.Router] = []
    token = ""
    while True:
        page = await stub.ListRouters(
            pb.ListRoutersRequest(bank=pb.BANK_TASTE, page_size=1_000, page_token=token)
        )
        found += page.routers
        token = page.next_page_token
        if not token:
            return found


async def _members(
    stub: "PropagationServiceAsyncStub", router: int, turns: asyncio.Semaphore
) -> Sequence[pb.RouterMember]:
    async with turns:
        answer = await stub.GetRouter(
            pb.GetRouterRequest(number=router, bank=pb.BANK_TASTE, page_size=MEMBERS)
        )
    return answer.members


async def _runs(stub: "PropagationServiceAsyncStub") -> Sequence[pb.EvolutionRun] | None:
    try:
        return (await stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest(page_size=RUNS))).runs
    except grpc.aio.AioRpcError as error:
        if error.code() == grpc.StatusCode.UNIMPLEMENTED:
            return None
        raise
