"""Finds the messages and reasons that a withdrawal changes, before anything is written."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from propagation.graph_rules.name_matching import OwnWords
from propagation.model import (
    AffectedMessage,
    ClientKind,
    EvolutionRun,
    RouterVersion,
    kind_of,
)
from propagation.ports import GraphStore
from propagation.routing import (
    catalogue_attributes,
    is_catalogue,
    supported_names,
    to_canonical,
)
from propagation.workflow.forget.redaction import (
    Key,
    LostAttributes,
    Removal,
    lost_attributes,
    redact_message,
)
from propagation.workflow.forget.text_changes import TextChanges, WithdrawalRequest

MOST_HOLDERS = 64
MOST_RUNS = MOST_MESSAGES = 1_000_000


@dataclass
class MessageChangeFinder:
    """Finds what messages lose; redaction.py decides how.

    Attributes:
        canonical: The attribute that each mapped one stands for.
    """

    store: GraphStore
    min_support: int
    canonical: Mapping[str, str]
    request: WithdrawalRequest

    async def find_titles(self) -> dict[int, OwnWords]:
        """Load titles of the items that too few users chose by now."""
        clients = await self.store.get_clients(self.request.unquotable)
        return {client.ref: OwnWords(client.title) for client in clients if client.title}

    async def find_unsupported(self, changes: TextChanges, erased: int) -> frozenset[str]:
        """Find attributes that too few users, and too few items by their own texts, have now.

        Nobody may pass them on any more, though somebody still holds them.
        """
        brought = {
            part.attribute
            for message in await self.store.contributions(erased, MOST_MESSAGES)
            for part in message.integrated
        }
        known = await self.store.get_attributes(sorted(brought - changes.recounted.keys()))
        counted = {**known, **changes.recounted}
        supported = supported_names(counted, self.min_support)
        few = [name for name, one in counted.items() if one.holders > 0 and name not in supported]
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

    async def change_messages(
        self,
        changes: TextChanges,
        affected: Sequence[AffectedMessage],
        removal: Removal,
    ) -> LostAttributes:
        """Add redacted messages to the changes; return what each lost."""
        names = sorted({name for one in affected for name in one.remaining})
        known = {**await self.store.get_attributes(names), **changes.recounted}
        supported = supported_names(known, removal.least)
        lost: dict[Key, frozenset[str] | None] = {}
        for one in affected:
            key = (one.message.router, one.message.version)
            after = redact_message(one, removal.message_words, supported, removal.least)
            for title in await self._private_titles(after, removal.titles):
                after = redact_message(AffectedMessage(after), title, frozenset(), 1)
            if one.lost_parts or after is not one.message:
                changes.reduced_messages.append(key)
            if after is not one.message:
                changes.messages.append(after)
                if after.name != one.message.name:
                    changes.renamed_routers.add(after.router)
                lost[key] = lost_attributes(one.message, after)
            elif not one.message.text:
                # It may have held a word before it was redacted, and its readers may hold it still.
                lost[key] = frozenset()
        return lost

    async def _private_titles(
        self, message: RouterVersion, titles: Mapping[int, OwnWords]
    ) -> list[OwnWords]:
        """Return the titles in a message whose items came to it because of events."""
        texts = message.text, message.name
        quoted = {ref: title for ref, title in titles.items() if any(map(title.is_in, texts))}
        if not quoted:
            return []
        stored = await self.store.router_version(message.router, message.version)
        parts = stored.integrated if stored is not None else ()
        public = {part.ref for part in parts if is_catalogue(part.ref, part.sequence)}
        return [title for ref, title in quoted.items() if ref not in public]

    async def change_reports(self, removal: Removal) -> list[EvolutionRun]:
        """Empty the reasons of evolutions that hold words that go."""
        words = [removal.message_words, *removal.titles.values()]
        if not any(one.search_words for one in words):
            return []
        changed = []
        for run in await self.store.evolution_runs(MOST_RUNS):
            changes = tuple(
                change.model_copy(update={"reason": ""})
                if any(one.is_in(change.reason) for one in words)
                else change
                for change in run.changes
            )
            if changes != run.changes:
                changed.append(run.model_copy(update={"changes": changes}))
        return changed
