"""Printing of the demo."""

from collections.abc import Mapping, Sequence
from textwrap import shorten, wrap

from rich.markup import escape
from rich.table import Table

from propagation.model import pluralize, sum_pairs
from propagation.v1 import propagation_pb2 as pb
from services.demo.data import DemoScript, Reach
from services.demo.story import (
    BEYOND,
    DEEP,
    Advice,
    Placement,
    Story,
    describe_wave,
)
from services.report.charts import KINDS
from services.report.score_words import PARTS
from services.runtime.console import create_console, make_printable, print_table, print_text

WIDTH, BAR = 110, 10
NAME_CHARS, GROUP_CHARS = 34, 24
ROUTERS_SHOWN = 8
AUTHORS = {
    pb.AUTHOR_CATALOGUE: "catalogue",
    pb.AUTHOR_INTERACTION: "own",
    pb.AUTHOR_RECEPTION: "heard",
}
CHANGES_SHOWN, NUMBERS_CHARS, REASON_CHARS = 6, 18, 78
PARTS_SHOWN = 6


def print_heading(text: str) -> None:
    """Print a heading."""
    print()
    create_console().rule(f"[bold]{escape(make_printable(text))}", align="left")


def number_titles(titles: Sequence[str]) -> list[str]:
    """Return the lines of a numbered list."""
    return [f"  {place}. {title}" for place, title in enumerate(titles, 1)]


def show_data(script: DemoScript) -> None:
    """Print the data's size and notes, and the watched wave."""
    data = script.dataset
    kind = "Generated data" if data.generated else "Your data"
    print_text(
        f"{kind}: {data.name}. {pluralize(len(data.users), 'user')}, "
        f"{pluralize(len(data.items), 'item')}, {pluralize(len(data), 'event')}.",
        *(f"  {note}" for note in data.notes),
    )
    if script.wave:
        print_text(
            f"  Watched here: the wave of “{script.wave.attribute}” in the community"
            f" {script.wave.community}, begun by {len(script.wave.pioneers)} pioneers; and the"
            f" {len(script.watched)} of its people who have chosen nothing of it by event"
            f" {script.after:,}."
        )


def show_profiles(story: Story) -> None:
    """Print the profile before and after, with new lines marked."""
    known = {line.text for line in story.before.lines}
    table = Table(show_header=True, expand=True, box=None, padding=(0, 2, 0, 0))
    table.add_column(escape(make_printable(f"{story.user}, before")), ratio=1, overflow="fold")
    table.add_column(escape(make_printable(f"{story.user}, after")), ratio=1, overflow="fold")
    table.add_row(
        "\n".join(_line(line, False) for line in story.before.lines) or "nothing yet",
        "\n".join(_line(line, line.text not in known) for line in story.after.lines)
        or "nothing yet",
    )
    create_console().print(table)


def _line(line: pb.Line, new: bool) -> str:
    text = escape(make_printable(f"[{AUTHORS.get(line.author, '?')}] {line.text}"))
    return f"[bold green]+ {text}[/]" if new else f"- {text}"


def show_path(script: DemoScript, story: Story) -> None:
    """Print the path of the story."""
    if script.wave and not story.attributes & describe_wave(script):
        print_text(
            f"Nobody watched has heard of “{script.wave.attribute}” yet. What they heard of "
            "instead:"
        )
    part = "had chosen nothing of the kind" if story.new else "had chosen some of it already"
    print_text(
        f"The line “{story.line.text}” stands in the profile of {story.user}, who {part}. How"
        " it got there:"
    )
    if story.path is None:
        print_text(
            "  Its path is no longer kept: its sources are older than what the service keeps."
        )
        return
    for hop in story.path.hops:
        print_text(*wrap(hop.text, WIDTH - 6, initial_indent="  → ", subsequent_indent="    "))


def show_reach(reach: Reach) -> None:
    """Print the routers that carried most, from whom and to whom."""
    carried = reach.count_carried_lines()
    if not carried:
        print_text("No message has written a line into a profile yet: too little has happened.")
        return
    largest = max(carried.values())
    shown = sorted(carried, key=lambda number: (-carried[number], number))[:ROUTERS_SHOWN]
    rows = [
        (
            _find_most_frequent(reach, router, 0),
            shorten(reach.names.get(router, f"router {router}"), NAME_CHARS, placeholder=" …"),
            _find_most_frequent(reach, router, 2),
            f"{carried[router]:>4} {'█' * max(1, round(BAR * carried[router] / largest))}",
        )
        for router in shown
    ]
    print_table("", ("people of", "told, through the router", "people of", "lines written"), rows)


def _find_most_frequent(reach: Reach, router: int, end: int) -> str:
    """Return the most frequent community at one end of a router's flows.

    Other communities are only counted.

    Args:
        end: 0 for the senders' end, 2 for the readers'.
    """
    lines = sum_pairs(
        (str(flow[end]), count) for flow, count in reach.flows.items() if flow[1] == router
    )
    names = sorted(lines, key=lambda name: (-lines[name], name))
    most = shorten(names[0], GROUP_CHARS, placeholder=" …")
    return f"{most} and {len(names) - 1} more" if len(names) > 1 else most


def show_evolution(run: pb.EvolutionRun, names: Mapping[int, str]) -> None:
    """Print the plan as lineage, and the verdict.

    Args:
        names: Names of the routers before the run.
    """
    for change in run.changes[:CHANGES_SHOWN]:
        numbers = f"{' + '.join(map(str, change.before))} → {' + '.join(map(str, change.after))}"
        called = "; ".join(
            shorten(names.get(router, f"router {router}"), NAME_CHARS, placeholder=" …")
            for router in change.before
        )
        print_text(f"  {numbers:<{NUMBERS_CHARS}}{KINDS.get(change.kind, 'change')}: {called}")
        if change.reason:
            print_text(
                f"  {'':<{NUMBERS_CHARS}}{shorten(change.reason, REASON_CHARS, placeholder=' …')}"
            )
    if len(run.changes) > CHANGES_SHOWN:
        print_text(f"  … and {len(run.changes) - CHANGES_SHOWN} more.")
    verdict = run.verdict or ("published" if run.published else "not published")
    print_text(
        f"Verdict: {verdict.removesuffix('.')}.",
        "They are live as a new epoch." if run.published else "The routers stay as they were.",
    )


def show_advice(advice: Advice, placements: Sequence[Placement], shown: Placement | None) -> None:
    """Print the list, and why its explained item is in it.

    A table has the parts of the item's score, with propagation and without.

    Args:
        shown: The placement of the explained item; None: the first of the list is explained.
    """
    print_text(*number_titles([one.title or one.item_id for one in advice.best]))
    if shown is not None:
        print_text(
            "", describe_how_chosen(placements, shown), describe_where_it_stands(advice, shown)
        )
    print_text(f"Why: {advice.chosen.explanation.text}")
    parts, off = _parts(advice.chosen), _parts(advice.without)
    largest = {
        name: max(abs(parts.get(name, 0.0)), abs(off.get(name, 0.0))) for name in parts | off
    }
    columns = ("part of the score", "adds", "adds with propagation off")
    rows = [
        (
            name,
            *(f"{side[name]:+.2f}" if name in side else "-" for side in (parts, off)),
        )
        for name in sorted(largest, key=lambda name: (-largest[name], name))[:PARTS_SHOWN]
    ]
    print_table("", columns, rows, columns[1:])


def describe_how_chosen(placements: Sequence[Placement], shown: Placement) -> str:
    """Say how many placements rose and fell, and which one is shown."""
    told = ", ".join(sorted(shown.story.attributes))
    users = {one.story.user for one in placements}
    rose = sum(one.rise > 1 for one in placements)
    fell = sum(one.rise < 1 for one in placements)
    if shown.rise > 1:
        which = "the one that rose most, by the factor between its two places"
    else:
        which = "one that did not move" if shown.rise == 1 else "the one that fell least"
    return (
        f"How it was chosen: there are {len(placements):,} pairs of a watched user and an item"
        f" of a kind that the user heard of ({len(users)} users). With propagation {rose:,}"
        f" of them stand higher than with it switched off, {fell:,} lower and"
        f" {len(placements) - rose - fell:,} the same. Shown is {which} (heard of: {told})."
    )


def describe_where_it_stands(advice: Advice, shown: Placement) -> str:
    """Say where the item stands with propagation, and where without.

    If it moved, the part of the score that moved it most is named.
    """
    stands = (
        f"“{advice.chosen.title or advice.chosen.item_id}” is {_format_place(shown.place)} for"
        f" {shown.story.user}; with propagation switched off it would be"
        f" {_format_place(shown.place_without)}."
    )
    if shown.rise == 1:
        return stands
    direction = 1 if shown.rise > 1 else -1
    parts, off = _parts(advice.chosen), _parts(advice.without)
    moved = {name: parts.get(name, 0.0) - off.get(name, 0.0) for name in parts | off}
    name = max(moved, key=lambda name: direction * moved[name])
    if direction * moved[name] <= 0:
        return f"{stands} No part of its own score did it: other items moved past it."
    meaning = f" ({PARTS[name].meaning})" if name in PARTS else ""
    if name in parts.keys() & off.keys():
        meaning += ", a part that counts without propagation, too, with a weight of its own"
    verb = "rose" if direction > 0 else "fell"
    return (
        f"{stands} It {verb}, mostly by {name}{meaning}: {off.get(name, 0.0):+.2f} "
        f"becomes {parts.get(name, 0.0):+.2f}."
    )


def _format_place(place: int) -> str:
    return f"not among the first {DEEP:,}" if place == BEYOND else f"number {place}"


def _parts(one: pb.Recommendation) -> dict[str, float]:
    return {part.feature: part.product for part in one.explanation.parts}
