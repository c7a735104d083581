"""Two rankings side by side, and how items move between them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from services.report.html import draw_svg, draw_text, make_element, shorten, trace_curve

WIDTH, ROW, TOP = 960.0, 26.0, 44.0
LEFT, RIGHT = 370.0, 590.0
LABEL_CHARS = 44


@dataclass(frozen=True)
class Places:
    """An item's places in two rankings.

    They count from 1; None: it is not among those asked for.
    """

    item_id: str
    title: str
    without: int | None
    with_: int | None

    @property
    def name(self) -> str:
        """The title, or the id of an item without one."""
        return self.title.strip() or self.item_id


def describe_change(places: Places) -> str:
    """Say how propagation changes an item's place."""
    if places.without is None:
        return "new: not ranked without propagation"
    if places.with_ is None:
        return "gone: not ranked with propagation"
    change = places.without - places.with_
    if not change:
        return "the same place"
    return f"{'up' if change > 0 else 'down'} {abs(change):,}"


def draw_place_changes(items: Sequence[Places], shown: int) -> Element:
    """Draw the places without propagation left, with it right.

    Args:
        items: Each item that is among the first `shown` of either ranking.
        shown: How many places are drawn. Lines to later places leave the picture at its bottom.
    """
    height = TOP + ROW * (shown + 1)
    return draw_svg(
        WIDTH,
        height,
        "How propagation changes the places of items; the table below says the same",
        draw_text(LEFT, 20, "without propagation", "end", style="label without"),
        draw_text(RIGHT, 20, "with propagation", "start", style="label with"),
        *(_draw_line(one, shown) for one in items),
        *(_draw_labels(one, shown) for one in items),
    )


def _draw_line(places: Places, shown: int) -> Iterable[Element]:
    change = describe_change(places)
    style = "same" if change == "the same place" else change.split()[0].rstrip(":")
    start, end = _find_y(places.without, shown), _find_y(places.with_, shown)
    yield make_element(
        "path",
        make_element("title", f"{places.name}: {change}"),
        d=trace_curve(LEFT + 10, start, RIGHT - 10, end),
        class_=f"move {style}",
    )


def _draw_labels(places: Places, shown: int) -> Iterable[Element]:
    name = shorten(places.name, LABEL_CHARS)
    if places.without is not None and places.without <= shown:
        y = _find_y(places.without, shown) + 4
        yield draw_text(LEFT, y, f"{name}  {places.without}", "end", style="")
    if places.with_ is not None and places.with_ <= shown:
        y = _find_y(places.with_, shown) + 4
        yield draw_text(RIGHT, y, f"{places.with_}  {name}", "start", style="")


def _find_y(place: int | None, shown: int) -> float:
    row = shown + 0.7 if place is None or place > shown else place - 1
    return TOP + ROW * row + (0 if place is not None and place <= shown else -ROW / 2)
