"""Charts of a run: series over the time of learning."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from propagation.arrays import F64
from propagation.laboratory.runs.report import SeriesReport
from services.report.html import draw_svg, draw_text, make_element

WIDTH, HEIGHT = 640.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 120.0, 40.0, 40.0
TICKS = 4
LABEL_HEIGHT = 15.0
DASHES = ("", "7 4", "2 3", "10 3 2 3")
"""Lines differ by dashes, too, for readers who see no colours."""


class Scale(NamedTuple):
    """Coordinates of a chart.

    Attributes:
        steps: Steps on the horizontal axis, at least 1.
        most: The largest value, more than 0.
    """

    steps: int
    most: float

    def x(self, step: int) -> float:
        """Return the horizontal place of a step."""
        return LEFT + (WIDTH - LEFT - RIGHT) * step / self.steps

    def y(self, value: float) -> float:
        """Return the vertical place of a value."""
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.most


def draw_series_chart(heading: str, series: Sequence[SeriesReport]) -> Element:
    """Draw a line for each method: the mean over seeds."""
    lines = {one.method: average_seeds(one) for one in series}
    scale = Scale(
        max(max(len(line) for line in lines.values()) - 1, 1),
        max(max(float(line.max(initial=0.0)) for line in lines.values()), 1.0),
    )
    places = _spread_labels([scale.y(float(line[-1])) for line in lines.values()])
    return draw_svg(
        WIDTH,
        HEIGHT,
        f"{heading} over the time of learning",
        draw_text(12, 24, heading, "start", style="title"),
        _draw_grid(scale),
        *(
            _draw_line(method, line, DASHES[number % len(DASHES)], scale, place)
            for number, ((method, line), place) in enumerate(
                zip(lines.items(), places, strict=True)
            )
        ),
        draw_text(LEFT, HEIGHT - 8, "first event", "start"),
        draw_text(WIDTH - RIGHT, HEIGHT - 8, "last event", "end"),
    )


def average_seeds(series: SeriesReport) -> F64:
    """Return each step's mean over seeds, as far as all have it."""
    steps = min(len(one) for one in series.seeds)
    mean: F64 = np.mean([one[:steps] for one in series.seeds], axis=0)
    return mean if steps else np.zeros(1)


def _spread_labels(places: Sequence[float]) -> list[float]:
    """Move labels up from the bottom until no two overlap."""
    moved = list(places)
    last = HEIGHT - BOTTOM + LABEL_HEIGHT
    for number in sorted(range(len(moved)), key=lambda one: -moved[one]):
        moved[number] = last = min(moved[number], last - LABEL_HEIGHT)
    return moved


def _draw_grid(scale: Scale) -> Iterable[Element]:
    for tick in range(TICKS + 1):
        value = scale.most * tick / TICKS
        y = scale.y(value)
        yield make_element(
            "line",
            x1=f"{LEFT:.1f}",
            x2=f"{WIDTH - RIGHT:.1f}",
            y1=f"{y:.1f}",
            y2=f"{y:.1f}",
            class_="grid",
        )
        yield draw_text(LEFT - 8, y + 4, f"{value:.4g}", "end")


def _draw_line(
    method: str, line: F64, dashes: str, scale: Scale, place: float
) -> Iterable[Element]:
    points = " ".join(
        f"{scale.x(step):.1f},{scale.y(float(value)):.1f}" for step, value in enumerate(line)
    )
    yield make_element(
        "polyline",
        make_element("title", method),
        points=points,
        fill="none",
        stroke="currentColor",
        stroke_width="1.8",
        stroke_dasharray=dashes or None,
    )
    yield draw_text(WIDTH - RIGHT + 8, place + 4, f"{method}: {line[-1]:.3g}", "start")
