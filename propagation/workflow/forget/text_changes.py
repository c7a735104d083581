"""Changes of texts by a withdrawal, found before anything is written."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from propagation.model import (
    AffectedMessage,
    Attribute,
    Citations,
    CitationSearch,
    ClientKind,
    ClientText,
    InteractionRow,
    LearnedWeights,
    RouterVersion,
    Source,
    StoredText,
    kind_of,
    ref_of,
)
from propagation.ports import GraphStore
from propagation.routing import (
    catalogue_attributes,
    own_attributes,
    recount_holders,
    to_canonical,
)
from propagation.workflow.forget.name_matching import ErasedClient, OwnWords
from propagation.workflow.forget.redaction import (
    Key,
    LostAttributes,
    Redaction,
    Removal,
    Supporters,
    lost_attributes,
    redact_message,
)

LEAST_COUNTED = 8
MOST_HOLDERS = 64
TEXTS_A_TURN = 32


@dataclass
class TextChanges:
    """Changes of stored texts that a withdrawal makes.

    See Withdrawal for the fields.

    Attributes:
        versions: Changed versions by (ref, version).
        lines_dropped: Lines that current profiles lose.
    """

    versions: dict[Key, StoredText] = field(default_factory=dict)
    messages: list[RouterVersion] = field(default_factory=list)
    reduced_messages: list[Key] = field(default_factory=list)
    client_attributes: dict[int, Sequence[str]] = field(default_factory=dict)
    recounted: dict[str, Attribute] = field(default_factory=dict)
    lines_dropped: int = 0
    texts_read_through: int = 0

    @property
    def rewritten(self) -> list[ClientText]:
        """Changed versions, under their own numbers."""
        return [stored.text for stored in self.versions.values()]

    @property
    def next_texts(self) -> list[ClientText]:
        """Changed current texts, each as its next version.

        Writers of the old version then clash.
        """
        return [_next_version(stored.text) for stored in self.versions.values() if stored.current]

    @property
    def unheld(self) -> frozenset[str]:
        """Attributes that no client holds any more."""
        return frozenset(name for name, one in self.recounted.items() if one.holders <= 0)


@dataclass(frozen=True)
class WithdrawalRequest:
    """What to withdraw.

    Attributes:
        rows: For an erasure, all interactions of the client.
        weights: What the interactions wrote when they were learned.
        erased: The client that goes with them; None for a retraction.
    """

    rows: Sequence[InteractionRow]
    weights: LearnedWeights
    erased: ErasedClient | None

    @property
    def erased_ref(self) -> int | None:
        """Ref of the client that is erased."""
        return None if self.erased is None else self.erased.client.ref


@dataclass
class TextChangeFinder:
    """Finds the texts and messages that a withdrawal changes; redaction.py decides how."""

    store: GraphStore
    min_support: int
    canonical: Mapping[str, str]
    request: WithdrawalRequest

    async def find(self) -> TextChanges:
        """Find the changes of texts, of messages, and of their readers.

        A message changes if it rests on a changed text. After a retraction a line stays until its
        last source goes; after an erasure it needs `min_support` clients.
        """
        changes = TextChanges(texts_read_through=await self.store.texts_through())
        rows, erased = self.request.rows, self.request.erased
        sequences = frozenset(row.sequence for row in rows)
        if erased is None:
            removal = Removal(sequences, least=1)
        else:
            words = OwnWords(erased.client.title, erased.own_names)
            removal = Removal(sequences, self.min_support, words)
        searches = self._searches(removal.words)
        refs = {search.ref for search in searches}
        if erased is not None:
            refs.add(erased.client.ref)
        if removal.words.names:
            named = await self.store.clients_naming(removal.words.search_words)
            citations = Citations(words=removal.words.search_words)
            searches += [CitationSearch(ref, citations) for ref in sorted(named)]
        await self._change_texts(changes, searches, removal)
        unheld: frozenset[str] = frozenset()
        if erased is not None:
            unheld = changes.unheld - removal.words.names
            removal = replace(
                removal,
                words=OwnWords(removal.words.title, removal.words.names | unheld),
                unsupported=OwnWords(names=await self._unsupported(changes)),
            )
        affected = await self.store.affected_messages(
            sorted(refs),
            sequences,
            self.request.erased_ref,
            removal.words.search_words | removal.unsupported.search_words,
            LEAST_COUNTED,
        )
        lost = await self._change_messages(changes, affected, removal)
        searches = await self._reader_searches(lost, removal.message_words)
        if unheld:
            searches += self._searches(removal.words)
        if searches:
            await self._change_texts(changes, searches, replace(removal, messages=lost))
        return changes

    def _searches(self, words: OwnWords) -> list[CitationSearch]:
        """Search each interaction in the texts of its clients.

        These are its user, its item and its first negative.
        """
        weights = self.request.weights
        negatives = {
            int(sequence): ref_of(ClientKind.ITEM, int(item))
            for sequence, item in zip(weights.sequence, weights.negative, strict=True)
            if item >= 0
        }
        searches = []
        for row in self.request.rows:
            citations = Citations(frozenset([row.sequence]), words=words.search_words)
            searches += [
                CitationSearch(ref, citations, at_sequence=row.sequence)
                for ref in (row.user, row.item, negatives.get(row.sequence))
                if ref is not None
            ]
        return searches

    async def _reader_searches(self, lost: LostAttributes, words: OwnWords) -> list[CitationSearch]:
        """Return searches of the texts that may cite a changed message.

        These are texts of clients that merged the message, from that version on.
        """
        merges = await self.store.merges_of_messages(sorted(lost)) if lost else ()
        citations = {
            key: Citations(messages={key: names}, words=words.search_words)
            for key, names in lost.items()
        }
        return [
            CitationSearch(
                merge.ref,
                citations[merge.router, merge.router_version],
                from_version=merge.profile_version,
            )
            for merge in merges
        ]

    async def _change_texts(
        self,
        changes: TextChanges,
        searches: Sequence[CitationSearch],
        removal: Removal,
    ) -> None:
        """Add the texts that searches find to the changes, and recount attributes."""
        found = await self.store.find_citing_texts(
            [search for search in searches if search.ref != self.request.erased_ref]
        )
        stored = [
            changes.versions.get((one.text.profile.ref, one.text.profile.version), one)
            for one in found
        ]
        redaction = Redaction(removal, await self._supporters(stored, removal))
        for number, one in enumerate(stored):
            if number % TEXTS_A_TURN == 0:
                await asyncio.sleep(0)  # let other tasks run
            text = redaction.redact(one.text)
            if text is not one.text:
                changes.versions[text.profile.ref, text.profile.version] = replace(one, text=text)
                if one.current:
                    changes.lines_dropped += len(one.text.profile.lines) - len(text.profile.lines)
        await self._count_attributes(changes, removal.words.names)

    async def _supporters(self, stored: Iterable[StoredText], removal: Removal) -> Supporters:
        """Load who supports the remaining sources of lines that lose one."""
        lines = {
            id(line): line for one in stored for line in one.text.profile.lines
        }.values()  # versions share the lines that stayed
        sources = {
            source for line in lines if _loses(line.sources, removal) for source in line.sources
        }
        sequences = {source.sequence for source in sources if source.sequence is not None}
        asked = sorted(sequences - removal.sequences)
        rows = await self.store.interactions(asked) if asked else ()
        keys = sorted(
            {
                (source.router, source.version)
                for source in sources
                if source.router is not None
                and source.version is not None
                and removal.messages.get((source.router, source.version), frozenset()) is not None
            }
        )
        messages: dict[Key, frozenset[int]] = {}
        for router, version in keys:
            message = await self.store.router_version(router, version)
            senders = message.senders if message is not None else frozenset()
            messages[router, version] = senders - {self.request.erased_ref}
        return Supporters({row.sequence: (row.user, row.item) for row in rows}, messages)

    async def _change_messages(
        self,
        changes: TextChanges,
        affected: Sequence[AffectedMessage],
        removal: Removal,
    ) -> LostAttributes:
        """Add redacted messages to the changes; return what each lost."""
        names = sorted({name for one in affected for name in one.remaining})
        known = {**await self.store.get_attributes(names), **changes.recounted}
        supported = frozenset(
            name for name in names if name in known and known[name].users >= removal.least
        )
        lost: dict[Key, frozenset[str] | None] = {}
        for one in affected:
            key = (one.message.router, one.message.version)
            after = redact_message(one, removal.message_words, supported)
            if one.lost_parts or after is not one.message:
                changes.reduced_messages.append(key)
            if after is not one.message:
                changes.messages.append(after)
                lost[key] = lost_attributes(one.message, after)
            elif not one.message.text:
                # It may have held a word before it was redacted, and its readers may hold it still.
                lost[key] = frozenset()
        return lost

    async def _count_attributes(self, changes: TextChanges, names: frozenset[str]) -> None:
        """Set what changed clients hold now.

        It also counts the holders of each attribute that they lost.

        Args:
            names: Attributes that no client holds any more.
        """
        current = {
            stored.text.profile.ref: stored.text
            for stored in changes.versions.values()
            if stored.current
        }
        erased = self.request.erased_ref
        refs = sorted(current if erased is None else {*current, erased})
        before = await self.store.client_attributes(refs)
        now: dict[int, tuple[str, ...]] = {}
        for ref, text in current.items():
            own = to_canonical(own_attributes(text), self.canonical)
            now[ref] = tuple(name for name in before[ref] if name in own)
        changes.client_attributes = {
            ref: names for ref, names in now.items() if names != tuple(before[ref])
        }
        if erased is not None:
            now[erased] = ()
        known = await self.store.get_attributes(
            sorted({name for held_by_one in before.values() for name in held_by_one})
        )
        changes.recounted = recount_holders(known, before, now)
        changes.recounted.update((name, Attribute(name=name)) for name in names)

    async def _unsupported(self, changes: TextChanges) -> frozenset[str]:
        """Find attributes that too few users hold now, and too few items' own texts have.

        Nobody may pass them on any more, though somebody still holds them.
        """
        few = [
            name
            for name, one in changes.recounted.items()
            if one.holders > 0 and one.users < self.min_support
        ]
        refs = {ref for name in few for ref in await self.store.holders_of(name, MOST_HOLDERS)}
        texts = await self.store.load_texts(
            sorted(ref for ref in refs if kind_of(ref) == ClientKind.ITEM)
        )
        public = Counter(
            name
            for text in texts.values()
            for name in to_canonical(catalogue_attributes(text), self.canonical)
        )
        return frozenset(name for name in few if public[name] < self.min_support)


def _loses(sources: Sequence[Source], removal: Removal) -> bool:
    return any(
        source.sequence in removal.sequences or (source.router, source.version) in removal.messages
        for source in sources
    )


def _next_version(text: ClientText) -> ClientText:
    return replace(text, profile=replace(text.profile, version=text.profile.version + 1))
