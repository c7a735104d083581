"""Search for the texts that a withdrawal changes, before it writes."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from propagation.graph_rules import OwnWords, names_one
from propagation.model import (
    MERGED_OUTCOME,
    Attribute,
    Citations,
    CitationSearch,
    ClientText,
    MessageMerge,
    Source,
    StoredText,
    group_pairs,
    split_into_batches,
)
from propagation.ports import POSTPONED_ARRIVALS, GraphStore
from propagation.routing import (
    Arrival,
    PostponedArrivals,
    list_own_attributes,
    recount_holders,
    to_canonical,
)
from propagation.workflow.forget.message_change_finder import MessageChangeFinder, load_titles
from propagation.workflow.forget.redaction import (
    Key,
    LostNames,
    Redaction,
    Removal,
    Supporters,
)
from propagation.workflow.forget.text_changes import TextChanges, WithdrawalRequest

CLIENTS_A_SEARCH = 2_000


@dataclass
class TextChangeFinder:
    """Finds the texts that a withdrawal changes; redaction.py decides how.

    Attributes:
        routers: Numbers of the taste routers that exist.
        canonical: Canonical name by mapped name.
    """

    store: GraphStore
    min_support: int
    request: WithdrawalRequest
    routers: Sequence[int]
    canonical: Mapping[str, str]

    async def find(self) -> TextChanges:
        """Find the changes of texts, of messages, and of the messages' readers.

        A message changes if it rests on withdrawn interactions, or holds a word that goes.
        """
        changes = TextChanges(texts_read_through=await self.store.get_texts_through())
        messages = MessageChangeFinder(self.store, self.request, self.routers)
        withdrawn = await self._change_citing_texts(changes)
        texts, dropped = dict(changes.versions), changes.lines_dropped
        while True:
            lost = await messages.change_messages(changes, withdrawn)
            changes.versions, changes.lines_dropped = dict(texts), dropped
            await self._change_readers(changes, lost)
            # What readers lost may have been the last support of an attribute that messages bring.
            if not await messages.have_more_lost_support(changes, lost):
                break
        changes.postponed = await self._pack_remaining_arrivals(withdrawn.sequences)
        return changes

    async def _change_citing_texts(self, changes: TextChanges) -> Removal:
        """Change texts that cite the interactions or name the erased client.

        Returns:
            The sources and words that these texts lost.
        """
        rows, erased, words = self.request.rows, self.request.erased, self.request.own_words
        retracted = {row.sequence: row.item for row in rows} if erased is None else {}
        searches = self._build_searches(words)
        if words.names:
            named = await self.store.find_clients_naming(words.search_words)
            citations = Citations(words=words.search_words)
            searches += [CitationSearch(ref, citations) for ref in sorted(named)]
        removal = Removal(
            frozenset(row.sequence for row in rows),
            self.min_support,
            words,
            retracted=retracted,
            choices=await load_titles(self.store, {*retracted.values()}),
        )
        await self._change_texts(changes, searches, removal)
        return removal

    async def _change_readers(self, changes: TextChanges, lost: Removal) -> None:
        """Change texts of clients that merged or dropped a changed message.

        If an attribute has lost its last holder, the interactions' clients are searched for it too.
        After retention, old texts are searched for what messages may no longer say: nothing tells
        who merged a message that was dropped. Only versions that were replaced before the oldest
        sequence that can be shown cite such messages.

        Args:
            lost: The removal that `change_messages` returned.
        """
        keys = sorted(lost.messages)
        merges = await self.store.get_merges_of_messages(keys) if keys else ()
        named: frozenset[int] = frozenset()
        if lost.unsaid and (oldest := await self.store.get_oldest_kept()):
            named = await self.store.find_clients_naming(lost.unsaid, replaced_by=oldest)
        heard = group_pairs(
            [
                *(
                    (merge.ref, lost.messages[merge.router, merge.router_version].names)
                    for merge in merges
                    if merge.outcome == MERGED_OUTCOME
                ),
                *((ref, lost.unsupported) for ref in named),
            ]
        )
        removal = replace(
            lost, heard={ref: frozenset[str]().union(*names) for ref, names in heard.items()}
        )
        searches = await asyncio.to_thread(_build_reader_searches, merges, removal)
        if removal.words.names > self.request.own_words.names:
            searches += self._build_searches(removal.words)
        if searches:
            await self._change_texts(changes, searches, removal)
        citations = Citations(words=lost.unsaid)
        for refs in split_into_batches(sorted(named), CLIENTS_A_SEARCH):
            await self._change_texts(
                changes, [CitationSearch(ref, citations) for ref in refs], removal
            )

    def _build_searches(self, words: OwnWords) -> list[CitationSearch]:
        """Build the searches for each interaction in its clients' texts."""
        return [
            CitationSearch(ref, citations, at_sequence=sequence)
            for sequence, refs in self.request.clients.items()
            for citations in [Citations(frozenset([sequence]), words=words.search_words)]
            for ref in refs
        ]

    async def _change_texts(
        self,
        changes: TextChanges,
        searches: Sequence[CitationSearch],
        removal: Removal,
    ) -> None:
        """Redact the texts that searches find, and recount attributes.

        Set both in `changes`.
        """
        found = await self.store.find_citing_texts(
            [search for search in searches if search.ref not in self.request.erased_refs]
        )
        stored = [
            changes.versions.get((one.text.profile.ref, one.text.profile.version), one)
            for one in found
        ]
        if removal.unsupported or removal.quotes:
            removal = await self._note_dropped_messages(stored, removal)
        redaction = Redaction(removal, await self._count_supporters(stored, removal))
        # On a thread, because thousands of texts would hold up the event loop.
        for one, text in await asyncio.to_thread(_redact_texts, stored, redaction):
            changes.versions[text.profile.ref, text.profile.version] = replace(one, text=text)
            if one.current:
                changes.lines_dropped += len(one.text.profile.lines) - len(text.profile.lines)
        await self._count_attributes(changes, removal.words.names)

    async def _note_dropped_messages(
        self, stored: Sequence[StoredText], removal: Removal
    ) -> Removal:
        """Add the messages that texts cite and retention dropped.

        Nothing tells what these messages lost. So a line that cites one may name no attribute that
        too few users hold now, and quote no title that too few users chose.
        """
        if not await self.store.get_oldest_kept():
            return removal
        cited = await asyncio.to_thread(_find_cited_messages, stored, removal.unsaid)
        asked = sorted(cited - removal.messages.keys())
        kept = await self.store.get_messages(asked, 1) if asked else {}
        dropped = {key: LostNames(removal.unsupported) for key in asked if key not in kept}
        return replace(removal, messages={**removal.messages, **dropped})

    async def _count_supporters(self, stored: Iterable[StoredText], removal: Removal) -> Supporters:
        """Load the clients behind the remaining sources of lines that lose one."""
        sources = await asyncio.to_thread(_find_sources_of_losing_lines, stored, removal)
        sequences = {source.sequence for source in sources if source.sequence is not None}
        asked = sorted(sequences - removal.sequences)
        rows = await self.store.get_interactions(asked) if asked else ()
        keys = sorted(
            {
                source.message
                for source in sources
                if source.message is not None
                and not removal.messages.get(source.message, LostNames()).emptied
            }
        )
        # More than needed, because neither erased clients nor the line's owner count.
        erased = self.request.erased_refs
        messages = await self.store.get_messages(keys, removal.least + len(erased) + 1)
        return Supporters(
            {row.sequence: (row.user, row.item) for row in rows},
            {key: one.senders - erased for key, one in messages.items()},
        )

    async def _pack_remaining_arrivals(self, sequences: frozenset[int]) -> bytes | None:
        """Pack the postponed arrivals that do not rest on what goes.

        Args:
            sequences: The withdrawn interactions.

        Returns:
            The arrivals for the store; None if none are stored.
        """
        blob = await self.store.get_blob(POSTPONED_ARRIVALS)
        if blob is None:
            return None

        erased = self.request.erased_refs

        def stays(arrival: Arrival) -> bool:
            return arrival.ref not in erased and arrival.sequence not in sequences

        return PostponedArrivals.unpack(blob).keep_only(stays).pack()

    async def _count_attributes(self, changes: TextChanges, names: frozenset[str]) -> None:
        """Set the attributes that changed clients still hold.

        Also recount the holders of each attribute that they lost.

        Args:
            names: Attributes that no client holds any more.
        """
        current = {
            stored.text.profile.ref: stored.text
            for stored in changes.versions.values()
            if stored.current
        }
        erased = self.request.erased_refs
        refs = sorted(erased.union(current))
        before = await self.store.get_client_attributes(refs)
        now: dict[int, tuple[str, ...]] = {}
        for ref, text in current.items():
            own = to_canonical(list_own_attributes(text), self.canonical)
            now[ref] = tuple(name for name in before[ref] if name in own)
        changes.client_attributes = {
            ref: names for ref, names in now.items() if names != tuple(before[ref])
        }
        now.update(dict.fromkeys(erased, ()))
        known = await self.store.get_attributes(
            sorted({name for held_by_one in before.values() for name in held_by_one})
        )
        changes.recounted = recount_holders(known, before, now)
        changes.recounted.update((name, Attribute(name=name)) for name in names)


def _redact_texts(
    stored: Iterable[StoredText], redaction: Redaction
) -> list[tuple[StoredText, ClientText]]:
    """Redact texts; return those that change, each with what becomes of it."""
    redacted = [(one, redaction.redact(one.text)) for one in stored]
    return [(one, text) for one, text in redacted if text is not one.text]


def _find_sources_of_losing_lines(stored: Iterable[StoredText], removal: Removal) -> set[Source]:
    """Find all sources of those lines that lose a source."""
    lines = {
        id(line): line for one in stored for line in one.text.profile.lines
    }.values()  # each line once: versions share unchanged lines
    return {source for line in lines if _loses(line.sources, removal) for source in line.sources}


def _find_cited_messages(stored: Iterable[StoredText], words: frozenset[str]) -> set[Key]:
    """Find the messages that lines cite which hold one of the words."""
    lines = {id(line): line for one in stored for line in one.text.profile.lines}.values()
    return {
        key
        for line in lines
        if line.messages and names_one(line.text, line.attributes, words)
        for key in line.messages
    }


def _loses(sources: Sequence[Source], removal: Removal) -> bool:
    return any(
        source.sequence in removal.sequences or source.message in removal.messages
        for source in sources
    )


def _build_reader_searches(
    merges: Sequence[MessageMerge], removal: Removal
) -> list[CitationSearch]:
    """Build the searches for texts that may cite a changed message.

    They search the clients that merged or dropped the message, from that version of the profile on.
    Filter rules may speak of dropped messages, too.
    """
    words = removal.words.search_words
    citations = {
        key: Citations(
            messages={key: None if one.emptied else one.names},
            words=words,
            message_words=words | one.names | removal.quotes,
            rule_words=words | one.names,
            router_words={key[0]: removal.words_from_routers[key[0]].names},
        )
        for key, one in removal.messages.items()
    }
    return [
        CitationSearch(
            merge.ref,
            citations[merge.router, merge.router_version],
            from_version=merge.profile_version,
        )
        for merge in merges
    ]
