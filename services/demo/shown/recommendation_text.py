"""The demo's text about a recommendation: its choice, its place, its score."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from propagation.v1 import propagation_pb2 as pb
from services.demo.data.story import BEYOND, DEEP, Advice, Showcase
from services.demo.shown.printing import say

PARTS_SHOWN = 6
MEANINGS = {
    "lift_session": "what communities with this user's latest interests choose more than others",
    "lift_taste": "what communities of this user's taste choose more than others",
    "profile": "how near the item is to the profile, with what it heard",
    "knn_slow": "chosen together with the user's history",
    "knn_fast": "chosen together with the user's latest items",
}


def show_advice(console: Console, advice: Advice, showcase: Showcase | None) -> None:
    """Print the list and its explained item.

    Args:
        showcase: None if no item could be placed; then the first of the list is explained.
    """
    for place, one in enumerate(advice.best, 1):
        say(console, f"  {place}. {one.title or one.item_id}")
    if showcase is not None:
        say(console, "\n" + how_chosen(showcase))
        say(console, where_it_stands(advice, showcase))
    say(console, f"Why: {advice.chosen.explanation.text}")
    parts, without = _parts(advice.chosen), _parts(advice.without)
    largest = {
        name: max(abs(parts.get(name, 0.0)), abs(without.get(name, 0.0)))
        for name in parts | without
    }
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("part of the score", "adds", "adds with propagation off"):
        table.add_column(column, justify="left" if column.startswith("part") else "right")
    for name in sorted(largest, key=lambda name: (-largest[name], name))[:PARTS_SHOWN]:
        table.add_row(
            escape(name),
            *(f"{side[name]:+.2f}" if name in side else "-" for side in (parts, without)),
        )
    console.print(table)


def how_chosen(showcase: Showcase) -> str:
    """Return how the example was chosen; the whole count comes first."""
    told = ", ".join(sorted(showcase.shown.story.told))
    same = showcase.candidates - showcase.rose - showcase.fell
    which = (
        "the one that rose most, by the factor between its two places"
        if showcase.shown.rise > 1
        else "one that did not move"
        if showcase.shown.rise == 1
        else "the one that fell least"
    )
    return (
        f"How it was chosen: there are {showcase.candidates:,} pairs of a watched user and an "
        "item of what that user heard of "
        f"({showcase.users} users). With propagation {showcase.rose:,} of them stand higher than "
        "with it switched off, "
        f"{showcase.fell:,} lower and {same:,} the same. Shown is {which} (heard of: {told})."
    )


def where_it_stands(advice: Advice, showcase: Showcase) -> str:
    """Return both places, and the part of the score that moved the item most."""
    shown = showcase.shown
    stands = (
        f"“{advice.chosen.title or advice.chosen.item_id}” is {_place(shown.place)} for "
        f"{shown.story.user}; "
        f"with propagation switched off it would be {_place(shown.place_without)}."
    )
    if shown.rise == 1:
        return stands
    direction = 1 if shown.rise > 1 else -1
    parts, without = _parts(advice.chosen), _parts(advice.without)
    moved = {name: parts.get(name, 0.0) - without.get(name, 0.0) for name in parts | without}
    name = max(moved, key=lambda name: direction * moved[name])
    if direction * moved[name] <= 0:
        return f"{stands} No part of its own score did it: other items moved past it."
    meaning = f" ({MEANINGS[name]})" if name in MEANINGS else ""
    if name in parts.keys() & without.keys():
        meaning += ", a part that stands without propagation too, there with a weight of its own"
    verb = "rose" if direction > 0 else "fell"
    return (
        f"{stands} It {verb}; most of it by {name}{meaning}: {without.get(name, 0.0):+.2f} "
        f"becomes {parts.get(name, 0.0):+.2f}."
    )


def _place(place: int) -> str:
    return f"not among the first {DEEP:,}" if place == BEYOND else f"number {place}"


def _parts(one: pb.Recommendation) -> dict[str, float]:
    return {part.feature: part.product for part in one.explanation.parts}
