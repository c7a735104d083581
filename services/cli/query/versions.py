"""`propagation versions`: how the text of a client or a router changed."""

from enum import StrEnum
from typing import Annotated

import typer

from propagation.v1 import propagation_pb2 as pb
from services.cli.access import LOOPBACK, Address, AsJson, ask, build_client_key
from services.cli.query.history import Page, format_time, print_next_page
from services.client.errors import UsageProblem
from services.runtime.console import print_rows

Subject = StrEnum("Subject", ["USER", "ITEM", "ROUTER"])
CAUSES = {
    pb.PROFILE_CAUSE_UNSPECIFIED: "not known",
    pb.PROFILE_CAUSE_CATALOGUE: "the catalogue",
    pb.PROFILE_CAUSE_INTERACTION: "an interaction",
    pb.PROFILE_CAUSE_RECEPTION: "messages",
    pb.PROFILE_CAUSE_RETRACTION: "a retraction",
    pb.PROFILE_CAUSE_ERASURE: "an erasure",
    pb.PROFILE_CAUSE_EVOLUTION: "an evolution",
}
OUTCOMES = {
    pb.MERGE_OUTCOME_MERGED: "merged",
    pb.MERGE_OUTCOME_FILTERED: "filtered",
    pb.MERGE_OUTCOME_EMPTY: "empty",
    pb.MERGE_OUTCOME_FELL_OUT: "fell out",
}


def versions(
    of: Annotated[Subject, typer.Argument(help="What has the text.")],
    name: Annotated[str, typer.Argument(metavar="ID|NUMBER", help="The client, or the router.")],
    count: Annotated[
        int, typer.Option("-n", "--count", "--limit", min=1, max=100, help="How many.")
    ] = 20,
    page: Page = "",
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """List the versions of a text, newest first.

    Of a client's text it says what made each version, of a router's what became of it.

    `propagation profile user ID --as-of SEQUENCE` shows a version itself.

    JSON: the proto's ListProfileVersionsResponse or ListRouterVersionsResponse.
    """
    if of is Subject.ROUTER:
        _list_router_versions(name, count, page, address, json=json)
    else:
        _list_profile_versions(of.value, name, count, page, address, json=json)


def _list_profile_versions(
    kind: str, name: str, count: int, page: str, address: str, *, json: bool
) -> None:
    request = pb.ListProfileVersionsRequest(
        key=build_client_key(kind, name), page_size=count, page_token=page
    )
    answer = ask(address, lambda stub: stub.ListProfileVersions(request))
    print_rows(
        answer,
        ("version", "sequence", "time (UTC)", "lines", "made by"),
        [
            (
                one.version or "",
                one.sequence,
                format_time(one.time),
                _describe_lines(one),
                _describe_cause(one),
            )
            for one in answer.versions
        ],
        ("version", "sequence"),
        json=json,
    )
    if not json:
        print_next_page(answer.next_page_token)


def _describe_lines(one: pb.ProfileVersion) -> str:
    if not one.HasField("lines_added"):
        return f"{one.lines}"
    return f"{one.lines}: +{one.lines_added} -{one.lines_removed} ~{one.lines_changed}"


def _describe_cause(one: pb.ProfileVersion) -> str:
    heard = ", ".join(
        f"{message.router_name or f'router {message.router}'}"
        f" {OUTCOMES.get(message.outcome, 'nothing kept')}"
        for message in one.messages
    )
    cause = CAUSES[one.cause]
    return f"{cause}: {heard}" if heard else cause


def _list_router_versions(name: str, count: int, page: str, address: str, *, json: bool) -> None:
    if not (name.isascii() and name.isdigit() and len(name) < 10):
        raise UsageProblem(f"{name!r} is no number of a router; `propagation routers` lists them")
    request = pb.ListRouterVersionsRequest(number=int(name), page_size=count, page_token=page)
    answer = ask(address, lambda stub: stub.ListRouterVersions(request))
    print_rows(
        answer,
        ("version", "sequence", "time (UTC)", "name", "text", "became"),
        [
            (
                one.version,
                one.sequence,
                format_time(one.time),
                one.name,
                one.text,
                _describe_fate(one),
            )
            for one in answer.versions
        ],
        ("version", "sequence"),
        json=json,
    )
    if not json:
        print_next_page(answer.next_page_token)


def _describe_fate(one: pb.RouterVersion) -> str:
    fates = (
        (one.merged, "merged"),
        (one.filtered, "filtered"),
        (one.empty, "empty"),
        (one.fell_out, "fell out"),
        (one.other, "kept nothing"),
    )
    said = ", ".join(f"{count:,} {what}" for count, what in fates if count)
    named = ", ".join(key.id for key in one.clients)
    return (said or "no one heard it yet") + (f" ({named})" if named else "")
