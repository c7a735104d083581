"""Redaction: texts and messages without what a withdrawal takes away.

A line loses withdrawn sources, and is dropped if fewer than `min_support` clients remain behind it.
A filter rule loses withdrawn evidence. It is dropped with the last of its evidence, or if the
client knew its attribute only from messages that lost the attribute. A message loses attributes
that only withdrawn parts brought. This module only decides; it loads and stores nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby

from propagation.graph_rules import OwnWords, split_sentences
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
    get_kind,
    group_pairs,
    join_names,
)
from propagation.routing import RouterNames, is_catalogue

Key = tuple[int, int]
MOST_NAMED = 4
build_own_words = lru_cache(256)(OwnWords)


@dataclass(frozen=True)
class LostNames:
    """Names that a changed message lost.

    Attributes:
        names: Attributes that it brought or stood for.
        emptied: It brings no attribute any more.
    """

    names: frozenset[str] = frozenset()
    emptied: bool = False


@dataclass(frozen=True)
class Removal:
    """Sources and words that texts may no longer rest on or say.

    Attributes:
        sequences: Withdrawn interactions.
        least: How many distinct clients a line needs behind it after it lost a source.
        words: Words of an erased client, and attributes that no client holds any more.
        unsupported: Attributes that too few users hold; only the catalogue may still bring them.
        messages: What each changed message lost, by (router, version).
        heard: By client (ref), the attributes that were lost by messages which the client merged.
        titles: By item (ref), present and earlier titles of items that too few users chose by now;
            changed messages may not quote them.
        retracted: The items of retracted interactions, by sequence.
        choices: The titles of these items, by item. A user's line that no longer rests on such an
            item may not quote it.
    """

    sequences: frozenset[int]
    least: int
    words: OwnWords = field(default_factory=OwnWords)
    unsupported: frozenset[str] = frozenset()
    messages: Mapping[Key, LostNames] = field(default_factory=dict)
    heard: Mapping[int, frozenset[str]] = field(default_factory=dict)
    titles: Mapping[int, OwnWords] = field(default_factory=dict)
    retracted: Mapping[int, int] = field(default_factory=dict)
    choices: Mapping[int, OwnWords] = field(default_factory=dict)

    @cached_property
    def quotes(self) -> frozenset[str]:
        """Words of which every text that quotes one of `titles` holds one."""
        return frozenset().union(*(one.search_words for one in self.titles.values()))

    @cached_property
    def unsaid(self) -> frozenset[str]:
        """Words that lines from messages may say only if the catalogue does."""
        return self.unsupported | self.quotes | self.words.search_words

    @cached_property
    def _found(self) -> dict[tuple[int, str, bool], tuple[OwnWords, bool]]:
        """What `finds` returned.

        Each value also holds the words whose id its key has, as in Redaction.
        """
        return {}

    def finds(self, words: OwnWords, text: str, *, cites: bool) -> bool:
        """Tell whether a text holds one of the words (see OwnWords.is_in).

        Each text is searched once, because all readers of a message have lines alike.
        """
        key = id(words), text, cites
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = words, words.is_in(text, cites=cites)
        return known[1]

    def list_titles_in(self, text: str) -> Sequence[OwnWords]:
        """Return the titles that a text possibly quotes.

        Returns:
            All of `titles`, or none if the text holds none of `quotes`.
        """
        folded = text.casefold()
        return tuple(self.titles.values()) if any(word in folded for word in self.quotes) else ()

    def list_words_from(self, messages: Iterable[Key]) -> OwnWords:
        """Return the words that a text from these messages may not hold."""
        lost = [self.messages[key].names for key in messages if key in self.messages]
        if not any(lost):
            return self.words
        return build_own_words(self.words.titles, self.words.names.union(*lost))

    @cached_property
    def words_from_routers(self) -> Mapping[int, OwnWords]:
        """Words that rules on a router may not hold, by router."""
        keys = group_pairs((key[0], key) for key in self.messages)
        return {router: self.list_words_from(found) for router, found in keys.items()}


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

    def find_clients(self, owner: int, sources: Sequence[Source]) -> set[int]:
        """Return the distinct clients behind sources of one of the owner's lines.

        Behind an interaction stand the user and the item for a user's line, only the user for an
        item's line. Behind a message stand its senders. An item never supports its own lines.
        """
        found: set[int] = set()
        own_choices = get_kind(owner) == ClientKind.USER
        for source in sources:
            if source.sequence is not None:
                user_and_item = self.interactions.get(source.sequence, ())
                found.update(user_and_item if own_choices else user_and_item[:1])
            elif source.message is not None:
                found.update(self.messages.get(source.message, ()))
        return found if own_choices else found - {owner}


class Redaction:
    """Redacts versions of texts.

    Lines and rules that versions share are redacted once. They are told apart by identity, because
    to hash them takes longer than to redact most of them.
    """

    def __init__(self, removal: Removal, supporters: Supporters) -> None:
        self._removal = removal
        self._supporters = supporters
        # Each value also holds what its key names, so that no other object gets the same id.
        self._lines: dict[tuple[int, int], tuple[Line, Line | None]] = {}
        self._rules: dict[tuple[int, int], tuple[FilterRule, OwnWords, FilterRule | None]] = {}

    def redact(self, text: ClientText) -> ClientText:
        """Redact a text; return the same object if nothing changes.

        Unchanged lines and rules remain the same objects, too.
        """
        profile, memory = text.profile, text.filter_memory
        redacted_lines = [self._redact_line(line, profile.ref) for line in profile.lines]
        lines = tuple([line for line in redacted_lines if line is not None])
        heard = self._removal.heard.get(profile.ref, frozenset())
        unsaid = heard.difference(*(line.attributes for line in lines)) if heard else heard
        news = build_own_words(frozenset(), unsaid)
        redacted_rules = [self._redact_rule(rule, news) for rule in memory.rules]
        rules = tuple([rule for rule in redacted_rules if rule is not None])
        if (lines, rules) == (profile.lines, memory.rules):
            return text
        return replace(
            text, profile=replace(profile, lines=lines), filter_memory=FilterMemory(rules=rules)
        )

    def _redact_line(self, line: Line, owner: int) -> Line | None:
        key = id(line), owner
        known = self._lines.get(key)
        if known is None:
            known = line, redact_line(line, owner, self._removal, self._supporters)
            self._lines[key] = known
        return known[1]

    def _redact_rule(self, rule: FilterRule, news: OwnWords) -> FilterRule | None:
        key = id(rule), id(news)
        known = self._rules.get(key)
        if known is None:
            known = rule, news, _redact_rule(rule, news, self._removal)
            self._rules[key] = known
        return known[2]


def redact_line(line: Line, owner: int, removal: Removal, supporters: Supporters) -> Line | None:
    """Redact a line of the owner's profile.

    Returns:
        The line, the same object if nothing changes; None if it is dropped. Catalogue lines never
        change.
    """
    if line.author is Author.CATALOGUE:
        return line
    remaining = tuple(
        [
            source
            for source in line.sources
            if source.sequence not in removal.sequences
            and (source.router is None or not _loses_message(source, line, removal))
        ]
    )
    cites = len(remaining) < len(line.sources)
    heard = line.messages if line.author is Author.RECEPTION else []
    words = removal.list_words_from(heard)
    has_own_name = any(name in words.names for name in line.attributes)
    titles = removal.list_titles_in(line.text) if removal.messages.keys() & heard else ()
    named = [one for one in (words, *titles) if removal.finds(one, line.text, cites=cites)]
    if not (cites or named or has_own_name):
        return line
    if cites and len(supporters.find_clients(owner, remaining)) < removal.least:
        return None
    text: str | None = line.text
    for one in named:
        text = text and one.leave_out(text, cites=cites)
    for one in _find_retracted_choices(line, remaining, removal, supporters):
        text = text and one.leave_out(text)
    if not text or has_own_name:
        return None
    weight = line.weight
    if cites:
        weight *= _weigh_confirmations(len(remaining)) / _weigh_confirmations(len(line.sources))
    return replace(line, text=text, sources=remaining, weight=weight)


def _find_retracted_choices(
    line: Line, remaining: Sequence[Source], removal: Removal, supporters: Supporters
) -> list[OwnWords]:
    """Return titles of items that a user's line no longer rests on."""
    chosen = (supporters.interactions.get(source.sequence or 0) for source in remaining)
    kept = {user_and_item[1] for user_and_item in chosen if user_and_item is not None}
    lost = {removal.retracted.get(source.sequence or 0) for source in line.sources} - kept
    return [titles for item, titles in removal.choices.items() if item in lost]


def _weigh_confirmations(times: int) -> float:
    """Return the weight of a line confirmed `times` times in a row."""
    return (1 - WEIGHT_KEPT**times) / (1 - WEIGHT_KEPT)


def _loses_message(source: Source, line: Line, removal: Removal) -> bool:
    lost = None if source.message is None else removal.messages.get(source.message)
    return lost is not None and (lost.emptied or not lost.names.isdisjoint(line.attributes))


def _redact_rule(rule: FilterRule, news: OwnWords, removal: Removal) -> FilterRule | None:
    """Redact a filter rule.

    Args:
        news: Attributes that messages lost after the client merged them, and that none of the
            client's lines has.

    Returns:
        The rule, the same object if nothing changes; None if it is dropped.
    """
    if rule.attribute in removal.words.names or removal.words.is_in(rule.text):
        return None
    if rule.attribute is not None and any(map(news.is_in, (rule.attribute, rule.text))):
        return None
    if rule.router is not None and removal.words_from_routers.get(rule.router, news).is_in(
        rule.text
    ):
        rule = replace(rule, text=f"On what the community of router {rule.router} passes on.")
    evidence = tuple(sequence for sequence in rule.evidence if sequence not in removal.sequences)
    if len(evidence) == len(rule.evidence) and rule.age not in removal.sequences:
        return rule
    age = rule.age if rule.age not in removal.sequences else max(evidence, default=0)
    return replace(rule, evidence=evidence, age=age) if evidence else None


def find_public_names(affected: Sequence[AffectedMessage], least: int) -> dict[int, frozenset[str]]:
    """Find, by round, attributes that enough items' texts had brought."""
    brought = sorted(
        (one.message.round, name, ref)
        for one in affected
        for name, senders in one.remaining.items()
        for ref, sequence in senders
        if is_catalogue(ref, sequence)
    )
    items: defaultdict[str, set[int]] = defaultdict(set)
    public: dict[int, frozenset[str]] = {}
    for round_, rows in groupby(brought, key=lambda row: row[0]):
        for _, name, ref in rows:
            items[name].add(ref)
        public[round_] = frozenset(name for name, refs in items.items() if len(refs) >= least)
    return public


def find_unsupported_parts(
    affected: AffectedMessage,
    unsupported: frozenset[str],
    supported: frozenset[str],
    public: frozenset[str],
) -> frozenset[str]:
    """Find attributes of a message whose remaining parts do not suffice.

    A message without parts was written by an evolution. It may have attributes from its readers'
    choices, so all of `unsupported` are returned for it.

    Args:
        unsupported: Attributes that too few users hold.
        supported: Attributes that enough users hold.
        public: Those that enough items' own texts had brought by the message's round.
    """
    if is_evolved(affected):
        return unsupported
    return frozenset(
        name
        for name, senders in affected.remaining.items()
        if not (senders and name in supported)
        and not (name in public and any(is_catalogue(*sender) for sender in senders))
    )


def is_evolved(affected: AffectedMessage) -> bool:
    """Tell whether an evolution wrote a message: it has no parts."""
    return not (affected.message.integrated or affected.lost_parts)


def redact_message(
    affected: AffectedMessage,
    removal: Removal,
    unsupported: frozenset[str],
    standing: Sequence[tuple[str, float]],
    names: RouterNames,
) -> RouterVersion:
    """Redact a message.

    The text keeps the sentences about attributes that stay; only a message without any attribute
    becomes empty.

    Args:
        unsupported: Attributes whose remaining parts do not suffice.
        standing: What the router stands for now.
        names: The routers' names; a router whose name holds a word that goes is named anew.

    Returns:
        The message; if nothing changes, the same object.
    """
    message = affected.message
    own = removal.words.names
    weights = tuple((name, weight) for name, weight in standing if name not in own)
    stands = {name for name, _ in weights}
    if is_evolved(affected):
        brings, unsupported = stands, unsupported - stands
    else:
        brings = {*message.attributes} - unsupported - own
    kept = tuple(name for name in message.attributes if name in brings)
    ended = {*message.attributes, *dict(message.standing)} - stands
    hidden = own | (removal.unsupported - stands) | unsupported | ended
    words = build_own_words(removal.words.titles, hidden - {*kept})
    if (kept, weights) != (message.attributes, message.standing):
        message = replace(message, attributes=kept, standing=weights)
    return hide_words(message, words, names, cites=bool(affected.lost_parts))


def hide_words(
    message: RouterVersion, words: OwnWords, names: RouterNames, *, cites: bool = False
) -> RouterVersion:
    """Drop words from a message's text and name.

    The remaining text speaks of the message's attributes; without any it is empty. A name with such
    a word is replaced.

    Returns:
        The message; if nothing changes, the same object.
    """
    kept, name = message.attributes, message.name
    text = message.text if kept else ""
    if words.is_in(text, cites=cites):
        text = _keep_remaining_sentences(text, kept, words, cites=cites)
    if words.is_in(name):
        weights = dict(message.standing) or dict.fromkeys(kept, 1.0)
        speakable = {one: weight for one, weight in weights.items() if not words.is_in(one)}
        name = names.rename(message.router, speakable)
    if (text, name) == (message.text, message.name):
        return message
    return replace(message, text=text, name=name)


def _keep_remaining_sentences(
    text: str, kept: Sequence[str], named: OwnWords, *, cites: bool
) -> str:
    """Return the sentences without the words that go.

    The others build on the first sentence: if it goes, a plain sentence takes its place.
    """
    speakable = [name for name in kept if not named.is_in(name, cites=cites)][:MOST_NAMED]
    if not speakable:
        return ""
    plain = f"A community drawn to {join_names(speakable)}."
    remaining = [named.leave_out(sentence, cites=cites) for sentence in split_sentences(text)]
    whole = " ".join(filter(None, [remaining[0] or plain, *remaining[1:]]))
    return next((text for text in (whole, plain) if not named.is_in(text, cites=cites)), "")


def list_lost_names(before: RouterVersion, after: RouterVersion) -> LostNames | None:
    """Return what a message lost; None if its readers read the same."""
    if (before.attributes, before.text, before.name) == (after.attributes, after.text, after.name):
        return None
    ended = dict(before.standing).keys() - dict(after.standing).keys()
    names = frozenset(before.attributes) - frozenset(after.attributes) | ended
    return LostNames(names - frozenset(after.attributes), not after.attributes)
