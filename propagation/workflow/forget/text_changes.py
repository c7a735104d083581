"""What a retraction or an erasure changes in texts, gathered from the graph before anything is
written."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from propagation.model.clients.attribute import normalize_name
from propagation.model.clients.client import Client, ClientKind, ref_of
from propagation.model.clients.client_text import ClientText
from propagation.model.clients.profile import Author, Source
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.interactions.withdrawal import (
    AffectedMessage,
    Citations,
    CitationSearch,
    LearnedWeights,
    StoredText,
)
from propagation.model.routers.router import RouterVersion
from propagation.ports.graph.graph_store import ForgettingGraph
from propagation.routing.attribute_extraction import own_attributes, recount_holders
from propagation.routing.canonical_attributes import to_canonical
from propagation.workflow.forget.name_matching import OwnWords
from propagation.workflow.forget.redaction import (
    Behind,
    Gone,
    Key,
    Without,
    lost_of,
    message_without,
)

FEW = 8
TEXTS_A_TURN = 32


@dataclass
class TextChanges:
    """Stored versions that read differently from now on, by (ref, version), and what else follows;
    see model/interactions/withdrawal.py, which says what `texts_read_through` is."""

    versions: dict[Key, StoredText]
    messages: list[RouterVersion]
    reduced_messages: list[Key]
    client_attributes: dict[int, Sequence[str]]
    holders: dict[str, int]
    lines_dropped: int = 0
    texts_read_through: int = 0

    @property
    def rewritten(self) -> list[ClientText]:
        return [stored.text for stored in self.versions.values()]

    @property
    def next_texts(self) -> list[ClientText]:
        """Each current text that changed, as a version of its own: whoever works on the old one
        then notices."""
        return [_next_version(stored.text) for stored in self.versions.values() if stored.current]


class Withdrawing:
    """Reads; decides by withdrawn_texts.py."""

    def __init__(
        self, store: ForgettingGraph, min_support: int, canonical: Mapping[str, str]
    ) -> None:
        self._store = store
        self._min_support = min_support
        self._canonical = canonical

    async def of_retraction(
        self, rows: Sequence[InteractionRow], written: LearnedWeights
    ) -> TextChanges:
        """A line goes with its last source: nobody's privacy is at stake."""
        gone = Gone(frozenset(row.sequence for row in rows), least=1)
        return await self._changes(
            rows, written, gone, refs=sorted({ref for row in rows for ref in (row.user, row.item)})
        )

    async def of_erasure(
        self,
        client: Client,
        names: frozenset[str],
        rows: Sequence[InteractionRow],
        written: LearnedWeights,
    ) -> TextChanges:
        """`names`: attributes of the client's own text that are in nobody else's."""
        gone = Gone(
            frozenset(row.sequence for row in rows),
            self._min_support,
            OwnWords(client.title, names),
        )
        return await self._changes(rows, written, gone, refs=[client.ref], erased=client.ref)

    async def _changes(
        self,
        rows: Sequence[InteractionRow],
        written: LearnedWeights,
        gone: Gone,
        refs: Sequence[int],
        erased: int | None = None,
    ) -> TextChanges:
        changes = TextChanges({}, [], [], {}, {})
        trails = [trail for trail in _trails(rows, written, gone.words) if trail.ref != erased]
        if gone.words.names:
            named = await self._store.clients_naming(gone.words.looked_for)
            trails += [
                CitationSearch(ref, Citations(words=gone.words.looked_for))
                for ref in sorted(named)
                if ref != erased
            ]
        await self._texts(changes, trails, gone)
        await self._recount(changes, erased, gone.words.names)
        nobodys = self._nobodys(changes, erased) - gone.words.names
        gone = Gone(
            gone.sequences, gone.least, OwnWords(gone.words.title, gone.words.names | nobodys)
        )
        sent = await self._store.affected_messages(
            refs,
            None if erased is not None else gone.sequences,
            gone.words.looked_for,
            max(self._min_support, FEW),
        )
        lost = await self._messages(changes, sent, gone, erased)
        readers = await self._store.merges_of_messages(sorted(lost)) if lost else ()
        citing = {
            key: Citations(messages={key: names}, words=gone.words.looked_for)
            for key, names in lost.items()
        }
        trails = [
            CitationSearch(
                merge.ref,
                citing[merge.router, merge.router_version],
                from_version=merge.profile_version,
            )
            for merge in readers
            if merge.ref != erased
        ]
        if nobodys:
            trails += [trail for trail in _trails(rows, written, gone.words) if trail.ref != erased]
        if trails:
            await self._texts(changes, trails, Gone(gone.sequences, gone.least, gone.words, lost))
            await self._recount(changes, erased, gone.words.names)
        return changes

    async def _texts(
        self, changes: TextChanges, trails: Sequence[CitationSearch], gone: Gone
    ) -> None:
        """Adds to `changes`; a version that is there already is taken from there."""
        stored = [
            changes.versions.get((one.text.profile.ref, one.text.profile.version), one)
            for one in await self._store.find_citing_texts(trails)
        ]
        without = Without(gone, await self._behind(stored, gone))
        for number, one in enumerate(stored):
            if number % TEXTS_A_TURN == 0:
                await asyncio.sleep(0)  # others get their turns on the loop
            text = without.of(one.text)
            if text is not one.text:
                changes.versions[text.profile.ref, text.profile.version] = StoredText(
                    text, one.current
                )
                if one.current:
                    changes.lines_dropped += len(one.text.profile.lines) - len(text.profile.lines)

    async def _behind(self, stored: Iterable[StoredText], gone: Gone) -> Behind:
        """Who stands behind what is left of lines that lose a source."""
        lines = {
            id(line): line for one in stored for line in one.text.profile.lines
        }.values()  # versions share what stayed
        sources = {
            source for line in lines if _loses(line.sources, gone) for source in line.sources
        }
        sequences = sorted(
            {source.sequence for source in sources if source.sequence is not None} - gone.sequences
        )
        rows = await self._store.interactions(sequences) if sequences else ()
        keys = sorted(
            {
                (source.router, source.version)
                for source in sources
                if source.router is not None and source.version is not None
            }
        )
        messages: dict[Key, frozenset[int]] = {}
        for router, version in keys:
            if gone.messages.get((router, version), frozenset()) is None:
                continue
            message = await self._store.router_version(router, version)
            messages[router, version] = message.senders if message is not None else frozenset()
        return Behind({row.sequence: (row.user, row.item) for row in rows}, messages)

    async def _messages(
        self, changes: TextChanges, sent: Sequence[AffectedMessage], gone: Gone, erased: int | None
    ) -> dict[Key, frozenset[str] | None]:
        """Adds to `changes`; what each message that changed no longer says."""
        names = sorted({name for one in sent for name in one.remaining})
        holders = {
            name: attribute.holders
            for name, attribute in (await self._store.get_attributes(names)).items()
        }
        least = 1 if erased is None else self._min_support
        supported = frozenset(
            name for name in names if changes.holders.get(name, holders.get(name, 0)) >= least
        )
        lost: dict[Key, frozenset[str] | None] = {}
        for one in sent:
            key = (one.message.router, one.message.version)
            after = message_without(one, gone.words, supported)
            if one.lost_parts or after is not one.message:
                changes.reduced_messages.append(key)
            if after is not one.message:
                changes.messages.append(after)
                lost[key] = lost_of(one.message, after)
            elif (
                not one.message.text
            ):  # it may have said a word before it was taken back, and its readers may say it still
                lost[key] = frozenset()
        return lost

    async def _recount(
        self, changes: TextChanges, erased: int | None, names: frozenset[str]
    ) -> None:
        """What changed clients hold now, and how many hold each attribute that somebody lost; of
        `names` nobody does."""
        current = {
            stored.text.profile.ref: stored.text
            for stored in changes.versions.values()
            if stored.current
        }
        refs = sorted({*current, *([] if erased is None else [erased])})
        before = await self._store.client_attributes(refs)
        now = {
            ref: tuple(
                name
                for name in before[ref]
                if name in to_canonical(own_attributes(text), self._canonical)
            )
            for ref, text in current.items()
        }
        if erased is not None:
            now[erased] = ()
        known = await self._store.get_attributes(
            sorted({name for names in before.values() for name in names})
        )
        changes.client_attributes = {
            ref: names
            for ref, names in now.items()
            if ref != erased and tuple(names) != tuple(before[ref])
        }
        changes.holders = {
            name: attribute.holders
            for name, attribute in recount_holders(known, before, now).items()
        }
        changes.holders.update(dict.fromkeys(names, 0))

    def _nobodys(self, changes: TextChanges, erased: int | None) -> frozenset[str]:
        return (
            frozenset()
            if erased is None
            else frozenset(name for name, holders in changes.holders.items() if holders <= 0)
        )


def own_names(client: Client, texts: Iterable[ClientText]) -> frozenset[str]:
    """Attributes of a client's own text, as it says them: those given, and those that were found in
    the rest of it."""
    said = {normalize_name(name) for name in (*client.attributes, *client.categories)}
    said |= {
        name
        for text in texts
        for line in text.profile.lines
        if line.author is Author.CATALOGUE
        for name in line.attributes
    }
    return frozenset(said - {""})


def _trails(
    rows: Sequence[InteractionRow], written: LearnedWeights, words: OwnWords
) -> list[CitationSearch]:
    """Whose texts may cite each interaction: the user's, the item's, the first negative's."""
    negatives = {
        int(sequence): int(item)
        for sequence, item in zip(written.sequence, written.negative, strict=True)
        if item >= 0
    }
    out = []
    for row in rows:
        citing = Citations(frozenset([row.sequence]), words=words.looked_for)
        refs = [row.user, row.item]
        if row.sequence in negatives:
            refs.append(ref_of(ClientKind.ITEM, negatives[row.sequence]))
        out += [CitationSearch(ref, citing, at_sequence=row.sequence) for ref in refs]
    return out


def _loses(sources: Sequence[Source], gone: Gone) -> bool:
    return any(
        source.sequence in gone.sequences or (source.router, source.version) in gone.messages
        for source in sources
    )


def _next_version(text: ClientText) -> ClientText:
    return replace(text, profile=replace(text.profile, version=text.profile.version + 1))
