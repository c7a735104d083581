"""All routers: a picture, filters, and a list in words."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from propagation.v1 import propagation_pb2 as pb
from services.report.router_map import get_name
from services.web.access.feed import Flow, Snapshot
from services.web.access.sessions import Visitor
from services.web.pictures.router_picture import draw_routers
from services.web.problems import BadAddress
from services.web.rendering import BANKS_BY_NAME, get_visitor, render_part, show
from services.web.state import get_state
from services.web.views.addresses import read_as_of, read_choice, write_field_moment
from services.web.views.routers.router_listing import list_routers, list_routers_holding
from services.web.views.view_table import ViewTable

MAX_NEWS = 8
NO_FLOW = Flow()


@dataclass(frozen=True)
class Row:
    """A router in the list.

    Attributes:
        reached: The number of clients that its messages reached.
        flow: What its messages did in the last minutes.
    """

    router: pb.Router
    reached: int
    flow: Flow


SORTS: Mapping[str, Callable[[Row], object]] = {
    "members": lambda row: -row.router.members,
    "name": lambda row: get_name(row.router).casefold(),
    "number": lambda row: row.router.number,
    "trust": lambda row: -row.router.trusted_by,
    "mass": lambda row: -row.router.mass,
    "messages": lambda row: -row.router.version,
    "reached": lambda row: -row.reached,
    "sent": lambda row: -row.flow.sent,
    "merged": lambda row: -row.flow.merged,
}


@dataclass(frozen=True)
class Question:
    """What the address of the page asks for.

    Attributes:
        bank: taste or session.
        attribute: Words that an attribute, the name or the text must contain; empty for all.
        item: The id of an item that the table must hold; empty for all.
        user: The id of a user whom the table must hold; empty for all.
        sort: A key of SORTS.
        at: The point in the past, as it was written; empty for now.
    """

    bank: str
    attribute: str
    item: str
    user: str
    sort: str
    at: str

    @property
    def member(self) -> pb.ClientKey | None:
        """The client that the table must hold, if any."""
        if self.item:
            return pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=self.item)
        return pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=self.user) if self.user else None

    def link(self, **changes: str) -> str:
        """Return the address of the page with some parts changed."""
        parts = {**self.__dict__, **changes}
        return f"/routers?{urlencode({name: value for name, value in parts.items() if value})}"


async def show_routers(request: Request) -> Response:
    """Show the picture and the list."""
    visitor = get_visitor(request)
    query = request.query_params
    question = Question(
        bank=read_choice(query, "bank", BANKS_BY_NAME),
        attribute=query.get("attribute", "").strip(),
        item=query.get("item", ""),
        user=query.get("user", ""),
        sort=read_choice(query, "sort", SORTS),
        at=query.get("at", "").strip(),
    )
    as_of = read_as_of(query)
    if question.item and question.user:
        raise BadAddress("Ask for routers of an item or of a user, not of both.")
    if question.member and (as_of or question.bank == "session"):
        raise BadAddress("Only the taste routers of now can be asked for an item or a user.")
    bank = BANKS_BY_NAME[question.bank]
    taste = bank == pb.BANK_TASTE
    kept = get_state(request).reach
    routers, counted, holding, status = await asyncio.gather(
        list_routers(visitor, bank, as_of),
        kept.find(visitor),
        _find_holding(visitor, question),
        visitor.stub.GetStatus(pb.GetStatusRequest()),
    )
    snapshot = replace(visitor.get_snapshot(), status=status)
    flows = snapshot.flows if taste and as_of is None else {}
    reached = {number: one.clients for number, one in (counted or {}).items()} if taste else {}
    rows = [
        Row(router, reached.get(router.number, 0), flows.get(router.number, NO_FLOW))
        for router in routers
    ]
    chosen = [
        row
        for row in rows
        if _matches(row.router, question.attribute)
        and (holding is None or row.router.number in holding)
    ]
    layouts = get_state(request).layouts
    picture = draw_routers(
        routers,
        await layouts.find(routers),
        reached,
        flows,
        frozenset(row.router.number for row in chosen),
        question.at,
    )
    return show(
        request,
        "routers/routers.html",
        question=question,
        as_of=as_of,
        field_at=write_field_moment(question.at),
        sorts=SORTS,
        rows=sorted(chosen, key=SORTS[question.sort]),  # type: ignore[arg-type]
        routers=routers if any(one.members or one.version for one in routers) else (),
        picture=picture,
        taste=taste,
        counted=counted is not None,
        filtered=bool(question.attribute or question.member),
        parts=render_parts(visitor, snapshot),
    )


def _matches(router: pb.Router, words: str) -> bool:
    """Tell whether a router's attributes, name or text contain all words."""
    if not words:
        return True
    text = " ".join((*router.attributes, router.name, router.text)).casefold()
    return all(word in text for word in words.casefold().split())


async def _find_holding(visitor: Visitor, question: Question) -> frozenset[int] | None:
    """Find the routers whose tables hold the asked client.

    None if none is asked for.
    """
    if question.member is None:
        return None
    holding = await list_routers_holding(visitor, question.member)
    return frozenset(router.number for router in holding)


def render_parts(_: Visitor, snapshot: Snapshot) -> dict[str, str]:
    """Render what flowed lately."""
    flows = snapshot.flows.values()
    total = Flow(
        *(sum(getattr(flow, name) for flow in flows) for name in ("sent", "merged", "dropped"))
    )
    news = [
        event
        for event in snapshot.recent
        if event.WhichOneof("event") in ("round", "message", "evolution")
    ]
    return {
        "flowing": render_part(
            "routers/flowing.html", total=total, news=news[:MAX_NEWS], status=snapshot.status
        )
    }


VIEWS = ViewTable(
    pages={"/routers": show_routers},
    live={"routers": render_parts},
)
