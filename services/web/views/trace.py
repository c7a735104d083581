"""Traces: where a preference went, and where a profile's line came from."""

import asyncio
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import grpc
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.access.sessions import Visitor
from services.web.meant_clients import find_meant_clients
from services.web.pictures.paths import (
    MAX_PATHS,
    PathGraph,
    count_reached,
    draw_paths,
    join_paths,
)
from services.web.problems import BadAddress
from services.web.rendering import KINDS_BY_NAME, get_visitor, link_line, link_trace, show
from services.web.views.addresses import read_number
from services.web.views.routers.router_listing import list_routers
from services.web.views.view_table import ViewTable

FIRST_LIMIT = 20
MAX_LIMIT = 1_000
MAX_LINE = 2**63 - 1
SUGGESTED_ROUTERS, SUGGESTED_ATTRIBUTES = 12, 16
NEAR = 0.75
"""From this share of equal letters on (difflib's ratio), a text may mean a name."""
CHOICES = {
    "item": "item (id or title)",
    "user": "user (id or title)",
    "attribute": "attribute",
    "event": "event (its id)",
}
FOR_PERSONS = ("user", "event")


@dataclass(frozen=True)
class Origin:
    """Where paths begin, or for a line where they end.

    Attributes:
        choice: item, user, attribute, event or line.
        value: What the form shows; of a line its number.
        client: The client of a user, an item or a line.
        version: The version of the profile that has the line; 0 means the present one.
        dropped: The version that was asked for and is no longer kept; 0 if there is none.
    """

    choice: str
    value: str
    client: pb.ClientKey | None = None
    version: int = 0
    dropped: int = 0

    def link(self, limit: int) -> str:
        """Return the address of the trace with a number of paths."""
        if self.choice == "line" and self.client is not None:
            asked = self.dropped or self.version
            return f"{link_line(self.client, int(self.value), asked)}&limit={limit}"
        return link_trace(self.choice, self.value, limit=limit)

    def build_request(self, limit: int) -> pb.TracePropagationRequest:
        """Build the call that answers this trace."""
        match self.choice:
            case "event":
                return pb.TracePropagationRequest(event_id=self.value, limit=limit)
            case "attribute":
                return pb.TracePropagationRequest(attribute=self.value, limit=limit)
            case "line":
                line = pb.LineOfProfile(
                    client=self.client, line_id=int(self.value), version=self.version or None
                )
                return pb.TracePropagationRequest(line=line, limit=limit)
            case _:
                return pb.TracePropagationRequest(client=self.client, limit=limit)


@dataclass
class Branch:
    """A step in words, with the steps that follow it.

    Attributes:
        paths: Places of the paths through it, from 0.
    """

    hop: pb.Hop
    paths: list[int] = field(default_factory=list)
    branches: list["Branch"] = field(default_factory=list)


async def show_trace(request: Request) -> Response:
    """Show the paths of an address, or the form."""
    query = request.query_params
    if "from" in query:
        return _redirect_to_trace(query)
    visitor = get_visitor(request)
    origin = read_origin(query)
    if origin is None:
        return await _show_form(request, visitor)
    limit = read_number(query.get("limit", str(FIRST_LIMIT)), "The number of paths", 1, MAX_LIMIT)
    return await _show_paths(request, visitor, origin, limit)


async def _show_paths(request: Request, visitor: Visitor, origin: Origin, limit: int) -> Response:
    """Show the paths, or the form with what was not found.

    A line whose version is no longer kept is looked for in the present version.
    """
    try:
        answer = await visitor.stub.TracePropagation(origin.build_request(limit))
    except CallFailed as error:
        if error.code() == grpc.StatusCode.OUT_OF_RANGE and origin.version:
            present = replace(origin, version=0, dropped=origin.version)
            return await _show_paths(request, visitor, present, limit)
        if error.code() != grpc.StatusCode.NOT_FOUND:
            raise
        problem = describe_unknown(origin, error.facts.get("what", origin.choice))
        return await _show_form(request, visitor, 404, origin, problem)
    profile = await _get_profile(visitor, origin)
    # A thousand paths take a while to write; live views of others go on meanwhile.
    return await asyncio.to_thread(_show_answer, request, origin, answer, limit, profile)


def _show_answer(
    request: Request,
    origin: Origin,
    answer: pb.TracePropagationResponse,
    limit: int,
    profile: pb.Profile | None,
) -> Response:
    backward = origin.choice == "line"
    drawn = join_paths(answer.paths[:MAX_PATHS], backward=backward)
    return show(
        request,
        "trace/trace.html",
        origin=origin,
        choices=_list_choices(get_visitor(request)),
        answer=answer,
        limit=limit,
        more=link_more(origin, len(answer.paths), limit),
        drawn=MAX_PATHS,
        picture=draw_paths(drawn) if drawn.steps else None,
        summary=describe_answer(answer, backward=backward),
        branches=join_words(answer.paths, backward=backward),
        backward=backward,
        senders=list_senders(answer),
        profile=profile,
    )


def link_more(origin: Origin, shown: int, limit: int) -> str:
    """Return the address with more paths; empty if there is none.

    Fewer than the limit are as many as a message holds, so a larger limit would show the same.
    """
    return origin.link(min(5 * limit, MAX_LIMIT)) if limit <= shown < MAX_LIMIT else ""


def read_origin(query: Mapping[str, str]) -> Origin | None:
    """Read where the paths of an address begin.

    Returns:
        None if the address names nothing.

    Raises:
        BadAddress: It names more than one beginning, or a line without its client or
            its number.
    """
    given = [choice for choice in (*CHOICES, "line") if query.get(choice, "") != ""]
    if not given:
        return None
    if len(given) > 1:
        raise BadAddress(f"A trace has one beginning; this address names {' and '.join(given)}.")
    choice, value = given[0], query[given[0]]
    if choice in KINDS_BY_NAME:
        return Origin(choice, value, pb.ClientKey(kind=KINDS_BY_NAME[choice], id=value))
    if choice != "line":
        return Origin(choice, value)
    kind, id_ = KINDS_BY_NAME.get(query.get("kind", "")), query.get("id", "")
    if kind is None or not id_:
        raise BadAddress("A line needs its client: kind=user or kind=item, and id.")
    number = read_number(value, "The number of a line", 0, MAX_LINE)
    version = read_number(query.get("version") or "0", "The version of a profile", 0, MAX_LINE)
    return Origin(choice, str(number), pb.ClientKey(kind=kind, id=id_), version)


def join_words(paths: Sequence[pb.Path], *, backward: bool) -> list[Branch]:
    """Join the steps that neighbouring paths share.

    Each path keeps a last step of its own.

    Args:
        backward: Begin at the ends of the paths.
    """
    roots: list[Branch] = []
    for place, path in enumerate(paths):
        hops = list(path.hops)[::-1] if backward else list(path.hops)
        level = roots
        for number, hop in enumerate(hops):
            last = number == len(hops) - 1
            if last or not level or not level[-1].branches or level[-1].hop != hop:
                level.append(Branch(hop))
            level[-1].paths.append(place)
            level = level[-1].branches
    return roots


def list_senders(answer: pb.TracePropagationResponse) -> list[pb.MessageSource]:
    """List the messages behind lines on the paths, each once."""
    messages: dict[tuple[int, int], pb.MessageSource] = {}
    for path in answer.paths:
        for hop in path.hops:
            for source in hop.profile.line.sources:
                if source.message.HasField("senders"):
                    message = source.message
                    messages.setdefault((message.router, message.version), message)
    return list(messages.values())


def describe_answer(answer: pb.TracePropagationResponse, *, backward: bool) -> str:
    """Say in one sentence what the paths show."""
    if not answer.paths:
        return ""
    graph = join_paths(answer.paths, backward=backward)
    least = "at least " if answer.truncated else ""
    if backward:
        return describe_sources(answer.paths, graph, least)
    reached, exact = count_reached(graph)
    routers = len({key[1] for key in graph.steps if key[0] == "message"})
    if not reached:
        shown = "None of these paths reached" if answer.truncated else "It has not reached"
        return f"{shown} another profile yet; a path ends where the preference waits."
    least = "At least " if answer.truncated or not exact else ""
    return (
        f"{least}{pluralize(reached, 'line')} of other profiles"
        f" {'rests' if reached == 1 else 'rest'} on it, through {pluralize(routers, 'router')}."
    )


def describe_sources(paths: Sequence[pb.Path], graph: PathGraph, least: str) -> str:
    """Say in one sentence what a line rests on.

    Args:
        least: Stands before the numbers if there may be more.
    """
    events = sum(key[0] == "event" for key in graph.steps)
    messages = sum(key[0] == "message" for key in graph.steps)
    written = {
        (hop.message.router, hop.message.version)
        for path in paths
        for hop in path.hops
        if hop.HasField("evolution")
    }
    found = [pluralize(events, "event")] * bool(events)
    found += [pluralize(messages, "message")] * bool(messages)
    by_evolution = ""
    if written:
        which = "which" if len(written) == messages else f"{len(written)} of which"
        by_evolution = f", {which} an evolution of the routers wrote"
    return f"The line rests on {least}{' and '.join(found)}{by_evolution}."


def describe_unknown(origin: Origin, unknown: str) -> str:
    """Say in one sentence what a trace did not find.

    Args:
        unknown: What the service does not know, in its words.
    """
    if origin.choice == "attribute":
        return (
            "No attribute of this name can be traced: it is unknown, too few users hold it, or what"
            " it came from was erased."
        )
    if unknown == "version of the profile":
        return f"The profile has no version {origin.version:,} yet."
    if unknown == "line":
        return _describe_unknown_line(origin)
    return f"There is no such {unknown}: it was never recorded, or was taken back or erased."


def _describe_unknown_line(origin: Origin) -> str:
    lacks = f"has no line {origin.value} that your token may read."
    if origin.dropped:
        dropped = f"Version {origin.dropped:,} of the profile is no longer kept"
        return f"{dropped}, and the present version {lacks}"
    if origin.version:
        return f"Version {origin.version:,} of the profile {lacks}"
    return f"The present version of the profile {lacks}"


def _redirect_to_trace(query: Mapping[str, str]) -> Response:
    """Redirect the form to an address that can be sent to others."""
    choice, value = query.get("from", ""), query.get("value", "")
    if choice not in CHOICES:
        raise BadAddress("A trace begins at an item, a user, an attribute or an event.")
    return RedirectResponse(link_trace(choice, value) if value.strip() else "/trace", 303)


async def _show_form(
    request: Request,
    visitor: Visitor,
    code: int = 200,
    origin: Origin | None = None,
    problem: str = "",
) -> Response:
    unknown = origin.choice if problem and origin is not None else ""
    first = await visitor.stub.ListRouters(
        pb.ListRoutersRequest(bank=pb.BANK_TASTE, page_size=SUGGESTED_ROUTERS)
    )
    return show(
        request,
        "trace/begin.html",
        code,
        origin=origin,
        choices=_list_choices(visitor),
        problem=problem,
        meant=await find_meant_clients(request) if unknown in KINDS_BY_NAME else (),
        meant_attributes=find_meant_attributes(
            origin.value, _list_attributes(await list_routers(visitor, pb.BANK_TASTE))
        )
        if origin is not None and unknown == "attribute"
        else (),
        suggested=_list_attributes(first.routers)[:SUGGESTED_ATTRIBUTES],
    )


def _list_attributes(routers: Iterable[pb.Router]) -> list[str]:
    """List the attributes of routers' texts, each once."""
    return list(dict.fromkeys(name for router in routers for name in router.attributes))


def find_meant_attributes(text: str, names: Iterable[str]) -> list[str]:
    """Find the attributes that a text may mean, the nearest first.

    They have one of its words, or nearly its letters.
    """
    words = set(text.casefold().split())
    by_folded = {name.casefold(): name for name in names}
    shared = [name for name in by_folded if words & set(name.split())]
    near = difflib.get_close_matches(text.casefold(), by_folded, SUGGESTED_ATTRIBUTES, NEAR)
    found = dict.fromkeys([*near, *shared])
    return [by_folded[name] for name in found][:SUGGESTED_ATTRIBUTES]


def _list_choices(visitor: Visitor) -> dict[str, str]:
    """List the beginnings that the visitor's token may trace."""
    persons = visitor.may("persons")
    return {key: label for key, label in CHOICES.items() if persons or key not in FOR_PERSONS}


async def _get_profile(visitor: Visitor, origin: Origin) -> pb.Profile | None:
    """Return the profile of the origin's client.

    Its lines can be traced back.
    """
    if origin.client is None:
        return None
    answer = await visitor.stub.GetProfile(pb.GetProfileRequest(key=origin.client))
    return answer.profile


VIEWS = ViewTable(pages={"/trace": show_trace})
