"""The lineage of routers: what each evolution run did to them, and its verdict."""

from collections import Counter
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report.html import Child, drawing, element, table, with_tooltip

KINDS = {
    pb.EVOLUTION_KIND_SPLIT: "split",
    pb.EVOLUTION_KIND_MERGE: "merge",
    pb.EVOLUTION_KIND_REWRITE: "rewrite",
}
COLUMN, ROW, TOP = 190.0, 26.0, 46.0
LEFT, RADIUS = 40.0, 11.0
MAX_RUNS, MIN_WIDTH = 12, 1130.0
MAX_REASONS = 3


def lineage(runs: Sequence[pb.EvolutionRun]) -> Element | None:
    """Draw which router became which in the published runs, from left to right.

    Returns:
        None if no run was published.
    """
    shown = sorted((run for run in runs if run.published), key=lambda run: run.run)[-MAX_RUNS:]
    if not shown:
        return None
    flows: list[Element] = []
    nodes: list[Element] = []
    height = TOP
    for place, run in enumerate(shown):
        x, y = LEFT + place * COLUMN, TOP
        nodes.append(element("text", f"run {run.run}", x=x, y=22, class_="quiet"))
        for change in run.changes:
            rows = max(len(change.before), len(change.after), 1)
            flows += _flows(change, x, y, rows)
            nodes += _nodes(change.before, x, y, rows)
            nodes += _nodes(change.after, x + COLUMN / 2, y, rows)
            y += rows * ROW + 8
        height = max(height, y)
    width = max(LEFT + len(shown) * COLUMN, MIN_WIDTH)
    return drawing(width, height + 10, "Which router became which, run by run", flows, nodes)


def _flows(change: pb.EvolutionChange, x: float, y: float, rows: int) -> list[Element]:
    kind = KINDS.get(change.kind, "change")
    bend, far = x + COLUMN / 4, x + COLUMN / 2
    flows = []
    for place, before in enumerate(change.before):
        start = y + _row_middle(place, len(change.before), rows)
        for after_place, after in enumerate(change.after):
            end = y + _row_middle(after_place, len(change.after), rows)
            curve = f"M{x:g} {start:g} C{bend:g} {start:g} {bend:g} {end:g} {far:g} {end:g}"
            tooltip = f"{kind}: router {before} became {after}. {change.reason}"
            flows.append(with_tooltip(element("path", d=curve, class_=f"flow {kind}"), tooltip))
    return flows


def _nodes(routers: Sequence[int], x: float, y: float, rows: int) -> list[Element]:
    nodes = []
    for place, router in enumerate(routers):
        middle = y + _row_middle(place, len(routers), rows)
        nodes += [
            element("circle", cx=x, cy=middle, r=RADIUS, class_="node"),
            element("text", str(router), x=x, y=middle + 4, text_anchor="middle"),
        ]
    return nodes


def _row_middle(place: int, count: int, rows: int) -> float:
    """Centre the side that has fewer routers than the other."""
    return ROW * (place + 0.5 + (rows - count) / 2)


def verdicts(runs: Sequence[pb.EvolutionRun]) -> Element:
    """Make a table with one row a run, newest first."""
    return table(
        ("run", "when", "what", "log-loss before", "after", "verdict"),
        [_verdict_row(run) for run in sorted(runs, key=lambda run: -run.run)],
        numbers=(0, 3, 4),
    )


def _verdict_row(run: pb.EvolutionRun) -> Sequence[Child]:
    # An element of its own, as the style keeps it on one line.
    time = element("time", run.time.ToDatetime().strftime("%Y-%m-%d %H:%M UTC"))
    verdict = run.verdict or ("published" if run.published else "not published")
    return (
        str(run.run),
        time if run.HasField("time") else None,
        _changes(run),
        f"{run.log_loss_before:.4f}" if run.HasField("log_loss_before") else None,
        f"{run.log_loss_after:.4f}" if run.HasField("log_loss_after") else None,
        element("span", verdict, class_="published" if run.published else "refused"),
    )


def _changes(run: pb.EvolutionRun) -> str:
    """Say what the run changed, and its first reasons."""
    if run.HasField("undoes"):
        return f"undoes run {run.undoes}"
    counts = Counter(KINDS.get(change.kind, "change") for change in run.changes)
    numbers = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    changes = ", ".join(numbers) or "nothing to change"
    reasons = [change.reason for change in run.changes if change.reason][:MAX_REASONS]
    return f"{changes}: {'; '.join(reasons)}" if reasons else changes
