"""Charts of ranking quality over time and of rounds' reach."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report.html import Child, draw_svg, draw_text, make_element, table, trace_curve

WIDTH, HEIGHT = 1130.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 165.0, 18.0, 136.0
GAIN_TOP, GAIN_BOTTOM = 290.0, 372.0
LABEL_DISTANCE = 16.0
TICKS = 4
MIN_SPREAD = 0.02
LINES = {"without": "without", "with": "with_propagation"}
MAX_ROUNDS = 80
ROUNDS_WIDTH, ROUNDS_HEIGHT = 560.0, 220.0
KINDS = {
    pb.EVOLUTION_KIND_SPLIT: "split",
    pb.EVOLUTION_KIND_MERGE: "merge",
    pb.EVOLUTION_KIND_REWRITE: "rewrite",
}
COLUMN, ROW, LINEAGE_TOP = 190.0, 26.0, 46.0
LINEAGE_LEFT, RADIUS = 40.0, 11.0
MAX_RUNS, MIN_WIDTH = 12, 1130.0
MAX_REASONS = 3


class Scale(NamedTuple):
    """Coordinates of the quality chart."""

    low: float
    high: float
    last: int

    def x(self, through: float) -> float:
        """Return the horizontal place of a number of interactions."""
        return LEFT + (WIDTH - LEFT - RIGHT) * through / self.last

    def y(self, value: float) -> float:
        """Return the vertical place of a quality."""
        return (
            HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.low) / (self.high - self.low)
        )


def draw_quality_chart(gauge: pb.Gauge) -> Element:
    """Draw the users' N@10 over the stream, with and without propagation.

    N@10 measures how high the items that users chose were ranked.
    """
    points = gauge.course
    scale = _fit_scale(points)
    ticks = [scale.last * tick // TICKS for tick in range(TICKS + 1)]
    return draw_svg(
        WIDTH,
        HEIGHT,
        "Ranking quality over the stream, with propagation and without",
        _draw_grid(scale),
        *(_draw_line(points, name, field, scale) for name, field in LINES.items()),
        _draw_line_labels(points[-1], scale),
        _draw_gains(points, scale),
        (draw_text(scale.x(tick), HEIGHT - 10, f"{tick:,}", "middle") for tick in ticks),
    )


def _fit_scale(points: Sequence[pb.GaugePoint]) -> Scale:
    values = [getattr(point, field) for point in points for field in LINES.values()]
    low, high = min(values), max(values)
    margin = max(0.08 * (high - low), (MIN_SPREAD - (high - low)) / 2)
    return Scale(max(0.0, low - margin), min(1.0, high + margin), max(points[-1].through, 1))


def _draw_grid(scale: Scale) -> Iterable[Element]:
    for tick in range(TICKS + 1):
        value = scale.low + (scale.high - scale.low) * tick / TICKS
        yield _draw_horizontal(scale.y(value))
        yield draw_text(LEFT - 8, scale.y(value) + 4, f"{value:.3f}", "end")


def _draw_horizontal(y: float) -> Element:
    return make_element(
        "line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid"
    )


def _draw_line(
    points: Sequence[pb.GaugePoint], name: str, field: str, scale: Scale
) -> Iterable[Element]:
    places = [
        (scale.x(point.through - point.interactions / 2), scale.y(getattr(point, field)))
        for point in points
    ]
    yield make_element(
        "polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places), class_=name
    )
    for (x, y), point in zip(places, points, strict=True):
        tooltip = f"{name} propagation: {getattr(point, field):.4f}, {_describe_stretch(point)}"
        yield make_element(
            "circle",
            make_element("title", tooltip),
            cx=f"{x:.1f}",
            cy=f"{y:.1f}",
            r=3.5,
            class_=name,
        )


def _describe_stretch(point: pb.GaugePoint) -> str:
    return f"{point.interactions:,} interactions up to {point.through:,}"


def _draw_line_labels(last: pb.GaugePoint, scale: Scale) -> list[Element]:
    """Name both lines at their ends, moved apart if they would overlap."""
    # The sort is stable: if both lines end at one place, "with" comes first.
    upper, lower = sorted(["with", "without"], key=lambda name: scale.y(getattr(last, LINES[name])))
    upper_y, lower_y = (scale.y(getattr(last, LINES[name])) for name in (upper, lower))
    shift = max(LABEL_DISTANCE - (lower_y - upper_y), 0.0) / 2
    return [
        draw_text(WIDTH - RIGHT + 10, y + 4, f"{name} propagation", "start", style=f"label {name}")
        for name, y in ((upper, upper_y - shift), (lower, lower_y + shift))
    ]


def _draw_gains(points: Sequence[pb.GaugePoint], scale: Scale) -> Iterable[Element]:
    """Draw propagation's gain in each stretch, as bars below the lines."""
    gains = [point.with_propagation - point.without for point in points]
    most, least = max([*gains, 0.0]), min([*gains, 0.0])
    unit = (GAIN_BOTTOM - GAIN_TOP) / ((most - least) or 1.0)
    zero = GAIN_TOP + most * unit
    yield _draw_horizontal(zero)
    yield draw_text(LEFT - 8, zero + 4, "0", "end")
    yield draw_text(WIDTH - RIGHT + 10, zero + 4, "what it adds", "start")
    for point, gain in zip(points, gains, strict=True):
        start, end = scale.x(point.through - point.interactions), scale.x(point.through)
        yield make_element(
            "rect",
            make_element("title", f"{gain:+.4f}, {_describe_stretch(point)}"),
            x=f"{start + 1:.1f}",
            width=f"{max(end - start - 2, 1):.1f}",
            y=f"{zero - max(gain, 0.0) * unit:.1f}",
            height=f"{max(abs(gain) * unit, 0.5):.1f}",
            class_="gain" if gain >= 0 else "loss",
        )
    if most:
        yield draw_text(LEFT - 8, GAIN_TOP + 8, f"{most:+.3f}", "end")


def draw_rounds_chart(reports: Sequence[pb.RoundReport]) -> Element:
    """Draw how many clients each of the last rounds newly reached."""
    shown = reports[-MAX_ROUNDS:]
    most = max(max(report.reached_clients for report in shown), 1)
    step = (ROUNDS_WIDTH - 60) / len(shown)
    base = ROUNDS_HEIGHT - 12
    return draw_svg(
        ROUNDS_WIDTH,
        ROUNDS_HEIGHT,
        "Clients newly reached by each round",
        (_draw_round_column(report, 48 + at * step, step, most) for at, report in enumerate(shown)),
        draw_text(40, 30, f"{most:,}", "end"),
        draw_text(40, ROUNDS_HEIGHT - 34, "0", "end"),
        draw_text(48, base, f"round {shown[0].number}", "start"),
        draw_text(ROUNDS_WIDTH - 12, base, f"round {shown[-1].number}", "end")
        if len(shown) > 1
        else None,
    )


def _draw_round_column(report: pb.RoundReport, x: float, step: float, most: int) -> Element:
    height = (ROUNDS_HEIGHT - 60) * report.reached_clients / most
    tooltip = (
        f"round {report.number}: {report.changed_clients:,} clients had changed,"
        f" {report.touched_routers:,} routers sent, {report.reached_clients:,} clients newly"
        " reached"
    )
    return make_element(
        "rect",
        make_element("title", tooltip),
        x=f"{x:.1f}",
        y=f"{ROUNDS_HEIGHT - 34 - height:.1f}",
        width=f"{max(step * 0.75, 1):.1f}",
        height=f"{max(height, 1):.1f}",
        class_="column",
    )


def draw_lineage(runs: Sequence[pb.EvolutionRun]) -> Element | None:
    """Draw which router became which in the published runs.

    The runs go from left to right.

    Returns:
        None if no run was published.
    """
    shown = sorted((run for run in runs if run.published), key=lambda run: run.run)[-MAX_RUNS:]
    if not shown:
        return None
    flows: list[Element] = []
    nodes: list[Element] = []
    height = LINEAGE_TOP
    for place, run in enumerate(shown):
        x, y = LINEAGE_LEFT + place * COLUMN, LINEAGE_TOP
        nodes.append(make_element("text", f"run {run.run}", x=x, y=22, class_="quiet"))
        for change in run.changes:
            rows = max(len(change.before), len(change.after), 1)
            before = _draw_column(change.before, x, y, rows)
            after = _draw_column(change.after, x + COLUMN / 2, y, rows)
            flows += [_flow(change, start, end) for start, end in product(before, after)]
            nodes += [_draw_node(one) for one in (*before, *after)]
            y += rows * ROW + 8
        height = max(height, y)
    return draw_svg(
        max(LINEAGE_LEFT + len(shown) * COLUMN, MIN_WIDTH),
        height + 10,
        "Which router became which, run by run",
        flows,
        nodes,
    )


class Node(NamedTuple):
    """A router, and the point at which its middle is drawn."""

    router: int
    x: float
    y: float


def _draw_column(routers: Sequence[int], x: float, y: float, rows: int) -> list[Node]:
    """Place routers below each other, the smaller side centred."""
    top = y + ROW * (rows - len(routers) + 1) / 2
    return [Node(router, x, top + ROW * place) for place, router in enumerate(routers)]


def _flow(change: pb.EvolutionChange, start: Node, end: Node) -> Element:
    kind = KINDS.get(change.kind, "change")
    curve = trace_curve(start.x, start.y, end.x, end.y)
    tooltip = f"{kind}: router {start.router} became {end.router}. {change.reason}"
    return make_element("path", make_element("title", tooltip), d=curve, class_=f"flow {kind}")


def _draw_node(node: Node) -> Element:
    return make_element(
        "g",
        make_element("circle", cx=node.x, cy=node.y, r=RADIUS, class_="node"),
        make_element("text", str(node.router), x=node.x, y=node.y + 4, text_anchor="middle"),
    )


def draw_verdicts(runs: Sequence[pb.EvolutionRun]) -> Element:
    """Make a table with one row a run, newest first."""
    return table(
        ("run", "when", "what", "log-loss before", "after", "verdict"),
        [_draw_verdict_row(run) for run in sorted(runs, key=lambda run: -run.run)],
        numbers=(0, 3, 4),
    )


def _draw_verdict_row(run: pb.EvolutionRun) -> Sequence[Child]:
    # The time is an element of its own, because the style keeps it on one line.
    time = make_element("time", run.time.ToDatetime().strftime("%Y-%m-%d %H:%M UTC"))
    verdict = run.verdict or ("published" if run.published else "not published")
    return (
        str(run.run),
        time if run.HasField("time") else None,
        _describe_changes(run),
        f"{run.log_loss_before:.4f}" if run.HasField("log_loss_before") else None,
        f"{run.log_loss_after:.4f}" if run.HasField("log_loss_after") else None,
        make_element("span", verdict, class_="published" if run.published else "refused"),
    )


def _describe_changes(run: pb.EvolutionRun) -> str:
    """Say what the run changed, and its first reasons."""
    if run.HasField("undoes"):
        return f"undoes run {run.undoes}"
    counts = Counter(KINDS.get(change.kind, "change") for change in run.changes)
    numbers = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    changes = ", ".join(numbers) or "nothing to change"
    reasons = [change.reason for change in run.changes if change.reason][:MAX_REASONS]
    return f"{changes}: {'; '.join(reasons)}" if reasons else changes
