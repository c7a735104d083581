"""The lineage of routers over time.

Each router has a line, evolution runs go from left to right. A split begins a line, a merge ends
one, a rewrite is a mark. A plan that was not published is drawn hollow.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report.charts import KINDS
from services.report.html import draw_svg, draw_text, make_element, shorten, trace_curve
from services.web.rendering import link_router

COLUMN, ROW, TOP, LEFT, RIGHT = 92.0, 26.0, 58.0, 236.0, 40.0
LEAST_WIDTH = 760.0
BEND = 46.0
RADIUS = 6.0
MAX_NAME_CHARS = 24
MAX_COLUMNS = 24


@dataclass
class Life:
    """A stretch of a router's line.

    Attributes:
        begin: The column of the run that made it; None: it was there before.
        end: The column of the run that retired its number; None: it is there still.
    """

    router: int
    begin: int | None = None
    end: int | None = None


@dataclass
class Lineage:
    """The routers that evolution changed, and how.

    Attributes:
        runs: The runs that planned something, oldest first: the columns.
        lives: Stretches of routers' lines.
        order: The routers, each below the one that it came from: the rows.
    """

    runs: Sequence[pb.EvolutionRun]
    lives: list[Life] = field(default_factory=list)
    order: list[int] = field(default_factory=list)


def trace_lineage(runs: Iterable[pb.EvolutionRun], router: int | None = None) -> Lineage:
    """Trace which router became which.

    Args:
        runs: Runs since the newest bootstrap, in any order.
        router: Only this router's relatives, and what was planned for them; None: all routers that
            were changed.
    """
    planned = sorted((run for run in runs if run.changes), key=lambda run: run.run)
    related = None if router is None else _find_relatives(planned, router)
    shown = [
        run
        for run in planned
        if related is None or any(related & {*one.before, *one.after} for one in run.changes)
    ]
    lineage = Lineage(shown[-MAX_COLUMNS:])
    alive: dict[int, Life] = {}
    for column, run in enumerate(lineage.runs):
        for change in run.changes:
            if related is not None and not related & {*change.before, *change.after}:
                continue
            if run.published:
                _apply(lineage, alive, change, column)
            elif related is not None:
                for number in change.before:
                    _find_life(lineage, alive, number)
    return lineage


def _find_relatives(runs: Sequence[pb.EvolutionRun], router: int) -> set[int]:
    """Find the relatives of a router: ancestors, descendants, and theirs."""
    related, size = {router}, 0
    while len(related) > size:
        size = len(related)
        for run in runs:
            for change in run.changes if run.published else ():
                touched = {*change.before, *change.after}
                if touched & related:
                    related |= touched
    return related


def _apply(
    lineage: Lineage, alive: dict[int, Life], change: pb.EvolutionChange, column: int
) -> None:
    for number in change.before:
        life = _find_life(lineage, alive, number)
        if number not in change.after:
            life.end = column
            del alive[number]
    for number in change.after:
        if number in change.before or number in alive:
            continue
        alive[number] = Life(number, begin=column)
        lineage.lives.append(alive[number])
        if number not in lineage.order:
            parent = lineage.order.index(change.before[0]) if change.before else -1
            lineage.order.insert(parent + 1, number)


def _find_life(lineage: Lineage, alive: dict[int, Life], number: int) -> Life:
    if number not in alive:
        alive[number] = Life(number)
        lineage.lives.append(alive[number])
        if number not in lineage.order:
            lineage.order.append(number)
    return alive[number]


def draw_lineage(
    lineage: Lineage, names: Mapping[int, str], highlighted: int | None = None
) -> Element | None:
    """Draw a lineage.

    Args:
        names: Names of the routers in use, by number.
        highlighted: The router whose page shows the picture.

    Returns:
        None if no router was changed.
    """
    if not lineage.order:
        return None
    rows = {number: TOP + ROW * (place + 0.5) for place, number in enumerate(lineage.order)}
    width = max(LEFT + COLUMN * len(lineage.runs) + RIGHT, LEAST_WIDTH)
    picture = draw_svg(
        width,
        TOP + ROW * len(rows) + 12,
        "Lineage of routers, run by run; the list says the same in words",
        (_draw_column_head(run, column) for column, run in enumerate(lineage.runs)),
        (_draw_life(life, rows[life.router], width, highlighted) for life in lineage.lives),
        (_draw_row_head(number, y, names.get(number), highlighted) for number, y in rows.items()),
        *(_draw_run(run, column, rows) for column, run in enumerate(lineage.runs)),
    )
    picture.set("role", "group")  # an "img" must not contain links
    picture.set("class", "drawing wide")
    return picture


def _place(column: int) -> float:
    return LEFT + COLUMN * (column + 0.35)


def _draw_column_head(run: pb.EvolutionRun, column: int) -> Element:
    x = _place(column)
    time = f"{run.time.ToDatetime(UTC):%b %d %H:%M} UTC" if run.HasField("time") else ""
    state = time if run.published else "not published"
    return make_element(
        "a",
        make_element("text", f"run {run.run}", x=f"{x:.0f}", y=20, text_anchor="middle"),
        draw_text(x, 38, state, "middle"),
        href=f"/evolution#run-{run.run}",
    )


def _draw_row_head(number: int, y: float, name: str | None, highlighted: int | None) -> Element:
    words = f"{number} {name}" if name else str(number)
    return make_element(
        "a",
        make_element("title", words),
        make_element(
            "text",
            shorten(words, MAX_NAME_CHARS + len(str(number))),
            x=LEFT - 16,
            y=f"{y + 4:.1f}",
            text_anchor="end",
            class_="here" if number == highlighted else None,
        ),
        href=link_router(number),
    )


def _draw_life(life: Life, y: float, width: float, highlighted: int | None) -> Element:
    begin = LEFT - 8 if life.begin is None else _place(life.begin) + BEND
    end = width - 16 if life.end is None else _place(life.end)
    return make_element(
        "line",
        x1=f"{min(begin, end):.1f}",
        x2=f"{end:.1f}",
        y1=f"{y:.1f}",
        y2=f"{y:.1f}",
        class_="life here" if life.router == highlighted else "life",
    )


def _draw_run(run: pb.EvolutionRun, column: int, rows: Mapping[int, float]) -> list[Element]:
    drawn: list[Element] = []
    for change in run.changes:
        if any(number not in rows for number in change.before):
            continue
        drawn += _draw_change(run, change, _place(column), rows)
    return drawn


def _draw_change(
    run: pb.EvolutionRun, change: pb.EvolutionChange, x: float, rows: Mapping[int, float]
) -> Iterable[Element]:
    kind = KINDS.get(change.kind, "change")
    words = describe_change(run, change)
    state = kind if run.published else f"{kind} refused"
    for start in change.before if run.published else ():
        for end in change.after:
            if start != end and end in rows:
                yield make_element(
                    "path",
                    make_element("title", words),
                    d=trace_curve(x, rows[start], x + BEND, rows[end]),
                    class_=f"flow {state}",
                )
    for number in change.before:
        yield make_element(
            "g", make_element("title", words), _draw_step(change, x, rows[number], f"turn {state}")
        )


def _draw_step(change: pb.EvolutionChange, x: float, y: float, style: str) -> Element:
    """Draw a rewrite as a square, other changes as a circle."""
    if change.kind != pb.EVOLUTION_KIND_REWRITE:
        return make_element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=RADIUS, class_=style)
    return make_element(
        "rect",
        x=f"{x - RADIUS:.1f}",
        y=f"{y - RADIUS:.1f}",
        width=2 * RADIUS,
        height=2 * RADIUS,
        class_=style,
    )


def describe_change(run: pb.EvolutionRun, change: pb.EvolutionChange) -> str:
    """Describe what a run did, or would have done, to routers."""
    before = " and ".join(str(number) for number in change.before)
    after = " and ".join(str(number) for number in change.after)
    did = {
        pb.EVOLUTION_KIND_SPLIT: f"router {before} was split into routers {after}",
        pb.EVOLUTION_KIND_MERGE: f"routers {before} became router {after}",
        pb.EVOLUTION_KIND_REWRITE: f"router {before} was written anew",
    }.get(change.kind, f"routers {before} became {after}")
    refused = "" if run.published else " (planned, not published)"
    reason = f": {change.reason}" if change.reason else ""
    return f"run {run.run}: {did}{refused}{reason}"
