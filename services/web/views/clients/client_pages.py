"""What the pages of one client share: its key, heading and links."""

from collections.abc import Mapping
from dataclasses import dataclass

import grpc
from starlette.requests import Request
from starlette.responses import HTMLResponse

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.access.sessions import Visitor
from services.web.problems import BadAddress
from services.web.rendering import KINDS_BY_NAME, get_visitor, link_client, show


@dataclass(frozen=True)
class Tab:
    """A link to one of a client's pages."""

    label: str
    address: str
    here: bool


def read_kind(name: str) -> "pb.ClientKind.ValueType":
    """Return the kind of this name.

    Raises:
        BadAddress: There is no such kind.
    """
    if name not in KINDS_BY_NAME:
        raise BadAddress("The kind of a client is `user` or `item`.")
    return KINDS_BY_NAME[name]


def read_key(fields: Mapping[str, str]) -> pb.ClientKey:
    """Return the client that an address or a form names.

    Raises:
        BadAddress: It names none.
    """
    kind = read_kind(fields.get("kind", ""))
    if not fields.get("id"):
        raise BadAddress("The address names no client: search for one under Clients.")
    return pb.ClientKey(kind=kind, id=fields["id"])


def list_tabs(key: pb.ClientKey, visitor: Visitor, page: str) -> list[Tab]:
    """List the pages of a client that a visitor may open."""
    admin = visitor.may("admin")
    pages = [
        ("Profile", "/client", True),
        ("Over time", "/client/history", True),
        ("Recommendations", "/client/recommendations", key.kind == pb.CLIENT_KIND_USER),
        ("Similar", "/client/similar", True),
        ("Events", "/client/events", admin),
        ("Export and forgetting", "/client/forget", admin),
    ]
    under = [address for _, address, _ in pages if f"{page}/".startswith(f"{address}/")]
    here = max(under, key=len, default="")
    return [
        Tab(label, link_client(key, address), address == here)
        for label, address, shown in pages
        if shown
    ]


async def find_title(visitor: Visitor, key: pb.ClientKey) -> str | None:
    """Return a client's title, which may be empty.

    None if there is no such client.
    """
    try:
        answer = await visitor.stub.GetProfile(pb.GetProfileRequest(key=key))
    except CallFailed as error:
        if error.code() == grpc.StatusCode.NOT_FOUND:
            return None
        raise
    return answer.profile.title


def show_client(
    request: Request, template: str, key: pb.ClientKey, title: str, **context: object
) -> HTMLResponse:
    """Render a page of a client.

    Its template extends clients/frame.html.
    """
    visitor = get_visitor(request)
    return show(
        request,
        f"clients/{template}",
        200,
        key=key,
        title=title,
        tabs=list_tabs(key, visitor, request.url.path),
        **context,
    )
