"""The data of the report, fetched from a running service."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from propagation.v1 import propagation_pb2 as pb
from services.client.stub import Stub, list_routers

MAX_ROUTERS, MAX_MEMBERS, MAX_RUNS = 120, 200, 50
CONCURRENT_CALLS = 4


@dataclass(frozen=True)
class ReportData:
    """The data of the report.

    Attributes:
        routers: At most MAX_ROUTERS of the taste bank, ordered by reach, members and number.
        members: The first members by score of each of these routers, by router.
        reach: The reach of messages, by router.
        runs: Evolution runs, newest first.
        omitted: Number of taste routers that are not among `routers`.
        time: When the data was collected.
    """

    status: pb.GetStatusResponse
    routers: Sequence[pb.Router]
    members: Mapping[int, Sequence[pb.RouterMember]]
    reach: Mapping[int, pb.RouterReach]
    runs: Sequence[pb.EvolutionRun]
    omitted: int
    time: datetime

    def count_clients_reached(self, router: int) -> int:
        """Count the distinct clients that a router's messages reached."""
        return self.reach[router].clients if router in self.reach else 0


async def collect_report(stub: Stub) -> ReportData:
    """Ask for all data: some hundred short calls, four at a time.

    Raises:
        grpc.aio.AioRpcError: A call failed.
    """
    status = await stub.GetStatus(pb.GetStatusRequest(history=True))
    reach = {found.router: found for found in status.reach}
    routers = sorted(
        await list_routers(stub, pb.BANK_TASTE),
        key=lambda router: (
            -reach[router.number].clients if router.number in reach else 0,
            -router.members,
            router.number,
        ),
    )
    chosen = routers[:MAX_ROUTERS]
    slots = asyncio.Semaphore(CONCURRENT_CALLS)
    members = await asyncio.gather(*(_list_members(stub, router, slots) for router in chosen))
    runs = await stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest(page_size=MAX_RUNS))
    return ReportData(
        status,
        chosen,
        {router.number: found for router, found in zip(chosen, members, strict=True)},
        reach,
        runs.runs,
        len(routers) - len(chosen),
        datetime.now(UTC),
    )


async def _list_members(
    stub: Stub, router: pb.Router, slots: asyncio.Semaphore
) -> Sequence[pb.RouterMember]:
    request = pb.GetRouterRequest(number=router.number, bank=pb.BANK_TASTE, page_size=MAX_MEMBERS)
    async with slots:
        return (await stub.GetRouter(request)).members
