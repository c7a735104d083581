"""Charts of the ranking quality over time and of the reach of rounds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report.html import drawing, drawn_text, element, with_tooltip

WIDTH, HEIGHT = 1130.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 165.0, 18.0, 136.0
GAIN_TOP, GAIN_BOTTOM = 290.0, 372.0
LABEL_DISTANCE = 16.0
TICKS = 4
MIN_SPREAD = 0.02
LINES = {"without": "without", "with": "with_propagation"}
MAX_ROUNDS = 80
ROUNDS_WIDTH, ROUNDS_HEIGHT = 560.0, 220.0


@dataclass(frozen=True)
class Scale:
    """Coordinates of the quality chart."""

    low: float
    high: float
    last: int

    def x(self, through: float) -> float:
        """Return the place of a number of interactions."""
        return LEFT + (WIDTH - LEFT - RIGHT) * through / self.last

    def y(self, value: float) -> float:
        """Return the place of a quality."""
        return (
            HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.low) / (self.high - self.low)
        )


def quality_chart(gauge: pb.Gauge) -> Element:
    """Draw N@10 of the users' choices over the stream, with and without propagation."""
    points = gauge.course
    scale = _scale(points)
    ticks = [scale.last * tick // TICKS for tick in range(TICKS + 1)]
    return drawing(
        WIDTH,
        HEIGHT,
        "Ranking quality over the stream, with propagation and without",
        _grid(scale),
        *(_line(points, name, field, scale) for name, field in LINES.items()),
        _line_labels(points[-1], scale),
        _gains(points, scale),
        (drawn_text(scale.x(tick), HEIGHT - 10, f"{tick:,}", "middle") for tick in ticks),
    )


def _scale(points: Sequence[pb.GaugePoint]) -> Scale:
    values = [getattr(point, field) for point in points for field in LINES.values()]
    low, high = min(values), max(values)
    margin = max(0.08 * (high - low), (MIN_SPREAD - (high - low)) / 2)
    return Scale(max(0.0, low - margin), min(1.0, high + margin), max(points[-1].through, 1))


def _grid(scale: Scale) -> Iterable[Element]:
    for tick in range(TICKS + 1):
        value = scale.low + (scale.high - scale.low) * tick / TICKS
        yield _horizontal(scale.y(value))
        yield drawn_text(LEFT - 8, scale.y(value) + 4, f"{value:.3f}", "end")


def _horizontal(y: float) -> Element:
    return element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")


def _line(
    points: Sequence[pb.GaugePoint], name: str, field: str, scale: Scale
) -> Iterable[Element]:
    places = [
        (scale.x(point.through - point.interactions / 2), scale.y(getattr(point, field)))
        for point in points
    ]
    yield element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places), class_=name)
    for (x, y), point in zip(places, points, strict=True):
        yield with_tooltip(
            element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3.5, class_=name),
            f"{name} propagation: {getattr(point, field):.4f}, {_stretch(point)}",
        )


def _stretch(point: pb.GaugePoint) -> str:
    return f"{point.interactions:,} interactions up to {point.through:,}"


def _line_labels(last: pb.GaugePoint, scale: Scale) -> list[Element]:
    """Name both lines at their ends, moved apart if they would overlap."""
    # Stable: if both lines end at one place, "with" comes first.
    upper, lower = sorted(["with", "without"], key=lambda name: scale.y(getattr(last, LINES[name])))
    upper_y, lower_y = (scale.y(getattr(last, LINES[name])) for name in (upper, lower))
    shift = max(LABEL_DISTANCE - (lower_y - upper_y), 0.0) / 2
    x = WIDTH - RIGHT + 10
    return [
        drawn_text(x, y + 4, f"{name} propagation", "start", style=f"label {name}")
        for name, y in ((upper, upper_y - shift), (lower, lower_y + shift))
    ]


def _gains(points: Sequence[pb.GaugePoint], scale: Scale) -> Iterable[Element]:
    """Draw below the lines what propagation adds, stretch by stretch."""
    gains = [point.with_propagation - point.without for point in points]
    most, least = max([*gains, 0.0]), min([*gains, 0.0])
    unit = (GAIN_BOTTOM - GAIN_TOP) / ((most - least) or 1.0)
    zero = GAIN_TOP + most * unit
    yield _horizontal(zero)
    yield drawn_text(LEFT - 8, zero + 4, "0", "end")
    yield drawn_text(WIDTH - RIGHT + 10, zero + 4, "what it adds", "start")
    for point, gain in zip(points, gains, strict=True):
        start, end = scale.x(point.through - point.interactions), scale.x(point.through)
        bar = element(
            "rect",
            x=f"{start + 1:.1f}",
            width=f"{max(end - start - 2, 1):.1f}",
            y=f"{zero - max(gain, 0.0) * unit:.1f}",
            height=f"{max(abs(gain) * unit, 0.5):.1f}",
            class_="gain" if gain >= 0 else "loss",
        )
        yield with_tooltip(bar, f"{gain:+.4f}, {_stretch(point)}")
    if most:
        yield drawn_text(LEFT - 8, GAIN_TOP + 8, f"{most:+.3f}", "end")


def rounds_chart(reports: Sequence[pb.RoundReport]) -> Element:
    """Draw how many clients each of the last rounds newly reached."""
    shown = reports[-MAX_ROUNDS:]
    most = max(max(report.reached_clients for report in shown), 1)
    step = (ROUNDS_WIDTH - 60) / len(shown)
    columns = [
        _round_column(report, 48 + place * step, step, most) for place, report in enumerate(shown)
    ]
    base = ROUNDS_HEIGHT - 12
    last = drawn_text(ROUNDS_WIDTH - 12, base, f"round {shown[-1].number}", "end")
    return drawing(
        ROUNDS_WIDTH,
        ROUNDS_HEIGHT,
        "Clients newly reached by each round",
        columns,
        drawn_text(40, 30, f"{most:,}", "end"),
        drawn_text(40, ROUNDS_HEIGHT - 34, "0", "end"),
        drawn_text(48, base, f"round {shown[0].number}", "start"),
        last if len(shown) > 1 else None,
    )


def _round_column(report: pb.RoundReport, x: float, step: float, most: int) -> Element:
    height = (ROUNDS_HEIGHT - 60) * report.reached_clients / most
    column = element(
        "rect",
        x=f"{x:.1f}",
        y=f"{ROUNDS_HEIGHT - 34 - height:.1f}",
        width=f"{max(step * 0.75, 1):.1f}",
        height=f"{max(height, 1):.1f}",
        class_="column",
    )
    return with_tooltip(
        column,
        f"round {report.number}: {report.changed_clients:,} clients had changed,"
        f" {report.touched_routers:,} routers sent,"
        f" {report.reached_clients:,} clients newly reached",
    )
