"""The page of the report, from top to bottom."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.report.charts import (
    draw_lineage,
    draw_quality_chart,
    draw_rounds_chart,
    draw_verdicts,
)
from services.report.collect import ReportData
from services.report.html import Child, make_element, table, write_document
from services.report.language_model import write_language_model
from services.report.router_map import (
    describe_router,
    draw_dot,
    draw_router_map,
    get_name,
    lay_out_routers,
    measure_dots,
)
from services.report.slice_chart import draw_slices_legend, draw_slices_panel
from services.report.worth import describe_worth

if TYPE_CHECKING:
    from propagation.evaluation.reports.results_reader import SlicedResults

MAX_ROWS = 12


def render_page(data: ReportData, results: "SlicedResults | None" = None) -> str:
    """Render the whole document.

    Args:
        results: An evaluation, whose slices are shown behind the service's quality.
    """
    return write_document(
        "Preference propagation: report",
        _write_summary(data),
        _write_quality(data.status),
        _write_slices(results) if results is not None else (),
        _write_routers(data),
        _reach(data),
        write_language_model(data.status),
        _parts(data.status),
        _write_evolution(data.runs),
    )


def _write_summary(data: ReportData) -> list[Child]:
    status = data.status
    release = (
        f"{data.time:%Y-%m-%d %H:%M} UTC · release {status.version} · policy {status.policy}"
        f" · epoch {status.epoch} · reasoner {status.reasoner} · embedder {status.embedder}"
    )
    tiles = [
        _draw_tile(status.users, "users"),
        _draw_tile(status.items, "items"),
        _draw_tile(status.recorded_through, "entries of the log"),
        _draw_tile(status.learn_lag, "not learned yet"),
        _draw_tile(status.reason_lag, "not reasoned yet"),
        _draw_tile(status.last_round.number, "rounds"),
        _draw_tile(status.dead_letters, "dead letters", bad=status.dead_letters > 0),
    ]
    reasons = [
        make_element("li", f"{job}: {reason}") for job, reason in sorted(status.failing.items())
    ]
    failing = [make_element("h2", "Failing, and being retried"), make_element("ul", reasons)]
    return [
        make_element("h1", "Preference propagation"),
        make_element("p", release, class_="quiet small"),
        _write_worth(status),
        make_element("div", tiles, class_="tiles"),
        *(failing if reasons else []),
    ]


def _draw_tile(figure: int, label: str, *, bad: bool = False) -> Element:
    return make_element(
        "div",
        make_element("b", f"{figure:,}"),
        make_element("span", label),
        class_="tile bad" if bad else "tile",
    )


def _write_worth(status: pb.GetStatusResponse) -> Element:
    worth = describe_worth(status)
    return make_element("p", worth.sentence, class_=f"verdict {worth.judgement}".rstrip())


def _note(text: str) -> Element:
    return make_element("p", text, class_="quiet")


def _write_quality(status: pb.GetStatusResponse) -> list[Child]:
    title = make_element("h2", "Quality over time")
    if not status.gauge.course:
        return [title, _note("Nothing was ranked yet.")]
    return [
        title,
        _note(
            "Each interaction's item, ranked with its recorded negatives (at most five items in"
            " all) before anything was learned from it: 1 if it comes first, .39 if last of five."
            " The item-kNN counts with and without propagation."
        ),
        draw_quality_chart(status.gauge),
    ]


def _write_slices(results: "SlicedResults") -> list[Child]:
    """Show where the live ranker gains and loses in an evaluation."""
    targets = pluralize(results.targets, "target")
    when = {
        "moment": "each ranked at its own moment",
        "end": "each user's last, ranked after all other events",
    }[results.known]
    chosen = f"seed {results.seed:,}" + (
        f", the median of {results.seeds:,}" if results.seeds > 1 else ""
    )
    panels = [draw_slices_panel(heading, part) for heading, part in results.panels.items() if part]
    return [
        make_element("h2", "Where ranking gains and loses"),
        _note(
            f"From the evaluation in {results.file}, not from this service: {targets}, {when};"
            f" {chosen}. Differences of N@10 are paired by user; to the left of the line the live"
            " ranker is worse."
        ),
        draw_slices_legend(),
        make_element("div", panels, class_="columns"),
    ]


def _write_routers(data: ReportData) -> list[Child]:
    if not data.routers:
        return []
    omitted = f" {data.omitted:,} routers that carried less are left out." if data.omitted else ""
    layout = lay_out_routers(data.routers, data.members)
    reached = {router.number: data.count_clients_reached(router.number) for router in data.routers}
    dots = measure_dots(data.routers, reached, layout)
    drawn = (
        draw_dot(
            dot,
            describe_router(
                dot.router, reached[dot.router.number], data.members[dot.router.number]
            ),
        )
        for dot in dots
    )
    return [
        make_element("h2", "Routers"),
        _note(
            "Near: routers that share attributes and members. Size: members. Colour: clients that"
            f" its messages reached. Point at a router to read more.{omitted}"
        ),
        draw_router_map(layout, dots, drawn),
    ]


def _reach(data: ReportData) -> list[Child]:
    routers = [router for router in data.routers if router.number in data.reach][:MAX_ROWS]
    headers = ("router", "", "clients reached", "sent", "merged", "filtered", "fell out")
    most = max((data.count_clients_reached(router.number) for router in routers), default=1)
    rows = [_reach_row(router, data.reach[router.number], most) for router in routers]
    merged = table(headers, rows, (2, 3, 4, 5, 6)) if rows else _note("No message was merged yet.")
    rounds = data.status.rounds
    by_round = make_element(
        "div",
        _note("Clients newly reached, round by round."),
        draw_rounds_chart(rounds) if rounds else None,
    )
    return [
        make_element("h2", "Reach of messages, in the newest 200,000 merges"),
        make_element(
            "div", make_element("div", merged), by_round if rounds else None, class_="wide"
        ),
    ]


def _reach_row(router: pb.Router, reach: pb.RouterReach, most: int) -> Sequence[Child]:
    return (
        get_name(router),
        _draw_bar(reach.clients / max(most, 1)),
        f"{reach.clients:,}",
        f"{router.version:,}",
        f"{reach.merged:,}",
        f"{reach.filtered:,}",
        f"{reach.fell_out:,}",
    )


def _parts(status: pb.GetStatusResponse) -> list[Child]:
    called = [part for part in status.parts if part.calls]
    busiest = _write_timings(("busiest", "", "in all"), called, "seconds")
    slowest = _write_timings(
        ("slowest", "", "longest"),
        sorted(called, key=lambda part: -part.longest_seconds),
        "longest_seconds",
        warm=True,
    )
    return [
        make_element("h2", "Busiest and slowest parts"),
        _note(
            "Calls by their name in the API, background steps in small letters; since the service"
            " started, waiting included."
        ),
        make_element("div", busiest, slowest, class_="columns"),
    ]


def _write_timings(
    headers: Sequence[str], parts: Sequence[pb.TimedPart], field: str, *, warm: bool = False
) -> Element:
    """Make a table of parts with a bar for one field."""
    most = max((getattr(part, field) for part in parts), default=0.0) or 1.0
    rows = [
        (
            part.name,
            _draw_bar(getattr(part, field) / most, warm=warm),
            _format_seconds(getattr(part, field)),
            _format_seconds(part.seconds / part.calls),
            f"{part.calls:,}",
        )
        for part in parts[:MAX_ROWS]
    ]
    return table((*headers, "mean", "times"), rows, (2, 3, 4))


def _write_evolution(runs: Sequence[pb.EvolutionRun]) -> list[Child]:
    title = make_element("h2", "Evolution")
    if not runs:
        return [title, _note("No evolution has run yet.")]
    drawn = draw_lineage(runs)
    return [
        title,
        _note(
            "Each run is judged on the newest interactions before it is published; a refused run"
            " changes nothing."
        ),
        make_element("div", drawn, class_="scroll") if drawn is not None else None,
        draw_verdicts(runs),
    ]


def _draw_bar(share: float, *, warm: bool = False) -> Element:
    return make_element(
        "span", class_="bar warm" if warm else "bar", style=f"width:{100 * share:.0f}px"
    )


def _format_seconds(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f} s"
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.1f} ms"
