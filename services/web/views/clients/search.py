"""Clients: search by id, by words, by lines of profiles."""

from urllib.parse import urlencode

import grpc
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.access.sessions import Visitor
from services.web.problems import describe_failure
from services.web.rendering import get_visitor, link_client, show
from services.web.views.addresses import read_page_token
from services.web.views.clients.client_pages import read_kind
from services.web.views.view_table import ViewTable

FOUND_A_PAGE = 50
EXAMPLES = 12
# What a visitor typed or may not search is said beside the form, so that it can be changed.
SAID_BESIDE_FORM = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.PERMISSION_DENIED)


async def show_search(request: Request) -> Response:
    """Show the form, and what was found.

    An exact id leads to its client.
    """
    visitor = get_visitor(request)
    query = request.query_params
    text, lines = query.get("text", ""), "lines" in query
    kind = read_kind(query.get("kind", "item"))
    found, problem, code = pb.SearchClientsResponse(), "", 200
    if text:
        try:
            found = await visitor.stub.SearchClients(
                pb.SearchClientsRequest(
                    kind=kind,
                    text=text,
                    lines=lines,
                    page_size=FOUND_A_PAGE,
                    page_token=read_page_token(query),
                )
            )
        except CallFailed as error:
            if error.code() not in SAID_BESIDE_FORM:
                raise
            failure = describe_failure(error)
            problem, code = failure.sentence, failure.status
    exact = bool(found.clients) and found.clients[0].key.id == text
    if exact and not (lines or "all" in query or read_page_token(query)):
        others = {"found": text} if len(found.clients) > 1 else {}
        return RedirectResponse(link_client(found.clients[0].key, **others), 303)
    fields = {"kind": query.get("kind", "item"), "text": text, "all": 1}
    return show(
        request,
        "clients/search.html",
        code,
        kind=kind,
        text=text,
        lines=lines,
        found=found,
        problem=problem,
        address=f"/clients?{urlencode(fields | ({'lines': 1} if lines else {}))}",
        limits=describe_limits(visitor),
        examples=[] if text else await list_examples(visitor),
    )


def describe_limits(visitor: Visitor) -> str:
    """Say what the visitor's token may not search.

    Empty if it may search everything.
    """
    if visitor.may("analyst"):
        return ""
    users = "a user by exactly her id" if visitor.may("persons") else "no users"
    return (
        f"Your token finds items by id and by words of the catalogue, and {users}: searching users"
        " by words, and lines of profiles, needs the role analyst."
    )


async def list_examples(visitor: Visitor) -> list[pb.RouterMember]:
    """List some clients to begin with: members of the first router.

    Empty if there are no routers yet.
    """
    try:
        answer = await visitor.stub.GetRouter(
            pb.GetRouterRequest(number=0, bank=pb.BANK_TASTE, page_size=1_000)
        )
    except CallFailed as error:
        if error.code() == grpc.StatusCode.NOT_FOUND:
            return []
        raise
    members = [member for member in answer.members if member.HasField("client")]
    users = [one for one in members if one.client.kind == pb.CLIENT_KIND_USER]
    items = [one for one in members if one.client.kind == pb.CLIENT_KIND_ITEM]
    return items[: EXAMPLES // 2] + (users[: EXAMPLES // 2] if visitor.may("persons") else [])


VIEWS = ViewTable(pages={"/clients": show_search})
