"""Evolution: what each run did to the routers, drawn, and its verdict."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report.html import Child, drawing, element, table, titled

KINDS = {
    pb.EVOLUTION_KIND_SPLIT: "split",
    pb.EVOLUTION_KIND_MERGE: "merge",
    pb.EVOLUTION_KIND_REWRITE: "rewrite",
}
COLUMN, ROW, TOP = 190.0, 26.0, 46.0
LEFT, RADIUS = 40.0, 11.0
DRAWN, WIDTH = 12, 1130.0
REASONS = 3


def lineage(runs: Sequence[pb.EvolutionRun]) -> Element | None:
    """Published runs from left to right: which router became which; None where none was published."""
    shown = sorted((run for run in runs if run.published), key=lambda run: run.run)[-DRAWN:]
    if not shown:
        return None
    flows: list[Element] = []
    nodes: list[Element] = []
    tallest = TOP
    for place, run in enumerate(shown):
        x = LEFT + place * COLUMN
        nodes.append(element("text", f"run {run.run}", x=x, y=22, class_="quiet"))
        y = TOP
        for change in run.changes:
            rows = max(len(change.before), len(change.after), 1)
            flows += _flows(change, x, y, rows)
            nodes += [
                *_nodes(change.before, x, y, rows),
                *_nodes(change.after, x + COLUMN / 2, y, rows),
            ]
            y += rows * ROW + 8
        tallest = max(tallest, y)
    return drawing(
        max(LEFT + len(shown) * COLUMN, WIDTH),
        tallest + 10,
        "Which router became which, run by run",
        flows,
        nodes,
    )


def _flows(change: pb.EvolutionChange, x: float, y: float, rows: int) -> list[Element]:
    kind, made = KINDS.get(change.kind, "change"), []
    for one, before in enumerate(change.before):
        for other, after in enumerate(change.after):
            start, end = (
                y + _row(one, len(change.before), rows),
                y + _row(other, len(change.after), rows),
            )
            bend, far = x + COLUMN / 4, x + COLUMN / 2
            made.append(
                titled(
                    element(
                        "path",
                        d=f"M{x:g} {start:g} C{bend:g} {start:g} {bend:g} {end:g} {far:g} {end:g}",
                        class_=f"flow {kind}",
                    ),
                    f"{kind}: router {before} became {after}. {change.reason}",
                )
            )
    return made


def _nodes(routers: Sequence[int], x: float, y: float, rows: int) -> list[Element]:
    made = []
    for place, router in enumerate(routers):
        middle = y + _row(place, len(routers), rows)
        made += [
            element("circle", cx=x, cy=middle, r=RADIUS, class_="node"),
            element("text", str(router), x=x, y=middle + 4, text_anchor="middle"),
        ]
    return made


def _row(place: int, count: int, rows: int) -> float:
    """Centred where one side has fewer routers than the other."""
    return ROW * (place + 0.5 + (rows - count) / 2)


def verdicts(runs: Sequence[pb.EvolutionRun]) -> Element:
    """One row a run, the newest first."""
    return table(
        ("run", "when", "what", "log-loss before", "after", "verdict"),
        [
            (
                str(run.run),
                _when(run),
                _what(run),
                f"{run.log_loss_before:.4f}" if run.HasField("log_loss_before") else "",
                f"{run.log_loss_after:.4f}" if run.HasField("log_loss_after") else "",
                _verdict(run),
            )
            for run in sorted(runs, key=lambda run: -run.run)
        ],
        numbers=(0, 3, 4),
    )


def _when(run: pb.EvolutionRun) -> Child:
    """In one line, however narrow its column."""
    return (
        element("time", run.time.ToDatetime().strftime("%Y-%m-%d %H:%M UTC"))
        if run.HasField("time")
        else ""
    )


def _what(run: pb.EvolutionRun) -> str:
    if run.HasField("undoes"):
        return f"undoes run {run.undoes}"
    counts: dict[str, int] = {}
    for change in run.changes:
        kind = KINDS.get(change.kind, "change")
        counts[kind] = counts.get(kind, 0) + 1
    said = (
        ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items())
        or "nothing to change"
    )
    reasons = [change.reason for change in run.changes if change.reason][:REASONS]
    return f"{said}: {'; '.join(reasons)}" if reasons else said


def _verdict(run: pb.EvolutionRun) -> Child:
    words = run.verdict or ("published" if run.published else "not published")
    return element("span", words, class_="published" if run.published else "refused")
