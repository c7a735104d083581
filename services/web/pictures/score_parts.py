"""Scores as bars that are stacked of their parts."""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report.html import draw_svg, draw_text, make_element, shorten
from services.report.score_words import GROUPS, describe_part

WIDTH, ROW, BAR = 960.0, 30.0, 17.0
LEFT, RIGHT, TOP = 290.0, 70.0, 26.0
LABEL_CHARS = 40


def sum_groups(explanation: pb.Explanation) -> dict[str, float]:
    """Return the sums of an item's parts in the order of GROUPS."""
    sums = dict.fromkeys(GROUPS, 0.0)
    for part in explanation.parts:
        sums[describe_part(part.feature).group] += part.product
    return sums


def draw_score_parts(items: Sequence[pb.Recommendation]) -> Element:
    """Draw one bar an item, stacked of the parts of its score.

    What raises the score is to the right of zero, what lowers it to the left. A dot
    marks the score itself.
    """
    groups = [sum_groups(one.explanation) for one in items]
    scores = [one.score for one in items]
    high = max([0.0, *scores, *(sum(max(part, 0.0) for part in one.values()) for one in groups)])
    low = min([0.0, *scores, *(sum(min(part, 0.0) for part in one.values()) for one in groups)])
    scale = (WIDTH - LEFT - RIGHT) / ((high - low) or 1.0)
    zero = LEFT - low * scale
    height = TOP + ROW * len(items) + 8
    return draw_svg(
        WIDTH,
        height,
        "The parts of each item's score; the table below has the same figures",
        make_element(
            "line", x1=f"{zero:.1f}", x2=f"{zero:.1f}", y1=TOP - 6, y2=height, class_="grid"
        ),
        draw_text(zero, TOP - 10, "0", "middle"),
        *(
            _draw_bar(place, one, parts, zero, scale)
            for place, (one, parts) in enumerate(zip(items, groups, strict=True))
        ),
    )


def _draw_bar(
    place: int, item: pb.Recommendation, parts: dict[str, float], zero: float, scale: float
) -> Iterable[Element]:
    top = TOP + ROW * place + (ROW - BAR) / 2
    middle = top + BAR / 2 + 4
    label = f"{place + 1}. {shorten(item.title.strip() or item.item_id, LABEL_CHARS)}"
    yield draw_text(LEFT - 14, middle, label, "end", style="")
    right = left = zero
    for group, sum_ in parts.items():
        width = abs(sum_) * scale
        if width < 0.05:
            continue
        if sum_ < 0:
            left -= width
        yield make_element(
            "rect",
            make_element("title", f"{GROUPS[group]}: {sum_:+.3f}"),
            x=f"{left if sum_ < 0 else right:.1f}",
            y=f"{top:.1f}",
            width=f"{width:.1f}",
            height=BAR,
            class_=f"part {group}",
        )
        if sum_ > 0:
            right += width
    score = zero + item.score * scale
    yield make_element(
        "circle",
        make_element("title", f"score: {item.score:.3f}"),
        cx=f"{score:.1f}",
        cy=f"{top + BAR / 2:.1f}",
        r=4,
        class_="node",
    )
    yield draw_text(max(right, score) + 8, middle, f"{item.score:.2f}", "start")
