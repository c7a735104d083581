"""Lists of routers, read page after page."""

from propagation.v1 import propagation_pb2 as pb
from propagation_client import pages
from services.web.access.sessions import Visitor

PAGE_SIZE = 1_000


async def list_routers(
    visitor: Visitor, bank: pb.Bank.ValueType, as_of: pb.AsOf | None = None
) -> list[pb.Router]:
    """List all routers of a bank, now or in the past."""
    return await _list(visitor, pb.ListRoutersRequest(bank=bank, as_of=as_of))


async def list_routers_holding(visitor: Visitor, member: pb.ClientKey) -> list[pb.Router]:
    """List the taste routers whose routing tables hold a client now."""
    return await _list(visitor, pb.ListRoutersRequest(member=member))


async def load_router_names(
    visitor: Visitor,
    bank: pb.Bank.ValueType = pb.BANK_TASTE,
    as_of: pb.AsOf | None = None,
) -> dict[int, str]:
    """Return the names of all routers of a bank by number."""
    return {one.number: one.name for one in await list_routers(visitor, bank, as_of)}


async def _list(visitor: Visitor, request: pb.ListRoutersRequest) -> list[pb.Router]:
    request.page_size = PAGE_SIZE
    return [
        router async for page in pages(visitor.stub.ListRouters, request) for router in page.routers
    ]
