"""Prompt_merge (eq. 5), offline: what communities turn to, under the filter memory, new things first."""

from collections.abc import Sequence
from functools import lru_cache

from propagation.adapters.offline.wording import CACHED, listed, quoted, titles_in, variant, within
from propagation.model.client import ClientKind
from propagation.model.filter_memory import DROP_BELOW
from propagation.model.profile import LINE_MAX_WORDS, AddLine, Author, DropLine, Edit, Line, Profile, ReplaceLine, Source
from propagation.model.router import RouterVersion
from propagation.model.value import value
from propagation.ports.reasoner import MergeAnswer, Party

HEARD_WEIGHT, HEARD_MAX = 0.4, 0.9
KNOWN_SHARE = 0.5
HEARD_ATTRIBUTES = 3
HEARD_SOURCES = 3
TO_USER_NEW = ("Others drawn to {name} are turning to {names}", "Heard from lovers of {name}: look at {names}",
               "People who share the taste for {name} now choose {names}",
               "Word from the {name} community: it is discovering {names}")
TO_USER_KNOWN = ("Others drawn to {name} share the taste for {names}", "The {name} community, too, stays with {names}")
TO_ITEM_NEW = ("Its audience, drawn to {name}, is turning to {names}",
               "Heard from those around it ({name}): they now choose {names}",
               "The {name} community, which it reaches, is discovering {names}")
TO_ITEM_KNOWN = ("Its audience, drawn to {name}, stays with {names}",
                 "The {name} community, which it reaches, still asks for {names}")


@value
class Heard:
    """A message that may become a line: its factor under the filter memory, and what it would say."""

    message: RouterVersion
    factor: float
    names: tuple[str, ...]
    new: bool

    @property
    def value(self) -> float:
        return self.factor * (1.0 if self.new else KNOWN_SHARE)


def merged_messages(party: Party, room: int) -> MergeAnswer:
    """Edits and outcomes ("merged", "filtered", "empty" or "no room"); at most `room` lines of a profile are heard ones."""
    outcomes: dict[tuple[int, int], str] = {}
    own = frozenset(name for line in party.profile.lines if line.author is not Author.RECEPTION for name in line.attributes)
    found: list[Heard] = []
    for message in party.messages:
        factor = party.filter_memory.factor_for(message.router, message.attributes)
        if factor < DROP_BELOW or not message.attributes:
            outcomes[message.router, message.version] = "filtered" if message.attributes else "empty"
            continue
        found.append(_heard(message, factor, own))
    groups = _grouped(sorted(found, key=lambda heard: -heard.value))
    for place, group in enumerate(groups):
        for heard in group:
            outcomes[heard.message.router, heard.message.version] = "merged" if place < room else "no room"
    return MergeAnswer(edits=_edits(party, groups[:room], room), outcomes=outcomes)


def _heard(message: RouterVersion, factor: float, own: frozenset[str]) -> Heard:
    """What is new to the client; where nothing is, what it shares with the community. What is in the community's name
    comes last: the sentence says it anyway."""
    new: list[str] = []
    named: list[str] = []
    for name in message.attributes:
        if name not in own:
            (named if name in message.name else new).append(name)
            if len(new) == HEARD_ATTRIBUTES:
                break
    said = [*new, *named] or sorted(message.attributes, key=lambda name: name in message.name)
    return Heard(message, factor, tuple(said[:HEARD_ATTRIBUTES]), bool(new or named))


def _grouped(found: Sequence[Heard]) -> list[list[Heard]]:
    """Messages that say the same, together, in the order of the first."""
    groups: dict[frozenset[str], list[Heard]] = {}
    for heard in found:
        groups.setdefault(frozenset(heard.names), []).append(heard)
    return list(groups.values())


def _edits(party: Party, groups: Sequence[Sequence[Heard]], room: int) -> list[Edit]:
    """A line a group, in place of what the same router or the same news said before; the weakest leave when it gets tight."""
    free = [line for line in party.profile.lines if line.author is Author.RECEPTION]
    edits: list[Edit] = []
    for group in groups:
        before = _said_before(free, group)
        line = _line(party, before, group)
        edits.append(ReplaceLine(line=line) if before else AddLine(line=line))
        if before:
            free.remove(before)
    weakest = sorted(free, key=lambda line: (line.weight, line.id))
    edits.extend(DropLine(id=line.id) for line in weakest[: max(0, len(free) + len(groups) - room)])
    return edits


def _said_before(free: Sequence[Line], group: Sequence[Heard]) -> Line | None:
    """The line with the same news, else one of the same router."""
    names = set(group[0].names)
    for line in free:
        if names == set(line.attributes):
            return line
    routers = {heard.message.router for heard in group}
    for line in free:
        for source in line.sources:
            if source.router in routers:
                return line
    return None


def _line(party: Party, before: Line | None, group: Sequence[Heard]) -> Line:
    """News that is repeated keeps the weight that experience left it."""
    first = group[0]
    weight = min(HEARD_WEIGHT * first.value, HEARD_MAX)
    if before is not None and frozenset(before.attributes) == frozenset(first.names):
        weight = before.weight
    message, to_user = first.message, party.client.key.kind == ClientKind.USER
    sources = tuple(Source(router=heard.message.router, version=heard.message.version) for heard in group[:HEARD_SOURCES])
    text = _sentence(to_user, first.new, first.names, message.router, message.name, message.text)
    return Line(id=before.id if before else 0, text=text, attributes=first.names, weight=weight, author=Author.RECEPTION,
                sources=sources)


@lru_cache(CACHED)
def _sentence(to_user: bool, new: bool, names: tuple[str, ...], router: int, name: str, text: str) -> str:
    """What is said of `names`, of a message of this router, its name and its text: the same to all who hear the same."""
    wordings = (TO_USER_NEW if new else TO_USER_KNOWN) if to_user else (TO_ITEM_NEW if new else TO_ITEM_KNOWN)
    wording = wordings[(variant(names, len(wordings)) + router) % len(wordings)]
    head = wording.format(name=name, names=listed(names))
    titles = [quoted(title) for title in titles_in(text)[:1]]
    return within(head, titles, ", seen around {}", LINE_MAX_WORDS) + "."


def heard_lines(profile: Profile) -> dict[tuple[int, int], Line]:
    """The line in which a profile speaks of a message (router, version), for each that it speaks of."""
    return {(source.router, source.version): line for line in reversed(profile.lines) if line.author is Author.RECEPTION
            for source in line.sources if source.router is not None and source.version is not None}
