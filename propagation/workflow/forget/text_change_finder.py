"""Finds the texts that a withdrawal changes, before anything is written."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from propagation.graph_rules.name_matching import OwnWords
from propagation.model import (
    MERGED_OUTCOME,
    Attribute,
    Citations,
    CitationSearch,
    ClientKind,
    MessageMerge,
    Source,
    StoredText,
    compute_ref,
)
from propagation.ports import POSTPONED_ARRIVALS
from propagation.routing import (
    Arrival,
    PostponedArrivals,
    list_own_attributes,
    recount_holders,
    to_canonical,
)
from propagation.workflow.forget.message_change_finder import (
    MOST_RUNS,
    MessageChangeFinder,
    redact_reasons,
)
from propagation.workflow.forget.redaction import (
    LostNames,
    Redaction,
    Removal,
    Supporters,
    find_message,
)
from propagation.workflow.forget.text_changes import TextChanges

LEAST_COUNTED = 8
TEXTS_A_TURN = 32


@dataclass
class TextChangeFinder(MessageChangeFinder):
    """Finds the texts, too, that a withdrawal changes; redaction.py decides how.

    Attributes:
        canonical: The attribute that each mapped one stands for.
    """

    canonical: Mapping[str, str]

    async def find(self) -> TextChanges:
        """Find the changes of texts, of messages, and of their readers.

        A message changes if it rests on a changed text.
        """
        changes = TextChanges(texts_read_through=await self.store.get_texts_through())
        rows, erased = self.request.rows, self.request.erased
        sequences = frozenset(row.sequence for row in rows)
        words = OwnWords() if erased is None else OwnWords(erased.titles, erased.own_names)
        retracted = {row.sequence: row.item for row in rows} if erased is None else {}
        choices = await self.load_titles({*retracted.values()})
        removal = Removal(sequences, self.min_support, words, retracted=retracted, choices=choices)
        searches = self._build_searches(removal.words)
        refs = {search.ref for search in searches}
        if erased is not None:
            refs.add(erased.client.ref)
        if removal.words.names:
            named = await self.store.find_clients_naming(removal.words.search_words)
            citations = Citations(words=removal.words.search_words)
            searches += [CitationSearch(ref, citations) for ref in sorted(named)]
        await self._change_texts(changes, searches, removal)
        unheld = changes.unheld - removal.words.names
        removal = replace(
            removal,
            unsupported=await self.find_unsupported(changes),
            words=OwnWords(removal.words.titles, removal.words.names | unheld),
            titles=await self.load_titles(self.request.unquotable),
        )
        affected = await self.store.find_affected_messages(
            sorted(refs),
            sequences,
            self.request.erased_ref,
            removal.words.search_words,
            removal.quotes,
            removal.unsupported,
            max(LEAST_COUNTED, removal.least),
        )
        runs = await self.store.get_evolution_runs(MOST_RUNS)
        lost = await self.change_messages(changes, affected, removal, runs)
        merges = await self.store.get_merges_of_messages(sorted(lost)) if lost else ()
        heard: defaultdict[int, frozenset[str]] = defaultdict(frozenset)
        for merge in merges:
            if merge.outcome == MERGED_OUTCOME:
                heard[merge.ref] |= lost[merge.router, merge.router_version].names
        removal = replace(removal, messages=lost, heard=heard)
        searches = _build_reader_searches(merges, removal)
        if unheld:
            searches += self._build_searches(removal.words)
        if searches:
            await self._change_texts(changes, searches, removal)
        changes.reports = redact_reasons(runs, removal)
        changes.hidden = removal.words.search_words | removal.unsupported | removal.quotes
        changes.postponed = await self._pack_remaining_arrivals(sequences)
        return changes

    def _build_searches(self, words: OwnWords) -> list[CitationSearch]:
        """Search each interaction in the texts of its clients.

        These are its user, its item and its first negative.
        """
        weights = self.request.weights
        negatives = {
            int(sequence): compute_ref(ClientKind.ITEM, int(item))
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
        redaction = Redaction(removal, await self._count_supporters(stored, removal))
        for number, one in enumerate(stored):
            if number % TEXTS_A_TURN == 0:
                await asyncio.sleep(0)  # let other tasks run
            text = redaction.redact(one.text)
            if text is not one.text:
                changes.versions[text.profile.ref, text.profile.version] = replace(one, text=text)
                if one.current:
                    changes.lines_dropped += len(one.text.profile.lines) - len(text.profile.lines)
        await self._count_attributes(changes, removal.words.names)

    async def _count_supporters(self, stored: Iterable[StoredText], removal: Removal) -> Supporters:
        """Load who supports the remaining sources of lines that lose one."""
        lines = {
            id(line): line for one in stored for line in one.text.profile.lines
        }.values()  # versions share the lines that stayed
        sources = {
            source for line in lines if _loses(line.sources, removal) for source in line.sources
        }
        sequences = {source.sequence for source in sources if source.sequence is not None}
        asked = sorted(sequences - removal.sequences)
        rows = await self.store.get_interactions(asked) if asked else ()
        keys = sorted(
            {
                (source.router, source.version)
                for source in sources
                if source.router is not None
                and source.version is not None
                and not removal.messages.get(find_message(source), LostNames()).emptied
            }
        )
        # Neither the erased client nor the line's owner counts.
        messages = await self.store.get_messages(keys, removal.least + 2)
        return Supporters(
            {row.sequence: (row.user, row.item) for row in rows},
            {key: one.senders - {self.request.erased_ref} for key, one in messages.items()},
        )

    async def _pack_remaining_arrivals(self, sequences: frozenset[int]) -> bytes | None:
        """Pack the arrivals that wait and do not rest on what goes."""
        blob = await self.store.get_blob(POSTPONED_ARRIVALS)
        if blob is None:
            return None

        def stays(arrival: Arrival) -> bool:
            return arrival.ref != self.request.erased_ref and arrival.sequence not in sequences

        return PostponedArrivals.unpack(blob).filtered(stays).pack()

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
        before = await self.store.get_client_attributes(refs)
        now: dict[int, tuple[str, ...]] = {}
        for ref, text in current.items():
            own = to_canonical(list_own_attributes(text), self.canonical)
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


def _loses(sources: Sequence[Source], removal: Removal) -> bool:
    return any(
        source.sequence in removal.sequences or (source.router, source.version) in removal.messages
        for source in sources
    )


def _build_reader_searches(
    merges: Sequence[MessageMerge], removal: Removal
) -> list[CitationSearch]:
    """Return searches of the texts that may cite a changed message.

    These are texts of clients that merged the message or dropped it, from that version on: a rule
    may speak of either.
    """
    words = removal.words.search_words
    citations = {
        key: Citations(
            messages={key: None if one.emptied else one.names},
            words=words,
            message_words=words | one.names | removal.quotes,
            rule_words=words | removal.words_from_routers[key[0]].names,
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
