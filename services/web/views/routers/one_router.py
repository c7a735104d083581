"""One router: text, members, messages, lineage, now or as it was."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import grpc
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.report.router_map import get_name
from services.web.access.feed import Flow
from services.web.access.sessions import Visitor
from services.web.pictures.lineage import describe_change, draw_lineage, trace_lineage
from services.web.problems import BadAddress
from services.web.rendering import BANKS_BY_NAME, get_visitor, link_router, show
from services.web.state import get_state
from services.web.views.addresses import (
    LARGEST_NUMBER,
    read_as_of,
    read_number,
    read_page_token,
    read_router_number,
    write_field_moment,
)
from services.web.views.routers.evolution import list_runs_since_bootstrap
from services.web.views.routers.router_listing import load_router_names
from services.web.views.view_table import ViewTable

MEMBERS_A_PAGE = 20
VERSIONS_A_PAGE = 20
CLIENTS_A_VERSION = 10


async def show_router(request: Request) -> Response:
    """Show a router of either bank, a retired one too."""
    visitor = get_visitor(request)
    bank = BANKS_BY_NAME.get(request.path_params["bank"])
    if bank is None:
        raise BadAddress("Routers are in the bank taste or the bank session.")
    number = read_router_number(request.path_params["number"])
    at = request.query_params.get("at", "").strip()
    as_of = read_as_of(request.query_params)
    taste = bank == pb.BANK_TASTE
    asked = pb.GetRouterRequest(
        number=number,
        bank=bank,
        page_size=MEMBERS_A_PAGE,
        page_token=read_page_token(request.query_params),
        as_of=as_of,
    )
    try:
        answer = await visitor.stub.GetRouter(asked)
    except CallFailed as error:
        if error.code() != grpc.StatusCode.NOT_FOUND or not taste or as_of is not None:
            raise
        return await _show_end(visitor, number, error)
    kept = get_state(request).reach
    names, status, reach, runs, messages = await asyncio.gather(
        load_router_names(visitor, bank, as_of),
        visitor.stub.GetStatus(pb.GetStatusRequest()),
        kept.find(visitor),
        list_runs_since_bootstrap(visitor),
        _list_last_messages(visitor, answer.router),
    )
    lineage = trace_lineage(runs, number) if taste else None
    steps = [
        (run, change, describe_change(run, change))
        for run in reversed(lineage.runs if lineage else ())
        for change in run.changes
        if {*change.before, *change.after} & set(lineage.order if lineage else ())
    ]
    snapshot = visitor.get_snapshot()
    router = answer.router
    before = messages[1] if len(messages) > 1 else None
    change = compare_sent(messages[0], before) if messages else None
    return show(
        request,
        "routers/router.html",
        router=router,
        title=get_name(router),
        answer=answer,
        taste=taste,
        at=at,
        as_of=as_of,
        field_at=write_field_moment(at),
        retired=number not in names,
        names=names,
        reach=reach.get(number) if reach and taste else None,
        counted=reach is not None,
        flow=snapshot.flows.get(number, Flow()),
        picture=draw_lineage(lineage, names, number) if lineage else None,
        steps=steps,
        status=status,
        before=before,
        before_is_other=before is not None and is_of_other_router(messages[0], before),
        change=change,
    )


async def _list_last_messages(visitor: Visitor, router: pb.Router) -> list[pb.RouterVersion]:
    """List a router's last two messages, as far as they are kept."""
    if not router.version:
        return []
    answer = await visitor.stub.ListRouterVersions(
        pb.ListRouterVersionsRequest(
            number=router.number, page_size=2, through_version=router.version
        )
    )
    return list(answer.versions)


def _list_missing(sent: pb.RouterVersion, other: pb.RouterVersion) -> list[str]:
    """List the attributes of a message that another one lacks."""
    return [name for name in sent.attributes if name not in other.attributes]


@dataclass(frozen=True)
class SentMessage:
    """A version of a router's text, beside the one before.

    Attributes:
        gained: Attributes that the version before lacks.
        lost: Attributes that only the version before has.
    """

    version: pb.RouterVersion
    gained: Sequence[str]
    lost: Sequence[str]


def compare_sent(sent: pb.RouterVersion, before: pb.RouterVersion | None) -> SentMessage:
    """Compare a version with the one before.

    An undo sends an earlier text with the largest attributes that the router stands for now. Others
    have the attributes that are new in them, so the two kinds are not compared. Nor are messages of
    two routers that had the same number.
    """
    if before is None or is_of_other_router(sent, before) or is_of_undo(sent) or is_of_undo(before):
        return SentMessage(sent, (), ())
    return SentMessage(sent, _list_missing(sent, before), _list_missing(before, sent))


def is_of_other_router(sent: pb.RouterVersion, before: pb.RouterVersion) -> bool:
    """Tell whether another router sent the version before.

    The ends of both are told as of now, so those of one router are equal, or absent.
    """
    return before.HasField("end") and before.end != sent.end


def is_of_undo(sent: pb.RouterVersion) -> bool:
    """Tell whether an undo wrote a version."""
    return sent.HasField("evolution") and sent.evolution.HasField("undoes")


async def show_versions(request: Request) -> Response:
    """Show the versions of a taste router's text, a retired one's too."""
    visitor = get_visitor(request)
    number = read_router_number(request.path_params["number"])
    through = read_number(
        request.query_params.get("version") or "0", "The number of a message", 0, LARGEST_NUMBER
    )
    answer = await visitor.stub.ListRouterVersions(
        pb.ListRouterVersionsRequest(
            number=number,
            page_size=VERSIONS_A_PAGE,
            page_token=read_page_token(request.query_params),
            max_clients=CLIENTS_A_VERSION,
            through_version=through or None,
        )
    )
    # The oldest of a page is compared with nothing: its predecessor is on the next page.
    pairs = zip(answer.versions, [*answer.versions[1:], None], strict=True)
    return show(
        request,
        "routers/versions.html",
        number=number,
        through=through,
        next_page=answer.next_page_token,
        versions=[compare_sent(one, before) for one, before in pairs],
    )


async def _show_end(visitor: Visitor, number: int, error: CallFailed) -> Response:
    """Lead to a router as it was before its number went.

    Raises:
        CallFailed: There was no such router since the newest bootstrap, or it sent no message.
    """
    asked = pb.ListRouterVersionsRequest(number=number, page_size=1)
    for sent in (await visitor.stub.ListRouterVersions(asked)).versions:
        if sent.HasField("end") and sent.end.HasField("run"):
            visitor.notices.append(
                f"There is no router {number} any more: evolution run {sent.end.run} merged it"
                f" into router {sent.end.merged_into}. This is how it was before."
            )
            return RedirectResponse(link_router(number, at=sent.end.sequence - 1), 303)
    raise error


VIEWS = ViewTable(
    pages={
        "/routers/{bank}/{number}": show_router,
        "/routers/taste/{number}/messages": show_versions,
    },
    live={"router": lambda _visitor, _snapshot: {}},  # its flows are in every frame
)
