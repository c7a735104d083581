"""Quality over time, and how far rounds reached."""

from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report.html import drawing, element, titled

WIDTH, HEIGHT = 1130.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 165.0, 18.0, 136.0
GAIN_TOP, GAIN_BOTTOM = 290.0, 372.0
LABEL_APART = 16.0
ROUNDS = 80
TICKS = 4
LEAST_SPREAD = 0.02


def quality(gauge: pb.Gauge) -> Element:
    """N@10 of what users chose, with propagation and without, over the whole stream."""
    points = gauge.course
    values = [value for point in points for value in (point.with_propagation, point.without)]
    low, high = min(values), max(values)
    margin = max(0.08 * (high - low), (LEAST_SPREAD - (high - low)) / 2)
    low, high = max(0.0, low - margin), min(1.0, high + margin)
    last = max(points[-1].through, 1)

    def across(through: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * through / last

    def up(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    lines: list[Element] = []
    for name, of in (("without", _without), ("with", _with)):
        places = [
            (across(point.through - point.interactions / 2), up(of(point))) for point in points
        ]
        lines.append(
            element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places), class_=name)
        )
        lines += [
            titled(
                element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3.5, class_=name),
                f"{name} propagation: {of(point):.4f}, {point.interactions:,} interactions up to {point.through:,}",
            )
            for (x, y), point in zip(places, points, strict=True)
        ]
    ticks = [last * tick // TICKS for tick in range(TICKS + 1)]
    return drawing(
        WIDTH,
        HEIGHT,
        "Ranking quality over the stream, with propagation and without",
        _levels(low, high, up),
        lines,
        _ends(points[-1], up),
        _gains(points, across),
        (_text(across(through), HEIGHT - 10, f"{through:,}", "middle") for through in ticks),
    )


def _gains(points: Sequence[pb.GaugePoint], across: Callable[[float], float]) -> list[Element]:
    """Below the lines: with less without, stretch by stretch."""
    gains = [point.with_propagation - point.without for point in points]
    most, least = max([*gains, 0.0]), min([*gains, 0.0])
    unit = (GAIN_BOTTOM - GAIN_TOP) / ((most - least) or 1.0)
    zero = GAIN_TOP + most * unit
    made = [
        element(
            "line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{zero:.1f}", y2=f"{zero:.1f}", class_="grid"
        ),
        _text(LEFT - 8, zero + 4, "0", "end"),
        element("text", "what it adds", x=WIDTH - RIGHT + 10, y=f"{zero + 4:.1f}", class_="quiet"),
    ]
    for point, gain in zip(points, gains, strict=True):
        start, end = across(point.through - point.interactions), across(point.through)
        made.append(
            titled(
                element(
                    "rect",
                    x=f"{start + 1:.1f}",
                    width=f"{max(end - start - 2, 1):.1f}",
                    y=f"{zero - max(gain, 0.0) * unit:.1f}",
                    height=f"{max(abs(gain) * unit, 0.5):.1f}",
                    class_="gain" if gain >= 0 else "loss",
                ),
                f"{gain:+.4f}, {point.interactions:,} interactions up to {point.through:,}",
            )
        )
    if most:
        made.append(_text(LEFT - 8, GAIN_TOP + 8, f"{most:+.3f}", "end"))
    return made


def _with(point: pb.GaugePoint) -> float:
    return point.with_propagation


def _without(point: pb.GaugePoint) -> float:
    return point.without


def _levels(low: float, high: float, up: Callable[[float], float]) -> list[Element]:
    made = []
    for tick in range(TICKS + 1):
        value = low + (high - low) * tick / TICKS
        made.append(
            element(
                "line",
                x1=LEFT,
                x2=WIDTH - RIGHT,
                y1=f"{up(value):.1f}",
                y2=f"{up(value):.1f}",
                class_="grid",
            )
        )
        made.append(_text(LEFT - 8, up(value) + 4, f"{value:.3f}", "end"))
    return made


def _ends(point: pb.GaugePoint, up: Callable[[float], float]) -> list[Element]:
    """The names of the two lines, where they end, apart."""
    places = {"with": up(point.with_propagation), "without": up(point.without)}
    gap = places["without"] - places["with"]
    if abs(gap) < LABEL_APART:
        shift = (LABEL_APART - abs(gap)) / 2 * (1 if gap >= 0 else -1)
        places = {"with": places["with"] - shift, "without": places["without"] + shift}
    return [
        element(
            "text",
            f"{name} propagation",
            x=WIDTH - RIGHT + 10,
            y=f"{y + 4:.1f}",
            class_=f"label {name}",
        )
        for name, y in places.items()
    ]


def rounds(reports: Sequence[pb.RoundReport]) -> Element:
    """Clients that each of the last rounds newly reached."""
    shown = reports[-ROUNDS:]
    width, height = 560.0, 220.0
    most = max(max(one.reached_clients for one in shown), 1)
    step = (width - 60) / len(shown)
    columns = []
    for place, one in enumerate(shown):
        tall = (height - 60) * one.reached_clients / most
        columns.append(
            titled(
                element(
                    "rect",
                    x=f"{48 + place * step:.1f}",
                    y=f"{height - 34 - tall:.1f}",
                    width=f"{max(step * 0.75, 1):.1f}",
                    height=f"{max(tall, 1):.1f}",
                    class_="column",
                ),
                f"round {one.number}: {one.changed_clients:,} clients had changed, {one.touched_routers:,} routers sent, "
                f"{one.reached_clients:,} clients newly reached",
            )
        )
    return drawing(
        width,
        height,
        "Clients newly reached by each round",
        columns,
        _text(40, 30, f"{most:,}", "end"),
        _text(40, height - 34, "0", "end"),
        _text(48, height - 12, f"round {shown[0].number}", "start"),
        _text(width - 12, height - 12, f"round {shown[-1].number}", "end")
        if len(shown) > 1
        else None,
    )


def _text(x: float, y: float, words: str, anchor: str) -> Element:
    return element("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_="quiet")
