"""History: what was done, and quality and spending over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from google.protobuf.timestamp_pb2 import Timestamp
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from propagation.v1 import propagation_pb2 as pb
from services.report.operations import describe_operation
from services.web.access.sessions import Visitor
from services.web.pictures.measurements import Bar, Window, draw_bars, draw_gauge_chart
from services.web.problems import BadAddress
from services.web.rendering import get_visitor, show
from services.web.views.addresses import (
    build_timestamp,
    read_page_token,
    read_time,
    write_field_moment,
)
from services.web.views.view_table import ViewTable

PAGE_SIZE = 50
SEARCHED_PAGES, SEARCHED_PAGE_SIZE = 10, 200
MAX_WORDS = 256
KINDS = {
    "round": (pb.OPERATION_KIND_ROUND, "rounds"),
    "evolution": (pb.OPERATION_KIND_EVOLUTION, "evolution runs"),
    "retraction": (pb.OPERATION_KIND_RETRACTION, "retractions"),
    "erasure": (pb.OPERATION_KIND_ERASURE, "erasures"),
    "factors": (pb.OPERATION_KIND_FACTORS, "factors learned again"),
    "backup": (pb.OPERATION_KIND_BACKUP, "back-ups"),
    "bootstrap": (pb.OPERATION_KIND_BOOTSTRAP, "bootstraps"),
}
KIND_NAMES = {kind: name for name, (kind, _) in KINDS.items()}
CHANGES = {
    pb.EVOLUTION_KIND_SPLIT: "split",
    pb.EVOLUTION_KIND_MERGE: "merge",
    pb.EVOLUTION_KIND_REWRITE: "rewrite",
}
HOURS, DAYS = timedelta(hours=72), timedelta(days=90)


@dataclass(frozen=True)
class Question:
    """What the history is asked for.

    Attributes:
        kinds: Names of KINDS; none stands for all.
        since: As the address gives it, in UTC if it names no zone; may be empty.
        until: The same.
        words: Only operations whose words contain all of these.
    """

    kinds: Sequence[str]
    since: str
    until: str
    words: str

    @property
    def address(self) -> str:
        """The address of the first page."""
        fields = [("kind", name) for name in self.kinds]
        given = {"since": self.since, "until": self.until, "words": self.words}
        fields += [(name, value) for name, value in given.items() if value]
        return f"/history?{urlencode(fields)}" if fields else "/history"

    def build_request(self, token: str, size: int) -> pb.ListOperationsRequest:
        """Build the call of one page."""
        return pb.ListOperationsRequest(
            kinds=[KINDS[name][0] for name in self.kinds],
            since=_read_bound(self.since, "from"),
            until=_read_bound(self.until, "until"),
            page_size=size,
            page_token=token,
        )


def _read_bound(text: str, name: str) -> Timestamp | None:
    return build_timestamp(read_time(text, f"The time `{name}`")) if text else None


async def show_history(request: Request) -> Response:
    """Show operations, newest first."""
    question = read_question(request.query_params)
    visitor = get_visitor(request)
    operations, token, searched = await _search(
        visitor, question, read_page_token(request.query_params)
    )
    return show(
        request,
        "history/operations.html",
        question=question,
        since=write_field_moment(question.since),
        until=write_field_moment(question.until),
        operations=operations,
        token=token,
        searched=searched,
        kinds={name: label for name, (_, label) in KINDS.items()},
        names=KIND_NAMES,
        changes=CHANGES,
    )


def read_question(query: QueryParams) -> Question:
    """Read what an address asks for.

    Raises:
        BadAddress: A kind is unknown, or the words are too long.
    """
    kinds = list(dict.fromkeys(query.getlist("kind")))
    unknown = [name for name in kinds if name not in KINDS]
    if unknown:
        raise BadAddress(f"The kinds of operations are {', '.join(KINDS)}.")
    words = query.get("words", "").strip()
    if len(words) > MAX_WORDS:
        raise BadAddress(f"Search for at most {MAX_WORDS} characters.")
    return Question(kinds, query.get("since", ""), query.get("until", ""), words)


async def _search(
    visitor: Visitor, question: Question, token: str
) -> tuple[list[pb.Operation], str, int]:
    """Read a page of operations.

    With words, it reads on until a page is full.

    Returns:
        The operations, the token of the next page, and how many operations were read.
    """
    if not question.words:
        answer = await visitor.stub.ListOperations(question.build_request(token, PAGE_SIZE))
        return list(answer.operations), answer.next_page_token, len(answer.operations)
    words = question.words.casefold().split()
    found: list[pb.Operation] = []
    searched = 0
    for _ in range(SEARCHED_PAGES):
        answer = await visitor.stub.ListOperations(
            question.build_request(token, SEARCHED_PAGE_SIZE)
        )
        searched += len(answer.operations)
        for operation in answer.operations:
            text = list_words(operation).casefold()
            if all(word in text for word in words):
                found.append(operation)
        token = answer.next_page_token
        if not token or len(found) >= PAGE_SIZE:
            break
    return found, token, searched


def list_words(operation: pb.Operation) -> str:
    """Return the words of an operation that a search looks at."""
    reasons = (change.reason for change in operation.evolution.changes)
    kind = KINDS[KIND_NAMES[operation.kind]][1] if operation.kind in KIND_NAMES else ""
    return " ".join([kind, describe_operation(operation), *reasons])


def link_operation(operation: pb.Operation) -> str:
    """Return the address of what an operation changed.

    If that has no page, it is the address of all operations of its kind.
    """
    match operation.kind:
        case pb.OPERATION_KIND_EVOLUTION:
            return f"/evolution#run-{operation.evolution.run}"
        case pb.OPERATION_KIND_ROUND | pb.OPERATION_KIND_BOOTSTRAP if operation.sequence:
            return f"/routers?at={operation.sequence}"
        case _:
            kind = KIND_NAMES.get(operation.kind)
            return f"/history?kind={kind}" if kind else "/history"


async def show_measurements(request: Request) -> Response:
    """Show the gauge and the spending over time."""
    query = request.query_params
    by_day = query.get("by", "hour") == "day"
    if query.get("by", "hour") not in ("hour", "day"):
        raise BadAddress("Measurements are read by hour or by day.")
    text = query.get("until", "")
    until = read_time(text, "The time `until`") if text else datetime.now(UTC)
    window = choose_window(until, by_day=by_day)
    answer = await get_visitor(request).stub.GetMeasurements(
        pb.GetMeasurementsRequest(
            since=build_timestamp(window.since),
            until=build_timestamp(window.until),
            by_day=by_day,
        )
    )
    return show(
        request,
        "history/measurements.html",
        by_day=by_day,
        window=window,
        earlier=_link_measurements(window.since, by_day=by_day),
        later=(
            _link_measurements(window.until + (window.until - window.since), by_day=by_day)
            if window.until <= datetime.now(UTC)
            else ""
        ),
        gauge=answer.gauge,
        spending=answer.spending,
        chart=draw_gauge_chart(answer.gauge, window) if answer.gauge else None,
        bars=_draw_spending(answer.spending, window) if answer.spending else [],
    )


def choose_window(until: datetime, *, by_day: bool) -> Window:
    """Choose whole periods, the last of which contains a time."""
    end = until.replace(minute=0, second=0, microsecond=0)
    if by_day:
        end = end.replace(hour=0)
    if end < until:
        end += timedelta(days=1) if by_day else timedelta(hours=1)
    return Window(end - (DAYS if by_day else HOURS), end)


def _link_measurements(until: datetime, *, by_day: bool) -> str:
    fields = {"by": "day" if by_day else "hour", "until": f"{until:%Y-%m-%dT%H:%M}"}
    return f"/history/measurements?{urlencode(fields)}"


def _draw_spending(
    spending: Sequence[pb.SpendingMeasurement], window: Window
) -> list[tuple[str, object]]:
    """Draw a chart for each figure that is not always 0."""
    figures = {
        "Calls of the model": ("calls",),
        "Answers without a call": ("cached",),
        "Tokens in and out": ("prompt_tokens", "completion_tokens"),
        "Seconds of the model": ("model_seconds",),
        "Money": ("money",),
    }
    charts: list[tuple[str, object]] = []
    for label, fields in figures.items():
        bars = [
            Bar(
                one.start.ToDatetime(UTC), one.seconds, sum(getattr(one, field) for field in fields)
            )
            for one in spending
        ]
        if any(bar.value for bar in bars):
            charts.append((label, draw_bars(bars, window, label, 4 if label == "Money" else 0)))
    return charts


VIEWS = ViewTable(pages={"/history": show_history, "/history/measurements": show_measurements})
