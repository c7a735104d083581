"""Chart of the live ranker's gains and losses by slice."""

from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element

from propagation.evaluation.reports.slice_differences import (
    BARS,
    DIFFERENCES,
    ERRORS_OF_95,
    WORSE,
    describe_difference,
)
from propagation.plurals import pluralize
from services.report.html import draw_svg, draw_text, make_element

if TYPE_CHECKING:
    from propagation.evaluation.protocols.metrics import Paired, Slice

WIDTH = 560.0
LEFT, RIGHT, TOP, BOTTOM = 132.0, 138.0, 42.0, 34.0
ROW, OFFSET = 46.0, 9.0
# Room at both ends of the bars, as a share of their range.
MARGIN = 0.06
MIN_RANGE = 0.001
MOST_TICKS = 5
STYLES = {"over_knn": "knn", "gain_live": "routers"}
PLACES = {"over_knn": -OFFSET, "gain_live": OFFSET}


class Scale(NamedTuple):
    """Coordinates of a panel.

    Attributes:
        low: The smallest difference that is drawn, at most 0; `high` is the largest.
    """

    low: float
    high: float

    def x(self, difference: float) -> float:
        """Return the horizontal place of a difference."""
        share = (difference - self.low) / (self.high - self.low)
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    def list_ticks(self) -> list[float]:
        """List round numbers of the scale, at most six.

        They are multiples of 1, 2 or 5 in some power of ten.
        """
        least = (self.high - self.low) / MOST_TICKS
        power: float = 10.0 ** floor(log10(least))
        step = next(times * power for times in (1, 2, 5, 10) if times * power >= least)
        return [tick * step for tick in range(ceil(self.low / step), floor(self.high / step) + 1)]


def draw_slices_legend() -> Element:
    """Make a line that says what colours and bars mean."""
    keys = [
        make_element("span", f"■ {label}", class_=f"key {STYLES[field]}")
        for field, label in DIFFERENCES.items()
    ]
    return make_element(
        "p",
        (part for key in keys for part in (key, " · ")),
        make_element("span", f"■ {WORSE}", class_="key worse"),
        f" · {BARS}",
        class_="small legend",
    )


def draw_slices_panel(heading: str, slices: Sequence["Slice"]) -> Element:
    """Draw a row for each slice, with its differences of N@10."""
    scale = _fit_scale(slices)
    height = TOP + ROW * len(slices) + BOTTOM
    return draw_svg(
        WIDTH,
        height,
        f"Gains and losses by {heading}",
        draw_text(12, 24, f"by {heading}", "start", style="title"),
        _draw_grid(scale, height),
        *(
            _draw_row(heading, part, TOP + ROW * (row + 0.5), scale)
            for row, part in enumerate(slices)
        ),
    )


def _fit_scale(slices: Sequence["Slice"]) -> Scale:
    """Return a scale that has zero and all bars."""
    ends = [0.0]
    for part in slices:
        for _, pair in _list_differences(part):
            spread = ERRORS_OF_95 * (pair.standard_error or 0.0)
            ends += (pair.mean - spread, pair.mean + spread)
    margin = MARGIN * max(max(ends) - min(ends), MIN_RANGE)
    return Scale(min(ends) - margin, max(ends) + margin)


def _list_differences(part: "Slice") -> Iterable[tuple[str, "Paired"]]:
    """List the fields of DIFFERENCES that are known in the slice."""
    pairs = ((field, getattr(part, field)) for field in DIFFERENCES)
    return ((field, pair) for field, pair in pairs if pair is not None)


def _draw_grid(scale: Scale, height: float) -> Iterable[Element]:
    for tick in scale.list_ticks():
        yield _draw_bar(scale, tick, tick, (TOP, height - BOTTOM), "grid" if tick else "zero")
        yield draw_text(scale.x(tick), height - 12, f"{tick:+.4g}" if tick else "0", "middle")


def _draw_bar(
    scale: Scale, start: float, end: float, heights: tuple[float, float], style: str
) -> Element:
    return make_element(
        "line",
        x1=f"{scale.x(start):.1f}",
        x2=f"{scale.x(end):.1f}",
        y1=f"{heights[0]:.1f}",
        y2=f"{heights[1]:.1f}",
        class_=style,
    )


def _draw_row(heading: str, part: "Slice", y: float, scale: Scale) -> Iterable[Element]:
    yield draw_text(LEFT - 14, y - 3, part.span, "end", style="name")
    yield draw_text(LEFT - 14, y + 13, pluralize(part.events, "target"), "end")
    for field, pair in _list_differences(part):
        place = y + PLACES[field]
        style = "worse" if pair.worse else STYLES[field]
        tooltip = (
            f"{heading} {part.span}, {pluralize(part.events, 'target')}: {DIFFERENCES[field]}"
            f" {describe_difference(pair)}{f', {WORSE}' if pair.worse else ''}"
        )
        yield make_element(
            "g",
            make_element("title", tooltip),
            (
                _draw_bar(
                    scale,
                    pair.mean - errors * pair.standard_error,
                    pair.mean + errors * pair.standard_error,
                    (place, place),
                    f"spread {width}",
                )
                for errors, width in ((ERRORS_OF_95, "thin"), (1.0, "thick"))
                if pair.standard_error is not None
            ),
            make_element("circle", cx=f"{scale.x(pair.mean):.1f}", cy=f"{place:.1f}", r=4.5),
            draw_text(
                WIDTH - RIGHT + 12, place + 4, describe_difference(pair), "start", style="figure"
            ),
            class_=f"difference {style}",
        )
