"""Charts of the gauge and of the spending over time."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report.html import draw_svg, draw_text, make_element

WIDTH, HEIGHT = 1130.0, 300.0
BARS_WIDTH, BARS_HEIGHT = 560.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 70.0, 165.0, 16.0, 34.0
BARS_RIGHT = 16.0
TICKS = 4
MIN_SPREAD = 0.02
LABEL_DISTANCE = 16.0
BAR_SHARE = 0.8
LINES = {"with": "with_propagation", "without": "without"}
DAY = timedelta(days=1)


class Window(NamedTuple):
    """The time that a chart shows."""

    since: datetime
    until: datetime

    def find_share(self, moment: datetime) -> float:
        """Return where a time lies, from 0 to 1."""
        return (moment - self.since) / (self.until - self.since)


class Bar(NamedTuple):
    """A figure of one period."""

    start: datetime
    seconds: int
    value: float


def draw_gauge_chart(points: Sequence[pb.GaugeMeasurement], window: Window) -> Element:
    """Draw N@10 at the end of each period, with propagation and without."""
    values = [float(getattr(point, field)) for point in points for field in LINES.values()]
    margin = max(0.08 * (max(values) - min(values)), (MIN_SPREAD - max(values) + min(values)) / 2)
    low, high = max(0.0, min(values) - margin), min(1.0, max(values) + margin)

    def find_y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    def find_x(point: pb.GaugeMeasurement) -> float:
        end = point.start.ToDatetime(UTC) + timedelta(seconds=point.seconds)
        return LEFT + (WIDTH - LEFT - RIGHT) * min(window.find_share(end), 1.0)

    ends = {name: find_y(getattr(points[-1], field)) for name, field in LINES.items()}
    return draw_svg(
        WIDTH,
        HEIGHT,
        "N@10 of the recent stream over time, with propagation and without",
        _draw_levels(
            (
                (find_y(low + (high - low) * tick / TICKS), low + (high - low) * tick / TICKS)
                for tick in range(TICKS + 1)
            ),
            WIDTH - RIGHT,
        ),
        _draw_times(window, LEFT, WIDTH - RIGHT, HEIGHT),
        (
            element
            for name, field in LINES.items()
            for element in _draw_line(
                name, [(find_x(point), find_y(getattr(point, field)), point) for point in points]
            )
        ),
        (
            draw_text(
                find_x(points[-1]) + 10, y + 4, f"{name} propagation", "start", f"label {name}"
            )
            for name, y in _part_labels(ends).items()
        ),
    )


def draw_bars(bars: Sequence[Bar], window: Window, label: str, digits: int = 0) -> Element:
    """Draw a bar a period.

    Args:
        label: What the bars count.
        digits: Decimal places of the figures.
    """
    most = max(bar.value for bar in bars) or 1.0
    base, room = BARS_HEIGHT - BOTTOM, BARS_HEIGHT - TOP - BOTTOM
    right = BARS_WIDTH - BARS_RIGHT
    total = (window.until - window.since).total_seconds()
    return draw_svg(
        BARS_WIDTH,
        BARS_HEIGHT,
        f"{label} over time",
        (
            make_element("line", x1=LEFT, x2=right, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")
            for y in (base, base - room)
        ),
        draw_text(LEFT - 8, base + 4, "0", "end"),
        draw_text(LEFT - 8, base - room + 4, f"{most:,.{digits}f}", "end"),
        (
            make_element(
                "rect",
                make_element("title", f"{bar.start:%Y-%m-%d %H:%M} UTC: {bar.value:,.{digits}f}"),
                x=f"{LEFT + (right - LEFT) * window.find_share(bar.start):.1f}",
                y=f"{base - room * bar.value / most:.1f}",
                width=f"{max((right - LEFT) * BAR_SHARE * bar.seconds / total, 1):.1f}",
                height=f"{max(room * bar.value / most, 0.5):.1f}",
                class_="column",
            )
            for bar in bars
        ),
        _draw_times(window, LEFT, right, BARS_HEIGHT),
    )


def _draw_levels(levels: Iterable[tuple[float, float]], right: float) -> Iterable[Element]:
    for y, value in levels:
        yield make_element("line", x1=LEFT, x2=right, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")
        yield draw_text(LEFT - 8, y + 4, f"{value:.3f}", "end")


def _draw_times(window: Window, left: float, right: float, height: float) -> Iterable[Element]:
    """Name the window's start, middle and end, in UTC."""
    long = window.until - window.since > 7 * DAY
    middle = window.since + (window.until - window.since) / 2
    for x, moment, anchor in (
        (left, window.since, "start"),
        ((left + right) / 2, middle, "middle"),
        (right, window.until, "end"),
    ):
        text = f"{moment:%Y-%m-%d}" if long else f"{moment:%Y-%m-%d %H:%M} UTC"
        yield draw_text(x, height - 10, text, anchor)


def _draw_line(
    name: str, places: Sequence[tuple[float, float, pb.GaugeMeasurement]]
) -> Iterable[Element]:
    yield make_element(
        "polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places), class_=name
    )
    for x, y, point in places:
        value = getattr(point, LINES[name])
        start = point.start.ToDatetime(UTC)
        yield make_element(
            "circle",
            make_element("title", f"{name} propagation: {value:.4f}, {start:%Y-%m-%d %H:%M} UTC"),
            cx=f"{x:.1f}",
            cy=f"{y:.1f}",
            r=3,
            class_=name,
        )


def _part_labels(ends: dict[str, float]) -> dict[str, float]:
    """Move two labels apart that would overlap; the order stays."""
    upper, lower = sorted(ends, key=lambda name: ends[name])
    shift = max(LABEL_DISTANCE - (ends[lower] - ends[upper]), 0.0) / 2
    return {upper: ends[upper] - shift, lower: ends[lower] + shift}
