"""One router: text, members, messages, lineage, now or as it was."""

import asyncio

import grpc
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.report.router_map import get_name
from services.web.access.sessions import Visitor
from services.web.live import Flow, Snapshot
from services.web.pictures.lineage import describe_change, draw_lineage, trace_lineage
from services.web.problems import BadAddress
from services.web.rendering import BANKS, get_visitor, link_router, read_pages, show
from services.web.view_table import ViewTable
from services.web.views.addresses import read_as_of, read_number
from services.web.views.routers.evolution import list_runs_since_bootstrap
from services.web.views.routers.message_reach import MessageReach

MEMBERS_A_PAGE = 20
NUMBERS = {name: bank for bank, name in BANKS.items()}


async def show_router(request: Request) -> Response:
    """Show a router of either bank, a retired one too."""
    visitor = get_visitor(request)
    bank = NUMBERS.get(request.path_params["bank"])
    if bank is None:
        raise BadAddress("Routers are in the bank taste or the bank session.")
    number = read_number(request.path_params["number"], "router")
    at = request.query_params.get("at", "").strip()
    as_of = read_as_of(request.query_params)
    taste = bank == pb.BANK_TASTE
    asked = pb.GetRouterRequest(
        number=number,
        bank=bank,
        page_size=MEMBERS_A_PAGE,
        page_token=read_pages(request.query_params),
        as_of=as_of,
    )
    try:
        answer = await visitor.stub.GetRouter(asked)
    except CallFailed as error:
        if error.code() != grpc.StatusCode.NOT_FOUND or not taste or as_of is not None:
            raise
        return await _show_end(visitor, number, error)
    kept: MessageReach = request.app.state.reach
    routers, status, reach, runs = await asyncio.gather(
        visitor.stub.ListRouters(pb.ListRoutersRequest(bank=bank, page_size=1_000, as_of=as_of)),
        visitor.stub.GetStatus(pb.GetStatusRequest()),
        kept.find(visitor),
        list_runs_since_bootstrap(visitor),
    )
    names = {router.number: router.name for router in routers.routers}
    lineage = trace_lineage(runs, number) if taste else None
    steps = [
        (run, change, describe_change(run, change))
        for run in reversed(lineage.runs if lineage else ())
        for change in run.changes
        if {*change.before, *change.after} & set(lineage.order if lineage else ())
    ]
    snapshot = request.app.state.feeds.find(visitor) or Snapshot()
    router = answer.router
    return show(
        request,
        "routers/router.html",
        router=router,
        title=get_name(router),
        answer=answer,
        taste=taste,
        at=at,
        retired=number not in names,
        names=names,
        reach=reach.get(number) if reach and taste else None,
        counted=reach is not None,
        flow=snapshot.flows.get(number, Flow()),
        picture=draw_lineage(lineage, names, number) if lineage else None,
        steps=steps,
        status=status,
    )


async def _show_end(visitor: Visitor, number: int, error: CallFailed) -> Response:
    """Lead to a router as it was before its number went.

    Raises:
        CallFailed: No run did, so there was no such router.
    """
    for run in await list_runs_since_bootstrap(visitor):
        for change in run.changes:
            if run.published and number in change.before and number not in change.after:
                visitor.notices.append(
                    f"There is no router {number} any more: {describe_change(run, change)}."
                    " This is how it was before."
                )
                return RedirectResponse(link_router(number, at=run.sequence - 1), 303)
    raise error


VIEWS = ViewTable(
    pages={"/routers/{bank}/{number}": show_router},
    live={"router": lambda _visitor, _snapshot: {}},  # its flows are in every frame
)
