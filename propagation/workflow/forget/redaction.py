"""Redaction: texts and messages without what a withdrawal takes away.

A line loses withdrawn sources, and goes if fewer than `min_support` clients remain behind it. A
filter rule loses withdrawn evidence, and goes with the last of it. A message loses attributes that
only the withdrawn parts brought. These are decisions only: nothing is loaded or stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial

from propagation.graph_rules.name_matching import OwnWords, split_sentences
from propagation.model import (
    WEIGHT_KEPT,
    AffectedMessage,
    Author,
    ClientKind,
    ClientText,
    FilterMemory,
    FilterRule,
    Line,
    RouterVersion,
    Source,
    join_names,
    kind_of,
)
from propagation.routing import is_catalogue

Key = tuple[int, int]
LostAttributes = Mapping[Key, frozenset[str] | None]
MOST_NAMED = 4


@dataclass(frozen=True)
class Removal:
    """What texts may no longer rest on or say.

    Attributes:
        sequences: Withdrawn interactions.
        least: How many distinct clients a line needs behind it after it lost a source.
        words: Words of an erased client.
        unsupported: Attributes that too few users hold to be passed on.
        messages: By (router, version), the attributes that a message lost; None: all of them.
        titles: Of items (refs) that too few users chose by now; changed messages may not quote
            them.
    """

    sequences: frozenset[int]
    least: int
    words: OwnWords = field(default_factory=OwnWords)
    unsupported: OwnWords = field(default_factory=OwnWords)
    messages: LostAttributes = field(default_factory=dict)
    titles: Mapping[int, OwnWords] = field(default_factory=dict)

    @cached_property
    def quotes(self) -> frozenset[str]:
        """Words to search for: a text that quotes one of the titles holds one of them."""
        return frozenset().union(*(one.search_words for one in self.titles.values()))

    @cached_property
    def message_words(self) -> OwnWords:
        """What messages, and lines that came from them, may not say."""
        return OwnWords(self.words.title, self.words.names | self.unsupported.names)


@dataclass(frozen=True)
class Supporters:
    """Clients behind sources.

    Attributes:
        interactions: (user, item) of interactions, by sequence.
        messages: Senders of messages, by (router, version); two more than a line needs behind it
            are enough.
    """

    interactions: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    messages: Mapping[Key, frozenset[int]] = field(default_factory=dict)

    def clients(self, owner: int, sources: Sequence[Source]) -> set[int]:
        """Return the distinct clients behind sources of one of the owner's lines.

        A user supports its own lines; an item does not, the users who chose it do.
        """
        found: set[int] = set()
        own_choices = kind_of(owner) == ClientKind.USER
        for source in sources:
            if source.sequence is not None:
                user_and_item = self.interactions.get(source.sequence, ())
                found.update(user_and_item if own_choices else user_and_item[:1])
            elif source.router is not None and source.version is not None:
                found.update(self.messages.get((source.router, source.version), ()))
        return found if own_choices else found - {owner}


class Redaction:
    """Redacts versions of texts.

    Lines and rules that versions share are redacted once.
    """

    def __init__(self, removal: Removal, supporters: Supporters) -> None:
        self._line = cache(partial(redact_line, removal=removal, supporters=supporters))
        self._rule = cache(partial(_redact_rule, removal=removal))

    def redact(self, text: ClientText) -> ClientText:
        """Redact a text; return the same object if nothing changes.

        Unchanged lines and rules stay as they are too.
        """
        profile, memory = text.profile, text.filter_memory
        redacted_lines = [self._line(line, profile.ref) for line in profile.lines]
        lines = tuple(line for line in redacted_lines if line is not None)
        redacted_rules = [self._rule(rule) for rule in memory.rules]
        rules = tuple(rule for rule in redacted_rules if rule is not None)
        if (lines, rules) == (profile.lines, memory.rules):
            return text
        return replace(
            text, profile=replace(profile, lines=lines), filter_memory=FilterMemory(rules=rules)
        )


def redact_line(line: Line, owner: int, removal: Removal, supporters: Supporters) -> Line | None:
    """Redact a line of the owner's profile.

    Returns:
        The line, the same object if nothing changes; None if it goes. Catalogue lines stay.
    """
    if line.author is Author.CATALOGUE:
        return line
    remaining = tuple(source for source in line.sources if not _is_removed(source, line, removal))
    cites = len(remaining) < len(line.sources)
    words = removal.message_words if line.author is Author.RECEPTION else removal.words
    has_own_name = any(name in words.names for name in line.attributes)
    heard = any((source.router, source.version) in removal.messages for source in line.sources)
    titles = removal.titles.values() if heard and line.author is Author.RECEPTION else ()
    named = [one for one in (words, *titles) if one.is_in(line.text, cites=cites)]
    if not (cites or named or has_own_name):
        return line
    if cites and len(supporters.clients(owner, remaining)) < removal.least:
        return None
    text: str | None = line.text
    for one in named:
        text = text and one.leave_out(text, cites=cites)
    if not text or has_own_name:
        return None
    weight = line.weight
    if cites:
        weight *= _confirmed(len(remaining)) / _confirmed(len(line.sources))
    return replace(line, text=text, sources=remaining, weight=weight)


def _confirmed(times: int) -> float:
    """Return the weight of a line that was confirmed so many times in a row."""
    return (1 - WEIGHT_KEPT**times) / (1 - WEIGHT_KEPT)


def _is_removed(source: Source, line: Line, removal: Removal) -> bool:
    if source.sequence is not None:
        return source.sequence in removal.sequences
    key = (source.router or 0, source.version or 0)
    if key not in removal.messages:
        return False
    lost = removal.messages[key]
    return lost is None or not lost.isdisjoint(line.attributes)


def _redact_rule(rule: FilterRule, removal: Removal) -> FilterRule | None:
    if rule.attribute in removal.words.names or removal.words.is_in(rule.text):
        return None
    if rule.router is not None and removal.unsupported.is_in(rule.text):
        rule = replace(rule, text=f"On what the community of router {rule.router} passes on.")
    evidence = tuple(sequence for sequence in rule.evidence if sequence not in removal.sequences)
    if len(evidence) == len(rule.evidence):
        return rule
    return replace(rule, evidence=evidence) if evidence else None


def redact_message(
    affected: AffectedMessage, words: OwnWords, supported: frozenset[str], least: int
) -> RouterVersion:
    """Redact a message.

    An attribute that lost a part stays if `least` items' own texts brought it too, or if another
    client did and it is `supported`.
    The text keeps the sentences about attributes that stay; only a message without any attribute
    becomes empty.

    Args:
        supported: Attributes that enough users hold.
        least: How many users are enough.

    Returns:
        The message, the same object if nothing changes.
    """
    message = affected.message
    lost = {
        name
        for name, senders in affected.remaining.items()
        if not (senders and name in supported)
        and sum(is_catalogue(*sender) for sender in senders) < least
    }
    kept = tuple(
        name for name in message.attributes if name not in lost and name not in words.names
    )
    standing = tuple((name, weight) for name, weight in message.standing if name not in words.names)
    named = OwnWords(words.title, words.names | (lost - set(kept)))
    text, name = message.text, message.name
    cites = bool(affected.lost_parts)
    if named.is_in(text, cites=cites):
        text = _remaining_sentences(text, kept, named, cites=cites)
    if not kept:
        text = ""
    if named.is_in(name):
        name = " and ".join(kept[:2])
    if (kept, standing, text, name) == (
        message.attributes,
        message.standing,
        message.text,
        message.name,
    ):
        return message
    return replace(message, attributes=kept, standing=standing, text=text, name=name)


def _remaining_sentences(text: str, kept: Sequence[str], named: OwnWords, *, cites: bool) -> str:
    """Return the sentences without the words that go.

    The first sentence carries the others: if it goes, a plain sentence takes its place.
    """
    speakable = [name for name in kept if not named.is_in(name, cites=cites)][:MOST_NAMED]
    if not speakable:
        return ""
    plain = f"A community drawn to {join_names(speakable)}."
    remaining = [named.leave_out(sentence, cites=cites) for sentence in split_sentences(text)]
    whole = " ".join(filter(None, [remaining[0] or plain, *remaining[1:]]))
    return next((text for text in (whole, plain) if not named.is_in(text, cites=cites)), "")


def lost_attributes(before: RouterVersion, after: RouterVersion) -> frozenset[str] | None:
    """Return the attributes that a message lost; None: all of them."""
    return frozenset(before.attributes) - frozenset(after.attributes) if after.attributes else None
