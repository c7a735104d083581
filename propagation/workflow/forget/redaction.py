"""Texts without what was taken back: a line loses it as a source, and goes below `min_support`; a
filter rule loses its evidence, and goes with the last of it; a message loses what only that client
brought. Decisions only: nothing is read or written here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from propagation.model.clients.client import ClientKind, kind_of
from propagation.model.clients.client_text import ClientText
from propagation.model.clients.filter_memory import FilterMemory, FilterRule
from propagation.model.clients.profile import Author, Line, Source
from propagation.model.interactions.withdrawal import AffectedMessage
from propagation.model.routers.router import RouterVersion
from propagation.workflow.forget.name_matching import OwnWords, listed, sentences

Key = tuple[int, int]
EVERYTHING: frozenset[str] | None = None
MOST_NAMED = 4


@dataclass(frozen=True)
class Gone:
    """What texts may no longer rest on. `messages`: by (router, version) the attributes that left
    it, None: all of it. `least`: how many distinct clients a line that lost a source still needs
    behind it."""

    sequences: frozenset[int]
    least: int
    words: OwnWords = field(default_factory=OwnWords)
    messages: Mapping[Key, frozenset[str] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Behind:
    """Who stands behind a source: user and item of interactions, senders of messages (as many as
    matter)."""

    interactions: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    messages: Mapping[Key, frozenset[int]] = field(default_factory=dict)

    def clients(self, owner: int, sources: Sequence[Source]) -> set[int]:
        """Distinct clients behind these sources. A user's own choices are its own to speak of; an
        item's takers speak for it."""
        found: set[int] = set()
        for source in sources:
            if source.sequence is not None:
                found.update(self.interactions.get(source.sequence, ()))
            elif source.router is not None and source.version is not None:
                found.update(self.messages.get((source.router, source.version), ()))
        return found if kind_of(owner) == ClientKind.USER else found - {owner}


class Without:
    """Texts without what is gone. Versions of a client share the lines and rules that stayed: each
    is looked at once."""

    def __init__(self, gone: Gone, behind: Behind) -> None:
        self._gone = gone
        self._behind = behind
        self._lines: dict[tuple[int, int], tuple[Line, Line | None]] = {}
        self._rules: dict[int, tuple[FilterRule, FilterRule | None]] = {}

    def of(self, text: ClientText) -> ClientText:
        """Lines that cite nothing of it and rules that rest on none of it are the same objects; the
        whole text too where all are."""
        owner = text.profile.ref
        lines = [self._line(line, owner) for line in text.profile.lines]
        rules = [self._rule(rule) for rule in text.filter_memory.rules]
        if all(
            new is old
            for new, old in zip(
                [*lines, *rules], [*text.profile.lines, *text.filter_memory.rules], strict=True
            )
        ):
            return text
        return replace(
            text,
            profile=replace(text.profile, lines=tuple(line for line in lines if line is not None)),
            filter_memory=FilterMemory(rules=tuple(rule for rule in rules if rule is not None)),
        )

    def _line(self, line: Line, owner: int) -> Line | None:
        known = self._lines.get(
            (owner, id(line))
        )  # which is held here, so that no other object has its id
        if known is None:
            known = self._lines[owner, id(line)] = (
                line,
                line_without(line, owner, self._gone, self._behind),
            )
        return known[1]

    def _rule(self, rule: FilterRule) -> FilterRule | None:
        known = self._rules.get(id(rule))
        if known is None:
            known = self._rules[id(rule)] = (rule, _rule_without(rule, self._gone))
        return known[1]


def line_without(line: Line, owner: int, gone: Gone, behind: Behind) -> Line | None:
    """None: the line goes."""
    if line.author is Author.CATALOGUE:
        return line
    left = tuple(source for source in line.sources if not _is_gone(source, line, gone))
    cites = len(left) < len(line.sources)
    said = gone.words.said_in(line.text, cites=cites) or any(
        name in gone.words.names for name in line.attributes
    )
    if not cites and not said:
        return line
    if cites and len(behind.clients(owner, left)) < gone.least:
        return None
    words = gone.words.left_out_of(line.text, cites=cites) if said else line.text
    if words is None or any(name in gone.words.names for name in line.attributes):
        return None
    return Line(
        id=line.id,
        text=words,
        attributes=line.attributes,
        weight=line.weight,
        sources=left,
        author=line.author,
    )


def _is_gone(source: Source, line: Line, gone: Gone) -> bool:
    if source.sequence is not None:
        return source.sequence in gone.sequences
    key = (source.router or 0, source.version or 0)
    if key not in gone.messages:
        return False
    lost = gone.messages[key]
    return lost is None or not lost.isdisjoint(line.attributes)


def _rule_without(rule: FilterRule, gone: Gone) -> FilterRule | None:
    if (rule.attribute is not None and rule.attribute in gone.words.names) or gone.words.said_in(
        rule.text
    ):
        return None
    evidence = tuple(sequence for sequence in rule.evidence if sequence not in gone.sequences)
    if len(evidence) == len(rule.evidence):
        return rule
    return replace(rule, evidence=evidence) if evidence else None


def message_without(
    sent: AffectedMessage, words: OwnWords, supported: frozenset[str]
) -> RouterVersion:
    """The message as it is from now on; the same object where nothing of it changes. An attribute
    that lost a part stays where somebody else brought it and it is still `supported`; its text
    keeps to those, and only a message of which nothing is left says nothing."""
    message = sent.message
    lost = {name for name, left in sent.remaining.items() if not left or name not in supported}
    kept = tuple(
        name for name in message.attributes if name not in lost and name not in words.names
    )
    standing = tuple((name, weight) for name, weight in message.standing if name not in words.names)
    named = OwnWords(
        words.title, words.names | frozenset(name for name in lost if name not in kept)
    )
    text, name = message.text, message.name
    cites = bool(sent.lost_parts)
    if named.said_in(text, cites=cites):
        text = _still_said(text, kept, named, cites=cites)
    if not kept:
        text = ""
    if named.said_in(name):
        name = " and ".join(kept[:2])
    if (kept, standing, text, name) == (
        message.attributes,
        message.standing,
        message.text,
        message.name,
    ):
        return message
    return replace(message, attributes=kept, standing=standing, text=text, name=name)


def _still_said(text: str, kept: Sequence[str], named: OwnWords, *, cites: bool) -> str:
    """The sentences that say nothing of what is gone; the first of them, on which the others rest,
    in plain words where it did."""
    speakable = [name for name in kept if not named.said_in(name, cites=cites)][:MOST_NAMED]
    if not speakable:
        return ""
    plain = f"A community drawn to {listed(speakable)}."
    left = [named.left_out_of(sentence, cites=cites) for sentence in sentences(text)]
    whole = " ".join(filter(None, [left[0] or plain, *left[1:]]))
    return next((said for said in (whole, plain) if not named.said_in(said, cites=cites)), "")


def lost_of(before: RouterVersion, after: RouterVersion) -> frozenset[str] | None:
    """What a message no longer says: attributes, None for everything."""
    return frozenset(before.attributes) - frozenset(after.attributes) if after.attributes else None
