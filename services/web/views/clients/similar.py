"""Clients near to one client."""

from starlette.requests import Request
from starlette.responses import Response

from propagation.v1 import propagation_pb2 as pb
from services.web.problems import BadAddress
from services.web.rendering import KINDS, get_visitor
from services.web.views.clients.client_pages import find_title, read_key, read_kind, show_client
from services.web.views.view_table import ViewTable

NEIGHBOURS = 30
BY = {"profile": pb.SIMILARITY_PROFILE, "routers": pb.SIMILARITY_ROUTERS}


async def show_similar(request: Request) -> Response:
    """Show the nearest users or items, by profiles or by routers."""
    visitor = get_visitor(request)
    query = request.query_params
    key = read_key(query)
    of = read_kind(
        query.get("of") or KINDS[key.kind if visitor.may("analyst") else pb.CLIENT_KIND_ITEM]
    )
    by = query.get("by") or "profile"
    if by not in BY:
        raise BadAddress("Clients are compared by `profile` or by `routers`.")
    answer = await visitor.stub.SimilarClients(
        pb.SimilarClientsRequest(key=key, kind=of, by=BY[by], limit=NEIGHBOURS)
    )
    return show_client(
        request,
        "similar.html",
        key,
        await find_title(visitor, key) or "",
        of=of,
        by=by,
        neighbours=answer.neighbours,
    )


VIEWS = ViewTable(pages={"/client/similar": show_similar})
