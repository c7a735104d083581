"""The paths of preferences as a picture, from left to right."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from statistics import mean
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report.html import draw_text, make_element, trace_curve
from services.web.rendering import KINDS, link_client, link_message, link_trace

MAX_PATHS = 30
BOX_WIDTH, BOX_HEIGHT = 186.0, 58.0
COLUMN_STEP, ROW_STEP = 236.0, 65.0
TOP, MARGIN = 30.0, 4.0
TEXT_WIDTH, TEXT_LINES = 25, 2
TOOLTIP = 300
SWEEPS = 4
WIDE = frozenset("WF")

Key = tuple[object, ...]


class Column(IntEnum):
    """The kinds of steps, from left to right."""

    EVENT = 0
    LINE = 1
    ATTRIBUTE = 2
    MESSAGE = 3
    REACHED = 4


HEADINGS = {
    Column.EVENT: "event",
    Column.LINE: "line of a profile",
    Column.ATTRIBUTE: "attribute at a router",
    Column.MESSAGE: "message",
    Column.REACHED: "line of another profile",
}
BACKWARD_HEADINGS = {**HEADINGS, Column.REACHED: "this line"}


@dataclass
class Step:
    """A step that one or more paths share; it is drawn once.

    Attributes:
        caption: Whose step it is, in a few words.
        link: Where the step leads; empty if the service names nothing that has a page.
        paths: Places of the paths through it, from 0.
    """

    column: Column
    caption: str
    text: str
    link: str
    paths: list[int] = field(default_factory=list)


@dataclass
class PathGraph:
    """The steps of several paths, and which step follows which.

    Attributes:
        backward: Whether all paths end at one line.
        steps: In the order in which the paths meet them.
        strands: By the keys of both steps, the places of the paths that go from one to the other.
    """

    backward: bool
    steps: dict[Key, Step] = field(default_factory=dict)
    strands: dict[tuple[Key, Key], list[int]] = field(default_factory=lambda: defaultdict(list))


def join_paths(paths: Sequence[pb.Path], *, backward: bool) -> PathGraph:
    """Join paths at the steps that they share.

    Args:
        backward: Whether all paths end at one line. It is in the last column, also if an event of
            its own client wrote it.
    """
    graph = PathGraph(backward)
    for place, path in enumerate(paths):
        before: Key | None = None
        for number, hop in enumerate(path.hops):
            column = _find_column(path.hops, number, backward=backward)
            key = _identify(hop, column, before)
            step = graph.steps.setdefault(key, _describe(hop, column))
            if place not in step.paths[-1:]:
                step.paths.append(place)
            if before is not None:
                graph.strands[before, key].append(place)
            before = key
    return graph


def count_reached(graph: PathGraph) -> tuple[int, bool]:
    """Count the lines of other profiles that paths reached.

    Returns:
        The number, and whether it is exact. Users who may not be told apart are counted once.
    """
    keys = [key for key, step in graph.steps.items() if step.column == Column.REACHED]
    return len(keys), all(key[0] != "unknown" for key in keys)


def draw_paths(graph: PathGraph) -> Element:
    """Draw paths.

    A step leads to its page or, if it has none, to its first path in words.
    """
    used = sorted({step.column for step in graph.steps.values()})
    lefts = {column: MARGIN + COLUMN_STEP * place for place, column in enumerate(used)}
    heights = _place_steps(graph)
    width = lefts[used[-1]] + BOX_WIDTH + MARGIN
    height = max(heights.values()) + BOX_HEIGHT + MARGIN
    strands = (
        _draw_strand(
            lefts[graph.steps[start].column] + BOX_WIDTH,
            heights[start] + BOX_HEIGHT / 2,
            lefts[graph.steps[end].column],
            heights[end] + BOX_HEIGHT / 2,
            paths,
        )
        for (start, end), paths in graph.strands.items()
    )
    headings = BACKWARD_HEADINGS if graph.backward else HEADINGS
    # Links inside an element of the role img would be hidden from a screen reader.
    return make_element(
        "svg",
        (draw_text(lefts[column] + 2, 16, headings[column], "start") for column in used),
        strands,
        (_draw_step(step, lefts[step.column], heights[key]) for key, step in graph.steps.items()),
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="group",
        aria_label="The paths as a picture; below it they are written in words",
        class_="paths",
    )


def _find_column(hops: Sequence[pb.Hop], number: int, *, backward: bool) -> Column:
    match hops[number].WhichOneof("hop"):
        case "interaction":
            return Column.EVENT
        case "attribute":
            return Column.ATTRIBUTE
        case "message":
            return Column.MESSAGE
        case _:
            heard = number > 0 and hops[number - 1].WhichOneof("hop") == "message"
            last = backward and number == len(hops) - 1
            return Column.REACHED if heard or last else Column.LINE


def _identify(hop: pb.Hop, column: Column, before: Key | None) -> Key:
    """Return what tells a step from others."""
    match hop.WhichOneof("hop"):
        case "interaction":
            return ("event", hop.sequence)
        case "attribute":
            router = hop.attribute.router if hop.attribute.HasField("router") else None
            return ("attribute", hop.attribute.name, router)
        case "message":
            return ("message", hop.message.router, hop.message.version)
        case _:
            profile = hop.profile
            known = _get_key(profile.client)
            if known is None:
                return ("unknown", column, profile.kind, hop.text, before)
            return ("profile", column, known.kind, known.id, profile.version, profile.line.text)


def _describe(hop: pb.Hop, column: Column) -> Step:
    match hop.WhichOneof("hop"):
        case "interaction":
            event = hop.interaction
            user = _get_key(event.users)
            text = "chose " + (event.item_title or event.item.id or "an item")
            caption = f"user {user.id}" if user else "a user"
            link = link_trace("event", event.event_id) if event.HasField("event_id") else ""
            return Step(column, caption, text, link)
        case "attribute":
            attribute = hop.attribute
            link = link_trace("attribute", attribute.name)
            if attribute.HasField("router"):
                return Step(column, f"router {attribute.router} took", attribute.name, link)
            return Step(column, "waits for a round", attribute.name, link)
        case "message":
            message = hop.message
            caption = f"router {message.router} told"
            return Step(
                column, caption, message.text, link_message(message.router, message.version)
            )
        case _:
            profile = hop.profile
            key = _get_key(profile.client)
            kind = KINDS.get(profile.kind, "client")
            caption = f"{kind} {profile.title or key.id}" if key else f"profiles of {kind}s"
            hidden = "a line that is no longer kept" if key else "a line that you may not read"
            text = profile.line.text if profile.HasField("line") else hidden
            return Step(column, caption, text, link_client(key) if key else "")


def _get_key(parties: pb.Parties) -> pb.ClientKey | None:
    keys = parties.clients.keys
    return keys[0] if len(keys) == 1 else None


def _place_steps(graph: PathGraph) -> dict[Key, float]:
    """Return the top of each step.

    Steps that follow each other are placed near each other: each column is sorted by the mean place
    of its neighbours (the barycentre heuristic, Sugiyama, Tagawa and Toda 1981).
    """
    columns: dict[Column, list[Key]] = defaultdict(list)
    for key, step in graph.steps.items():
        columns[step.column].append(key)
    neighbours: dict[Key, list[Key]] = defaultdict(list)
    for start, end in graph.strands:
        neighbours[start].append(end)
        neighbours[end].append(start)
    places = {key: float(at) for keys in columns.values() for at, key in enumerate(keys)}
    order = sorted(columns)
    for sweep in range(SWEEPS):
        for column in order if sweep % 2 == 0 else reversed(order):
            columns[column].sort(key=lambda key: _mean_place(neighbours[key], places, key))
            places |= {key: float(at) for at, key in enumerate(columns[column])}
    tallest = max(order, key=lambda column: len(columns[column]))
    tops = {key: TOP + ROW_STEP * at for at, key in enumerate(columns[tallest])}
    at = order.index(tallest)
    for column in (*reversed(order[:at]), *order[at + 1 :]):
        # Not in the middle of its neighbours: the first path begins at the top of the screen.
        lowest = TOP
        for key in columns[column]:
            tops[key] = max(
                lowest, min([tops[one] for one in neighbours[key] if one in tops] or [TOP])
            )
            lowest = tops[key] + ROW_STEP
    return tops


def _mean_place(neighbours: Iterable[Key], places: dict[Key, float], key: Key) -> float:
    return mean([places[one] for one in neighbours] or [places[key]])


def _draw_strand(x: float, y: float, to_x: float, to_y: float, paths: Sequence[int]) -> Element:
    return make_element(
        "path",
        d=trace_curve(x, y, to_x, to_y),
        class_=f"strand {'thick' if len(paths) > 1 else ''}".rstrip(),
        data_paths=_list_places(paths),
    )


def _draw_step(step: Step, x: float, y: float) -> Element:
    # A nested svg cuts what does not fit, such as very wide letters.
    box = make_element(
        "svg",
        make_element("rect", x=1, y=1, width=BOX_WIDTH - 2, height=BOX_HEIGHT - 2, rx=7),
        draw_text(10, 17, cut_to_lines(step.caption, TEXT_WIDTH, 1)[0], "start"),
        (
            draw_text(10, 34 + 16 * at, line, "start", "text")
            for at, line in enumerate(cut_to_lines(step.text, TEXT_WIDTH, TEXT_LINES))
        ),
        x=f"{x:g}",
        y=f"{y:.1f}",
        width=f"{BOX_WIDTH:g}",
        height=f"{BOX_HEIGHT:g}",
    )
    return make_element(
        "a",
        make_element("title", f"{step.caption}: {step.text}"[:TOOLTIP]),
        box,
        href=step.link or f"#path-{step.paths[0] + 1}",
        class_=f"step {step.column.name.lower()}",
        data_paths=_list_places(step.paths),
    )


def _list_places(paths: Sequence[int]) -> str:
    return " ".join(map(str, paths))


def cut_to_lines(text: str, width: int, most: int) -> list[str]:
    """Break a text into lines; an ellipsis ends what is cut.

    Args:
        width: Letters a line; a wide letter, such as a Chinese one, counts as two.
        most: The number of lines.

    Returns:
        1 to `most` lines.
    """
    # What is behind this cannot be shown; a text can have thousands of letters.
    words = text[: 2 * width * most].split() or [""]
    complete = len(text) <= 2 * width * most
    lines = [""]
    while words:
        word = words.pop(0)
        joined = f"{lines[-1]} {word}".strip()
        if _measure(joined) <= width:
            lines[-1] = joined
        elif len(lines) < most and lines[-1]:
            lines.append("")
            words.insert(0, word)
        else:
            fitting = _take(joined, width - 1)
            if len(lines) == most:
                return [*lines[:-1], f"{fitting.rstrip(' ,.')}…"]
            lines[-1] = fitting
            lines.append("")
            words.insert(0, joined[len(fitting) :])
    if not complete:
        lines[-1] = f"{_take(lines[-1], width - 1)}…"
    return lines


def _measure(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in WIDE else 1 for letter in text)


def _take(text: str, width: int) -> str:
    """Return the longest beginning of a text that is not wider."""
    taken = 0
    for at, letter in enumerate(text):
        taken += _measure(letter)
        if taken > width:
            return text[:at]
    return text
