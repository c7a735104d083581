"""Clients that have the words which a visitor gave as an id."""

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.rendering import KINDS_BY_NAME, get_visitor

MOST = 20
TYPED_FIELD = "typed"  # what a visitor typed in place of the id
NOT_KEPT = ("page", TYPED_FIELD)  # a page of another client's list would be refused


@dataclass(frozen=True)
class MeantClient:
    """A client that was found by what was given as an id.

    Attributes:
        address: What was asked for, of this client.
    """

    key: pb.ClientKey
    title: str
    address: str


async def find_meant_clients(request: Request) -> list[MeantClient]:
    """Search for the clients that the address of a page may mean.

    Empty if the address names no client, or the visitor's token may not search by words.
    """
    query = request.query_params
    field = "id" if "id" in query else next((one for one in KINDS_BY_NAME if query.get(one)), "")
    kind = KINDS_BY_NAME.get(query.get("kind", "") if field == "id" else field)
    text = query.get(TYPED_FIELD) or query.get(field, "")
    if request.method != "GET" or kind is None or not text:
        return []
    try:
        answer = await get_visitor(request).stub.SearchClients(
            pb.SearchClientsRequest(kind=kind, text=text, page_size=MOST)
        )
    except CallFailed:
        return []  # the page says what was asked for in vain
    others = [pair for pair in query.multi_items() if pair[0] not in (field, *NOT_KEPT)]
    return [
        MeantClient(
            one.key,
            one.title,
            f"{request.url.path}?{urlencode([*others, (field, one.key.id)])}",
        )
        for one in answer.clients
        if one.key.id != query.get(field)
    ]
