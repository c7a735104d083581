"""Now: the service's health, its present work, and what to do."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from google.protobuf.timestamp_pb2 import Timestamp
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.report.charts import draw_quality_chart
from services.report.language_model import list_model_warnings
from services.report.worth import describe_worth
from services.web.access.feed import LATEST, Snapshot
from services.web.access.sessions import Visitor
from services.web.rendering import get_visitor, render_part, show
from services.web.views.history import link_operation
from services.web.views.view_table import ViewTable

LATE_SECONDS = 10.0
"""Numbers that are further behind are late: an idle service learns an event within a second."""


@dataclass(frozen=True)
class Health:
    """The state of the service.

    Attributes:
        word: One word.
        sentence: What it means.
        level: good, busy or bad.
    """

    word: str
    sentence: str
    level: str


@dataclass(frozen=True)
class Task:
    """Something that an operator must do or know.

    Attributes:
        sentence: What is wrong, and what to do.
        link: Where it is done; empty if not on this page.
        label: The link's words.
    """

    sentence: str
    link: str = ""
    label: str = ""


def judge_health(status: pb.GetStatusResponse | None, problem: str) -> Health:
    """Say in one word how the service fares."""
    if status is None or problem:
        return Health("away", "The service does not answer.", "bad")
    if status.failing:
        names = ", ".join(sorted(status.failing))
        return Health("failing", f"Failing, and tried again: {names}.", "bad")
    if status.dead_letters:
        letters = pluralize(status.dead_letters, "dead letter")
        return Health("damaged", f"{letters}: the texts of these interactions are missing.", "bad")
    behind = measure_wait(status, "oldest_to_learn")
    if behind is not None and behind > LATE_SECONDS:
        return Health("late", "Recommendations do not reflect the newest events yet.", "busy")
    if not status.items:
        return Health("empty", "The service has no items yet.", "busy")
    return Health("well", "Nothing fails, and recommendations follow the events.", "good")


def measure_wait(
    status: pb.GetStatusResponse, field: Literal["oldest_to_learn", "oldest_to_reason"]
) -> float | None:
    """Return how many seconds the oldest entry has waited, if any."""
    if not status.HasField(field):
        return None
    recorded: Timestamp = getattr(status, field)
    return max(0.0, (datetime.now(UTC) - recorded.ToDatetime(UTC)).total_seconds())


def list_tasks(status: pb.GetStatusResponse) -> Iterator[Task]:
    """List what an operator must do, the most urgent first."""
    for name, reason in sorted(status.failing.items()):
        yield Task(f"{name} fails and is tried again: {reason}")
    if status.dead_letters:
        yield Task(
            f"{pluralize(status.dead_letters, 'interaction')} could not be reasoned, so their texts"
            " are missing. Look at the reasons, mend the cause, and replay them.",
            "/failures",
            "Dead letters",
        )
    for warning in list_model_warnings(status):
        yield Task(f"{warning[:1].upper()}{warning[1:]}.", "/failures", "Failures")
    for budget in status.budgets:
        if budget.HasField("limit") and budget.used >= budget.limit:
            yield Task(
                f"The budget {budget.name} is spent ({budget.used:g} of {budget.limit:g}), so"
                " new texts wait for its next period; only with openai.fallback=unavailable does"
                " the offline reasoner answer meanwhile. Raise the budget, or wait."
            )
    if not status.items:
        yield Task(
            "Add items and users first: `propagation import FOLDER`, or UpsertClients from your"
            " application. `make demo` shows a town with both."
        )
    elif not status.bootstrapped:
        yield Task(
            "Routers are not made from this catalogue yet, because it has few items: until then"
            " they are a first guess."
        )
    if not status.propagate:
        yield Task("Propagation is switched off (propagate=false): nothing travels.")


async def show_now(request: Request) -> Response:
    """Show the page."""
    visitor = get_visitor(request)
    status = await visitor.stub.GetStatus(pb.GetStatusRequest(gauge_course=True))
    recent = await visitor.stub.ListOperations(pb.ListOperationsRequest(page_size=LATEST))
    snapshot = replace(
        visitor.get_snapshot(),
        status=status,
        problem="",
        operations=tuple(recent.operations),
    )
    return show(
        request,
        "now.html",
        parts=render_parts(visitor, snapshot),
        worth=describe_worth(status),
        chart=draw_quality_chart(status.gauge) if status.gauge.course else None,
        status=status,
    )


def render_parts(visitor: Visitor, snapshot: Snapshot) -> dict[str, str]:
    """Render what changes every second."""
    status = snapshot.status
    health = judge_health(status, snapshot.problem)
    parts = {"health": render_part("parts/health.html", health=health, problem=snapshot.problem)}
    if snapshot.operations is not None:
        parts["latest"] = render_part(
            "parts/latest.html", operations=snapshot.operations, link_operation=link_operation
        )
    if status is None:
        return parts
    return parts | {
        "figures": render_part(
            "parts/figures.html",
            status=status,
            per_second=snapshot.per_second,
            learn_age=measure_wait(status, "oldest_to_learn"),
            reason_age=measure_wait(status, "oldest_to_reason"),
        ),
        "tasks": render_part("parts/tasks.html", tasks=list(list_tasks(status))),
        "costs": render_part("parts/costs.html", status=status),
        "jobs": render_part("parts/jobs.html", status=status, now=datetime.now(UTC)),
    }


async def run_round(request: Request) -> Response:
    """Run a propagation round now."""
    visitor = get_visitor(request)
    answer = await visitor.stub.RunRound(pb.RunRoundRequest())
    if answer.HasField("round"):
        round_ = answer.round
        visitor.notices.append(
            f"Round {round_.number:,} was published: {pluralize(round_.changed_clients, 'client')}"
            f" had changed, and {pluralize(round_.touched_routers, 'router')} sent a new message."
        )
    else:
        visitor.notices.append(f"No round was run: {answer.note}.")
    return RedirectResponse("/", 303)


VIEWS = ViewTable(pages={"/": show_now}, forms={"/round": run_round}, live={"now": render_parts})
