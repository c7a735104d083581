"""`propagation search`, `events`, `history` and `measurements`: lists that are read by page."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

import typer
from google.protobuf.timestamp_pb2 import Timestamp

from propagation.v1 import propagation_pb2 as pb
from services.cli.access import KINDS, LOOPBACK, Address, AsJson, Count, ask, build_client_key
from services.cli.query.clients import Id, Kind
from services.client.errors import UsageProblem
from services.report.operations import describe_operation
from services.runtime.console import print_answer, print_rows, print_table, print_text

OperationKind = StrEnum(
    "OperationKind",
    ["BOOTSTRAP", "ROUND", "EVOLUTION", "RETRACTION", "ERASURE", "FACTORS", "BACKUP"],
)


def parse_time(text: str) -> Timestamp:
    """Parse a time in ISO 8601.

    A time without a zone is in UTC.

    Raises:
        UsageProblem: The text is no such time.
    """
    moment = Timestamp()
    try:
        moment.FromDatetime(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise UsageProblem(
            f"{text!r} is not a time; give one such as 2026-11-22T03:00:00Z"
        ) from None
    return moment


Page = Annotated[
    str, typer.Option(metavar="TOKEN", help="The page that an earlier answer ended with.")
]
Since = Annotated[
    Timestamp | None,
    typer.Option(
        parser=parse_time, metavar="TIME", help="From this time on (2026-11-22T03:00:00Z)."
    ),
]
Until = Annotated[
    Timestamp | None,
    typer.Option(parser=parse_time, metavar="TIME", help="Before this time."),
]


def search(
    kind: Kind,
    text: Annotated[str, typer.Argument(help="An id, or the first letters of some words.")],
    lines: Annotated[
        bool, typer.Option("--lines", help="Search the lines of profiles, not ids and titles.")
    ] = False,
    count: Count = 20,
    page: Page = "",
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Find users or items by id, title, attributes and categories.

    JSON: the proto's SearchClientsResponse.
    """
    request = pb.SearchClientsRequest(
        kind=KINDS[kind], text=text, lines=lines, page_size=count, page_token=page
    )
    answer = ask(address, lambda stub: stub.SearchClients(request))
    print_rows(
        answer,
        (kind, "title", *(("line",) if lines else ())),
        [
            (found.key.id, found.title, *((found.line,) if lines else ()))
            for found in answer.clients
        ],
        json=json,
    )
    if not json:
        print_next_page(answer.next_page_token)


def events(
    kind: Kind,
    client: Id,
    count: Count = 20,
    page: Page = "",
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """List a client's events, newest first, with those that were taken back.

    JSON: the proto's ListClientEventsResponse.
    """
    request = pb.ListClientEventsRequest(
        key=build_client_key(kind, client), page_size=count, page_token=page
    )
    answer = ask(address, lambda stub: stub.ListClientEvents(request))
    print_rows(
        answer,
        ("sequence", "event", "user", "item", "recorded (UTC)", "state"),
        [
            (
                event.sequence,
                event.interaction.event_id,
                event.interaction.user_id,
                event.interaction.item_id,
                format_time(event.recorded_at) if event.HasField("recorded_at") else "",
                "taken back" if event.retracted else "",
            )
            for event in answer.events
        ],
        ("sequence",),
        json=json,
    )
    if not json:
        print_next_page(answer.next_page_token)


def history(
    kinds: Annotated[
        list[OperationKind] | None,
        typer.Option("--kind", help="Show only this kind; may be repeated; default: all."),
    ] = None,
    since: Since = None,
    until: Until = None,
    count: Count = 20,
    page: Page = "",
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """List rounds, evolution runs, retractions, erasures, back-ups and bootstraps.

    JSON: the proto's ListOperationsResponse.
    """
    request = pb.ListOperationsRequest(
        kinds=[pb.OperationKind.Value(f"OPERATION_KIND_{kind.name}") for kind in kinds or ()],
        since=since,
        until=until,
        page_size=count,
        page_token=page,
    )
    answer = ask(address, lambda stub: stub.ListOperations(request))
    print_rows(
        answer,
        ("time (UTC)", "sequence", "what"),
        [
            (format_time(one.time), one.sequence or "", describe_operation(one))
            for one in answer.operations
        ],
        ("sequence",),
        json=json,
    )
    if not json:
        print_next_page(answer.next_page_token)


def measurements(
    of: Annotated[
        Literal["gauge", "spending"],
        typer.Argument(help="The worth of propagation, or the cost of the language model."),
    ],
    by_day: Annotated[bool, typer.Option("--by-day", help="Join hours to days, in UTC.")] = False,
    since: Since = None,
    until: Until = None,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Show the gauge or the spending over time, by hour and day.

    JSON: the proto's GetMeasurementsResponse, with both.
    """
    request = pb.GetMeasurementsRequest(since=since, until=until, by_day=by_day)
    answer = ask(address, lambda stub: stub.GetMeasurements(request))
    print_answer(answer, _print_gauge if of == "gauge" else _print_spending, json=json)


def _print_gauge(answer: pb.GetMeasurementsResponse) -> None:
    columns = ("interactions", "with propagation", "without", "standard error")
    print_table(
        "N@10 of the recent stream, at the end of each period",
        ("from (UTC)", "hours", *columns),
        [
            (
                format_time(one.start),
                one.seconds // 3_600,
                f"{one.interactions:,}",
                f"{one.with_propagation:.4f}",
                f"{one.without:.4f}",
                f"{one.standard_error:.4f}" if one.HasField("standard_error") else "",
            )
            for one in answer.gauge
        ],
        ("hours", *columns),
    )


def _print_spending(answer: pb.GetMeasurementsResponse) -> None:
    columns = ("calls", "cached", "tokens in", "tokens out", "seconds", "money")
    print_table(
        "",
        ("from (UTC)", "hours", *columns),
        [
            (
                format_time(one.start),
                one.seconds // 3_600,
                f"{one.calls:,}",
                f"{one.cached:,}",
                f"{one.prompt_tokens:,}",
                f"{one.completion_tokens:,}",
                f"{one.model_seconds:,.1f}",
                f"{one.money:.4f}",
            )
            for one in answer.spending
        ],
        ("hours", *columns),
    )


def print_next_page(token: str) -> None:
    """Say how to read the next page, if there is one."""
    if token:
        print_text(f"There is more: add --page {token}", wrap=False)


def format_time(time: Timestamp) -> str:
    """Write a time for a table, in UTC."""
    return f"{time.ToDatetime():%Y-%m-%d %H:%M}"
