"""Lines on a user's choices and an item's choosers (eq. 9)."""

from bisect import bisect_right
from collections.abc import Sequence

from propagation.adapters.offline.sentences import (
    choose_variant,
    clean_title,
    fit_titles,
    list_names,
    quote,
    write_names_in_sentence,
)
from propagation.model import (
    LINE_MAX_WORDS,
    TITLE,
    WEIGHT_KEPT,
    AddLine,
    Author,
    Client,
    DropLine,
    Edit,
    Line,
    Profile,
    ReasonWork,
    ReplaceLine,
    Source,
    join_names,
)
from propagation.ports import Party

TITLES = 3
SOURCES = 8
LEAST_OVERLAP = 0.5
LEADING = 2
LEVELS = (1.5, 3.0, 6.0)
CHOICES = (
    (
        ("Has had a first taste of {}", ": {}"),
        ("Once tried {}", ", with {}"),
        ("Made a single choice of {}", ": {}"),
    ),
    (
        ("Enjoys {}", ", such as {}"),
        ("Has a liking for {}", ": {}"),
        ("Comes back now and then to {}", ", as with {}"),
    ),
    (
        ("Often chooses {}", ", lately {}"),
        ("Has a steady taste for {}", ", as in {}"),
        ("Regularly picks {}", ": recently {}"),
    ),
    (
        ("Keeps returning to {}", ": lately {}"),
        ("Loves {}", "; the latest choices are {}"),
        ("Is drawn above all to {}", ", most recently {}"),
    ),
)
AUDIENCES = (
    ("Chosen once by someone drawn to {}", "Has found a first taker fond of {}"),
    ("People fond of {} have chosen it", "Has some takers among lovers of {}"),
    ("Often chosen by people drawn to {}", "Well liked by those who enjoy {}"),
    ("A favourite of people drawn to {}", "Lovers of {} choose it again and again"),
)


def reinforce_choices(work: ReasonWork, party: Party, other: Party, room: int) -> list[Edit]:
    """Strengthen the user's line about items like the chosen one.

    The line names only what all choices that it rests on have in common, so every title that it
    cites supports it. If the item has no attributes of its own, the line names none: the tastes of
    the item's other users rest on their events, which the line does not cite.

    Args:
        room: How many lines from interactions the profile may have; a new line replaces the
            lightest.
    """
    names = list_names(other.client)
    line = _strengthen_closest(party.profile, names, work.sequence)
    title = clean_title(other.client.title)
    old = [seen for seen in TITLE.findall(line.text) if seen != title]
    titles = ([title, *old] if title else old)[:TITLES]
    text = _write_choice(other.client, line.attributes, titles, line.weight)
    return _with_line(party.profile, line.with_changes(text=text), room)


def reinforce_audience(work: ReasonWork, party: Party, other: Party, room: int) -> list[Edit]:
    """Strengthen the item's line about the people who choose it.

    The line names tastes that the user's choices showed, never what the user's own text says.

    Args:
        room: As in `reinforce_choices`.

    Returns:
        No edits if the user's choices showed no taste yet.
    """
    names = list_leading_attributes(other.profile, except_for=frozenset(list_names(party.client)))
    if not names:
        return []
    line = _strengthen_closest(party.profile, names, work.sequence)
    wordings, shared = AUDIENCES[_get_level(line.weight)], line.attributes
    text = wordings[choose_variant(shared, len(wordings))].format(join_names(shared)) + "."
    return _with_line(party.profile, line.with_changes(text=text), room)


def list_leading_attributes(
    profile: Profile, except_for: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Return the first two attributes of the heaviest line from interactions.

    Lines with an attribute outside `except_for` are preferred. Without any line there are none.
    """
    own = [line for line in profile.lines if line.author is Author.INTERACTION and line.attributes]
    own = [line for line in own if not except_for.issuperset(line.attributes)] or own
    return max(own, key=lambda line: (line.weight, line.id)).attributes[:LEADING] if own else ()


def _write_choice(item: Client, names: Sequence[str], titles: Sequence[str], weight: float) -> str:
    level = _get_level(weight)
    head, tail = (
        CHOICES[level][choose_variant(names, len(CHOICES[level]))]
        if names
        else ("Has chosen things of which nothing is written yet", ", among them {}")
    )
    return (
        fit_titles(
            head.format(write_names_in_sentence(item, names)),
            [quote(title) for title in titles],
            tail,
            LINE_MAX_WORDS,
        )
        + "."
    )


def _get_level(weight: float) -> int:
    return bisect_right(LEVELS, weight)


def _strengthen_closest(profile: Profile, names: Sequence[str], sequence: int) -> Line:
    """Strengthen the closest line from interactions, or begin one.

    The closest line keeps its text, and those of its attributes that are among `names`. A new line
    has all the names, and no text yet. The weight grows by one choice.
    """
    line = _find_closest(profile, names) or Line(id=0, text="", attributes=tuple(names), weight=0.0)
    return Line(
        id=line.id,
        text=line.text,
        attributes=tuple(name for name in line.attributes if name in names),
        weight=line.weight * WEIGHT_KEPT + 1,
        author=Author.INTERACTION,
        sources=(*line.sources, Source(sequence=sequence))[-SOURCES:],
    )


def _find_closest(profile: Profile, names: Sequence[str]) -> Line | None:
    """Find the line from interactions whose attributes overlap most with `names`.

    Returns:
        The first of equally close lines, or None if no overlap reaches a half.
    """
    named, closest, most = frozenset(names), None, 0.0
    for line in profile.lines:
        if line.author is Author.INTERACTION:
            overlap = _measure_overlap(frozenset(line.attributes), named)
            if overlap >= LEAST_OVERLAP and overlap > most:
                closest, most = line, overlap
    return closest


def _measure_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Compute the Jaccard overlap of two sets of attributes.

    The overlap is 1 if both are empty.
    """
    shared, together = len(one & other), len(one) + len(other)
    return shared / (together - shared) if together else 1.0


def _with_line(profile: Profile, line: Line, room: int) -> list[Edit]:
    if line.id:
        return [ReplaceLine(line=line)]
    own = sorted(
        (old for old in profile.lines if old.author is Author.INTERACTION),
        key=lambda old: (old.weight, old.id),
    )
    return [
        *(DropLine(id=old.id) for old in own[: max(0, len(own) + 1 - room)]),
        AddLine(line=line),
    ]
