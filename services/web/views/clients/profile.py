"""A client's profile today: lines, their sources, waiting messages, filter rules."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import grpc
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.access.sessions import Visitor
from services.web.rendering import get_visitor, link_client
from services.web.state import get_form
from services.web.views.clients.client_pages import read_key, show_client
from services.web.views.routers.router_listing import list_routers_holding, load_router_names
from services.web.views.view_table import ViewTable

HEADINGS = {
    pb.AUTHOR_CATALOGUE: "From the catalogue",
    pb.AUTHOR_INTERACTION: "From its own events",
    pb.AUTHOR_RECEPTION: "From others, through routers",
}
MERGE_SECONDS = 120.0
ITEMS_ASKED = 20
SHARES_A_BANK = 6


async def show_profile(request: Request) -> Response:
    """Show the page."""
    visitor = get_visitor(request)
    key = read_key(request.query_params)
    answer = await visitor.stub.GetProfile(pb.GetProfileRequest(key=key))
    profile = answer.profile
    return show_client(
        request,
        "profile.html",
        key,
        profile.title,
        profile=profile,
        reflects=answer.reflects,
        sections=split_by_author(profile.lines),
        heaviest=max((line.weight for line in profile.lines), default=0.0),
        rules=await read_rules(visitor, profile.filter_memory),
        routers=await list_routers_holding(visitor, key),
        shares=await find_shares(visitor, key),
        found=request.query_params.get("found", ""),
    )


def split_by_author(lines: Iterable[pb.Line]) -> list[tuple[str, list[pb.Line]]]:
    """Return the headings with their lines, empty ones left out."""
    by_author: dict[int, list[pb.Line]] = {}
    for line in lines:
        by_author.setdefault(line.author, []).append(line)
    return [(HEADINGS[one], by_author[one]) for one in HEADINGS if one in by_author]


@dataclass
class RuleInWords:
    """A filter rule.

    Attributes:
        routers: The routers that it counts for.
        names: Names of today's routers, by number.
        first: If evolutions have moved it, the number of then of the router that it was written
            about.
        first_name: That router's name of then; None if it is not kept.
    """

    rule: pb.FilterRule
    routers: list[int] = field(default_factory=list)
    names: Mapping[int, str] = field(default_factory=dict)
    first: int | None = None
    first_name: str | None = None


def join_rules(rules: Iterable[pb.FilterRule]) -> list[RuleInWords]:
    """Join rules in the same words about the same router.

    When a router was split, each half got the rule in the same words.
    """
    joined: dict[tuple[str, int, int], RuleInWords] = {}
    for rule in rules:
        first = rule.first_router if rule.HasField("first_router") else rule.router
        one = joined.setdefault((rule.text, rule.age, first), RuleInWords(rule))
        if rule.HasField("router"):
            one.routers.append(rule.router)
        if rule.HasField("first_router"):
            one.first = first
    return list(joined.values())


async def read_rules(visitor: Visitor, rules: Sequence[pb.FilterRule]) -> list[RuleInWords]:
    """Join rules, and read the names of the routers that they name."""
    joined = join_rules(rules)
    if any(one.routers for one in joined):
        names = await load_router_names(visitor)
        for one in joined:
            one.names = names
    ages = sorted({one.rule.age for one in joined if one.first is not None})
    then = {age: await _load_earlier_names(visitor, age) for age in ages}
    for one in joined:
        if one.first is not None:
            one.first_name = then[one.rule.age].get(one.first)
    return joined


async def _load_earlier_names(visitor: Visitor, sequence: int) -> Mapping[int, str]:
    """Return the names of routers at a sequence.

    None are returned if retention does not keep them.
    """
    try:
        return await load_router_names(visitor, as_of=pb.AsOf(sequence=sequence))
    except CallFailed as error:
        if error.code() != grpc.StatusCode.OUT_OF_RANGE:
            raise
        return {}


async def find_shares(visitor: Visitor, key: pb.ClientKey) -> list[pb.RouterShare]:
    """List the routers that count for a user's recommendations, strongest first.

    They are those behind the user's first ITEMS_ASKED items, SHARES_A_BANK of each bank. Empty for
    an item.
    """
    if key.kind != pb.CLIENT_KIND_USER:
        return []
    answer = await visitor.stub.Recommend(
        pb.RecommendRequest(user_id=key.id, limit=ITEMS_ASKED, explain=True)
    )
    shares = {
        (share.bank, share.router): share
        for one in answer.recommendations
        for share in one.explanation.routers
    }
    strongest = sorted(shares.values(), key=lambda one: (-one.share, one.router))
    return [
        share
        for bank in (pb.BANK_TASTE, pb.BANK_SESSION)
        for share in [one for one in strongest if one.bank == bank][:SHARES_A_BANK]
    ]


async def merge_waiting(request: Request) -> Response:
    """Merge a client's waiting messages now, and say what they brought."""
    visitor = get_visitor(request)
    key = read_key(get_form(request))
    before = (await visitor.stub.GetProfile(pb.GetProfileRequest(key=key))).profile
    merged = await visitor.stub.GetProfile(
        pb.GetProfileRequest(key=key, freshness=pb.FRESHNESS_MERGED), timeout=MERGE_SECONDS
    )
    visitor.notices.append(describe_merge(len(before.waiting), before.lines, merged.profile.lines))
    return RedirectResponse(link_client(key), 303)


def describe_merge(waiting: int, before: Sequence[pb.Line], after: Sequence[pb.Line]) -> str:
    """Say what merging did to a profile."""
    if not waiting:
        return "No message was waiting."
    old, new = {line.text for line in before}, {line.text for line in after}
    if old == new:
        return (
            f"{pluralize(waiting, 'message')} merged: nothing in them was new to this profile, or"
            " its filter rules dropped it."
        )
    added, removed = len(new - old), len(old - new)
    return (
        f"{pluralize(waiting, 'message')} merged: {pluralize(added, 'line')} new or reworded,"
        f" {pluralize(removed, 'line')} gone or replaced."
    )


VIEWS = ViewTable(pages={"/client": show_profile}, forms={"/client/merge": merge_waiting})
