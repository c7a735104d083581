"""Reception (eq. 5): write heard messages into a profile.

A message says what a community turns to. The filter memory weighs the messages, and messages with
attributes that are new to the client come first.
"""

from collections.abc import Sequence
from functools import lru_cache

from propagation.adapters.offline.sentences import CACHED, choose_variant, shorten
from propagation.model import (
    DROP_BELOW,
    MERGED_OUTCOME,
    AddLine,
    Author,
    ClientKind,
    DropLine,
    Edit,
    Line,
    Profile,
    ReplaceLine,
    RouterVersion,
    Source,
    find_names_in_text,
    group_pairs,
    join_names,
    value,
)
from propagation.ports import MergeAnswer, Party

HEARD_WEIGHT, HEARD_MAX = 0.4, 0.9
KNOWN_SHARE = 0.5
HEARD_ATTRIBUTES = 3
HEARD_SOURCES = 3
# Enough for the messages of the newest rounds. An entry holds a message's attributes, some 7 KB in
# a large catalogue.
MESSAGES_CACHED = 2_048
# Wordings of a heard line, by (the client is a user, the attributes are new to it, they are not
# part of the router's name).
WORDINGS = {
    (True, True, True): (
        "Others drawn to {name} now choose {names}",
        "Heard from lovers of {name}: look at {names}",
        "People who share the taste for {name} choose {names}",
        "Word from the {name} community: it speaks of {names}",
    ),
    (True, True, False): (
        "Word comes from people drawn to {names}",
        "Heard from lovers of {names}",
    ),
    (True, False, True): (
        "Others drawn to {name} share the taste for {names}",
        "The {name} community, too, stays with {names}",
    ),
    (True, False, False): (
        "Others, too, are drawn to {names}",
        "There is a community around {names}",
    ),
    (False, True, True): (
        "Its audience, drawn to {name}, now chooses {names}",
        "Heard from those around it ({name}): they choose {names}",
        "The {name} community, which it reaches, speaks of {names}",
    ),
    (False, True, False): (
        "Word of it is among people drawn to {names}",
        "It reaches a community around {names}",
    ),
    (False, False, True): (
        "Its audience, drawn to {name}, stays with {names}",
        "The {name} community, which it reaches, still asks for {names}",
    ),
    (False, False, False): (
        "Its audience stays with {names}",
        "Those around it still ask for {names}",
    ),
}


@value
class Heard:
    """A message that may become a line.

    Attributes:
        factor: The message's weight under the filter memory.
        names: The attributes that the line would name.
        new: Whether these attributes are new to the client.
        apart: Whether they are not part of the router's name.
    """

    message: RouterVersion
    factor: float
    names: tuple[str, ...]
    new: bool
    apart: bool

    @property
    def value(self) -> float:
        return self.factor * (1.0 if self.new else KNOWN_SHARE)


def merge_messages(party: Party, room: int) -> MergeAnswer:
    """Merge a client's messages into its profile.

    The profile keeps at most `room` heard lines. The outcome of a message is "merged", "filtered",
    "empty" (it has no attributes) or "no room".
    """
    outcomes: dict[tuple[int, int], str] = {}
    own = frozenset[str]().union(
        *[line.attributes for line in party.profile.lines if line.author is not Author.RECEPTION]
    )
    found: list[Heard] = []
    for message in party.messages:
        factor = party.filter_memory.get_factor(message.router, message.attributes)
        if factor < DROP_BELOW or not message.attributes:
            outcomes[message.router, message.version] = (
                "filtered" if message.attributes else "empty"
            )
        else:
            found.append(_choose_heard(message, factor, own))
    found.sort(key=lambda heard: -heard.value)
    # Messages with the same attributes share a line; the groups keep the order of their first
    # messages.
    groups = list(group_pairs((frozenset(heard.names), heard) for heard in found).values())
    for place, group in enumerate(groups):
        for heard in group:
            outcomes[heard.message.router, heard.message.version] = (
                MERGED_OUTCOME if place < room else "no room"
            )
    return MergeAnswer(edits=_write_edits(party, groups[:room], room), outcomes=outcomes)


def _choose_heard(message: RouterVersion, factor: float, own: frozenset[str]) -> Heard:
    """Choose the attributes that a message's line would name.

    Attributes that are new to the client go first. If none is new, the line names those that the
    client shares with the community. Attributes in the router's name come last, since the sentence
    names the router anyway.

    Args:
        factor: The message's weight under the filter memory.
        own: Attributes of the client's lines that were not heard.
    """
    apart, named = _find_attributes_in_text(message.attributes, message.name, message.text)
    for names, besides in ((apart, True), (named, False)):
        new = [name for name in names if name not in own]
        if new:
            return Heard(message, factor, tuple(new[:HEARD_ATTRIBUTES]), True, besides)
    return Heard(message, factor, (apart or named)[:HEARD_ATTRIBUTES], False, bool(apart))


@lru_cache(MESSAGES_CACHED)
def _find_attributes_in_text(
    attributes: tuple[str, ...], name: str, text: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find the attributes that the message's text names.

    A reader learns of no others. If the text names none, because a model put them into words of its
    own, all attributes count.

    Returns:
        The attributes outside the router's name, and those that are part of it.
    """
    in_text = find_names_in_text(attributes, text) or attributes
    return (
        tuple(one for one in in_text if one not in name),
        tuple(one for one in in_text if one in name),
    )


def _write_edits(party: Party, groups: Sequence[Sequence[Heard]], room: int) -> list[Edit]:
    """Write a line for each group of messages.

    A group's line replaces an earlier line with the same attributes or from the same router. If
    there would be more than `room` heard lines, the weakest of the others are dropped.
    """
    free = [line for line in party.profile.lines if line.author is Author.RECEPTION]
    edits: list[Edit] = []
    for group in groups:
        before = _find_earlier_line(free, group) if free else None
        line = _write_line(party, before, group)
        edits.append(ReplaceLine(line=line) if before else AddLine(line=line))
        if before:
            free.remove(before)
    weakest = sorted(free, key=lambda line: (line.weight, line.id))
    edits.extend(DropLine(id=line.id) for line in weakest[: max(0, len(free) + len(groups) - room)])
    return edits


def _find_earlier_line(free: Sequence[Line], group: Sequence[Heard]) -> Line | None:
    """Find the heard line that a group's line replaces.

    Returns:
        A line with the same attributes, or else one from the same router, or None.
    """
    names = set(group[0].names)
    routers = {heard.message.router for heard in group}
    for line in free:
        if set(line.attributes) == names:
            return line
    for line in free:
        for source in line.sources:
            if source.router in routers:
                return line
    return None


def _write_line(party: Party, before: Line | None, group: Sequence[Heard]) -> Line:
    """Write one line from messages that say the same.

    Args:
        before: The line that it replaces. If it has the same attributes, its weight stays, because
            choices have adjusted that weight.
    """
    first = group[0]
    weight = min(HEARD_WEIGHT * first.value, HEARD_MAX)
    if before is not None and frozenset(before.attributes) == frozenset(first.names):
        weight = before.weight
    message, to_user = first.message, party.client.key.kind == ClientKind.USER
    return Line(
        id=before.id if before else 0,
        text=_write_sentence(
            to_user, first.new, first.apart, first.names, message.router, message.name
        ),
        attributes=first.names,
        weight=weight,
        author=Author.RECEPTION,
        sources=tuple(
            Source(router=heard.message.router, version=heard.message.version)
            for heard in group[:HEARD_SOURCES]
        ),
    )


@lru_cache(CACHED)
def _write_sentence(
    to_user: bool, new: bool, apart: bool, names: tuple[str, ...], router: int, name: str
) -> str:
    """Write the sentence for all clients with this news from the router."""
    wordings = WORDINGS[to_user, new, apart]
    wording = wordings[(choose_variant(names, len(wordings)) + router) % len(wordings)]
    return shorten(wording.format(name=name, names=join_names(names))) + "."


def list_heard_lines(profile: Profile) -> dict[tuple[int, int], Line]:
    """Return a profile's heard lines by message (router, version)."""
    return {
        source.message: line
        for line in reversed(profile.lines)
        if line.author is Author.RECEPTION
        for source in line.sources
        if source.message is not None
    }
