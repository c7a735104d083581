"""The data of the report, asked of a running service."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import grpc

from propagation.v1 import propagation_pb2 as pb

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

MAX_ROUTERS, MAX_MEMBERS, MAX_RUNS = 120, 200, 50
CONCURRENT_CALLS = 4
PAGE_SIZE = 1_000


@dataclass(frozen=True)
class ReportData:
    """The data of the report.

    Attributes:
        routers: Routers of the taste bank that carried most, by reach, members and number.
        members: The first members by score of each of these routers.
        reach: By router.
        runs: Evolution runs, newest first; None if the service's release has none.
        omitted: Number of taste routers that are not among `routers`.
        time: When the data was collected.
    """

    status: pb.GetStatusResponse
    routers: Sequence[pb.Router]
    members: Mapping[int, Sequence[pb.RouterMember]]
    reach: Mapping[int, pb.RouterReach]
    runs: Sequence[pb.EvolutionRun] | None
    omitted: int
    time: datetime

    def clients_reached(self, router: int) -> int:
        """Count the distinct clients that a router's messages reached."""
        return self.reach[router].clients if router in self.reach else 0


async def collect_report(stub: "PropagationServiceAsyncStub") -> ReportData:
    """Ask for all data: some hundred short calls, four at a time.

    Raises:
        grpc.aio.AioRpcError: A call failed.
    """
    status = await stub.GetStatus(pb.GetStatusRequest(history=True))
    reach = {found.router: found for found in status.reach}

    def rank(router: pb.Router) -> tuple[int, int, int]:
        clients = reach[router.number].clients if router.number in reach else 0
        return -clients, -router.members, router.number

    routers = sorted(await _list_routers(stub), key=rank)
    chosen = routers[:MAX_ROUTERS]
    slots = asyncio.Semaphore(CONCURRENT_CALLS)
    members = await asyncio.gather(*(_list_members(stub, router, slots) for router in chosen))
    return ReportData(
        status,
        chosen,
        {router.number: found for router, found in zip(chosen, members, strict=True)},
        reach,
        await _list_runs(stub),
        len(routers) - len(chosen),
        datetime.now(UTC),
    )


async def _list_routers(stub: "PropagationServiceAsyncStub") -> list[pb.Router]:
    request = pb.ListRoutersRequest(bank=pb.BANK_TASTE, page_size=PAGE_SIZE)
    page = await stub.ListRouters(request)
    routers = list(page.routers)
    while page.next_page_token:
        request.page_token = page.next_page_token
        page = await stub.ListRouters(request)
        routers += page.routers
    return routers


async def _list_members(
    stub: "PropagationServiceAsyncStub", router: pb.Router, slots: asyncio.Semaphore
) -> Sequence[pb.RouterMember]:
    request = pb.GetRouterRequest(number=router.number, bank=pb.BANK_TASTE, page_size=MAX_MEMBERS)
    async with slots:
        return (await stub.GetRouter(request)).members


async def _list_runs(
    stub: "PropagationServiceAsyncStub",
) -> Sequence[pb.EvolutionRun] | None:
    try:
        return (await stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest(page_size=MAX_RUNS))).runs
    except grpc.aio.AioRpcError as error:
        if error.code() == grpc.StatusCode.UNIMPLEMENTED:
            return None
        raise
