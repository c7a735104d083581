"""Search for the messages and reasons that a withdrawal will change."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from propagation.graph_rules import OwnWords, list_titles
from propagation.model import AffectedMessage, EvolutionChange, EvolutionRun, RouterVersion
from propagation.ports import GraphStore
from propagation.routing import RouterNames, is_catalogue, list_supported_names
from propagation.workflow.forget.redaction import (
    Key,
    LostNames,
    Removal,
    find_public_names,
    find_unsupported_parts,
    hide_words,
    is_evolved,
    list_lost_names,
    redact_message,
)
from propagation.workflow.forget.standing_withdrawal import StandingWithdrawal
from propagation.workflow.forget.text_changes import TextChanges, WithdrawalRequest

LEAST_COUNTED = 8
MOST_RUNS = 1_000_000
MESSAGES_A_TURN = 32


@dataclass
class MessageChangeFinder:
    """Finds the messages, and the reasons of evolutions, that a withdrawal changes.

    redaction.py decides what of them remains.

    Attributes:
        routers: Numbers of the taste routers that exist.
    """

    store: GraphStore
    request: WithdrawalRequest
    routers: Sequence[int]

    async def change_messages(self, changes: TextChanges, withdrawn: Removal) -> Removal:
        """Find the changes of messages and evolutions, and set them in `changes`.

        Args:
            changes: Has the changed texts that cite the interactions.
            withdrawn: The removal that changed these texts.

        Returns:
            `withdrawn`, with the words that messages may no longer hold, and what each message
            lost.
        """
        removal = replace(
            withdrawn,
            unsupported=await self._find_unsupported(changes, withdrawn.least),
            words=OwnWords(withdrawn.words.titles, withdrawn.words.names | changes.unheld),
            titles=await load_titles(self.store, self.request.unquotable),
        )
        runs = await self.store.get_evolution_runs(MOST_RUNS)
        standing = StandingWithdrawal(runs)
        affected = await self.store.find_affected_messages(
            self.request.refs,
            removal.sequences,
            self.request.erased_refs,
            removal.words.search_words,
            removal.quotes,
            removal.unsupported,
            standing.origins,
            max(LEAST_COUNTED, removal.least),
        )
        gaps = await self._find_followers_of_gaps(affected)
        changes.reports = redact_reasons(runs, removal)
        changes.hidden = removal.words.search_words | removal.unsupported | removal.quotes
        messages = await self._redact(changes, affected, removal, standing, gaps)
        return replace(removal, messages=messages)

    async def have_more_lost_support(self, changes: TextChanges, lost: Removal) -> bool:
        """Tell whether more attributes lack holders than when messages were changed.

        Args:
            lost: The removal that `change_messages` returned.
        """
        unsupported = await self._find_unsupported(changes, lost.least)
        return not (unsupported <= lost.unsupported and changes.unheld <= lost.words.names)

    async def _find_unsupported(self, changes: TextChanges, least: int) -> frozenset[str]:
        """Find attributes that some client still holds, but fewer than `least` users.

        Messages may keep of such an attribute only what the catalogue brought. The search covers
        the attributes that the withdrawal's senders brought, the recounted ones, and those of the
        items of its events, which evolutions count as choices.
        """
        held_by = await self.store.get_client_attributes(
            sorted({row.item for row in self.request.rows})
        )
        names = {name for held in held_by.values() for name in held}
        names |= await self.store.get_brought_attributes(self.request.senders)
        known = await self.store.get_attributes(sorted(names - changes.recounted.keys()))
        counted = {**known, **changes.recounted}
        supported = list_supported_names(counted, least)
        return frozenset(
            name for name, one in counted.items() if one.holders > 0 and name not in supported
        )

    async def _redact(
        self,
        changes: TextChanges,
        affected: Sequence[AffectedMessage],
        removal: Removal,
        standing: StandingWithdrawal,
        gaps: frozenset[Key],
    ) -> dict[Key, LostNames]:
        """Set the changes of messages in `changes`; return what each message lost.

        Args:
            standing: Corrects what the routers stand for.
            gaps: Result of `_find_followers_of_gaps`.
        """
        names = sorted({name for one in affected for name in one.remaining})
        known = {**await self.store.get_attributes(names), **changes.recounted}
        supported = list_supported_names(known, removal.least)
        public = find_public_names(affected, removal.least)
        router_names = RouterNames(await self.store.get_router_versions(self.routers))
        brought = await load_titles(self.store, _find_catalogue_senders(affected, supported))
        titles = {**brought, **removal.titles}
        quotable = OwnWords(frozenset().union(*(one.titles for one in titles.values())))
        lost_by_message: dict[Key, LostNames] = {}
        changes.messages = []
        changes.reduced_messages = {}
        in_order = sorted(affected, key=lambda one: one.message.round)
        for number, one in enumerate(in_order):
            if number % MESSAGES_A_TURN == 0:
                await asyncio.sleep(0)  # let other tasks run
            before = one.message
            key = (before.router, before.version)
            unsupported = find_unsupported_parts(
                one, removal.unsupported, supported, public.get(before.round, frozenset())
            )
            doubtful = removal.unsupported if key in gaps else frozenset[str]()
            stands_for = standing.correct(one, unsupported, doubtful)
            after = redact_message(one, removal, unsupported, stands_for, router_names)
            if quotable.is_in(after.text) or quotable.is_in(after.name):
                rarely_chosen = removal.titles.keys()
                for title in await self._find_private_titles(after, titles, rarely_chosen):
                    after = hide_words(after, title, router_names)
            if after is not before:
                changes.messages.append(after)
            lost = list_lost_names(before, after)
            if lost is not None:
                lost_by_message[key] = lost
            elif not before.text:
                # It was emptied before; its readers may still hold a word that it had.
                lost_by_message[key] = LostNames()
            if one.lost_parts or lost is not None:
                changes.reduced_messages[key] = frozenset(before.attributes) - {*after.attributes}
        return lost_by_message

    async def _find_followers_of_gaps(self, affected: Sequence[AffectedMessage]) -> frozenset[Key]:
        """Find messages whose weights may rest on messages that retention dropped.

        They follow a version of their router that is not stored any more. Messages of evolutions
        count, too: nothing tells whether the last messages before the evolution are still stored.
        """
        if not await self.store.get_oldest_kept():
            return frozenset()
        before = {
            (one.message.router, one.message.version): (one.message.router, one.message.version - 1)
            for one in affected
        }
        asked = {key for key in before.values() if key[1] > 0} - before.keys()
        dropped = asked - (await self.store.get_messages(sorted(asked), 1)).keys()
        evolved = {(one.message.router, one.message.version) for one in affected if is_evolved(one)}
        return frozenset(evolved.union(key for key, last in before.items() if last in dropped))

    async def _find_private_titles(
        self, message: RouterVersion, titles: Mapping[int, OwnWords], rarely_chosen: Collection[int]
    ) -> list[OwnWords]:
        """Return the titles that a message may not quote any more.

        These are titles of items that lost all their parts, and those that only events brought.

        Args:
            message: The message as it will be.
            titles: The titles to look for, by item (ref).
            rarely_chosen: The items that too few users chose for events to bring their titles.
        """
        texts = message.text, message.name
        quoted = {ref: title for ref, title in titles.items() if any(map(title.is_in, texts))}
        if not quoted:
            return []
        stored = await self.store.get_router_version(message.router, message.version)
        parts = stored.integrated if stored is not None else ()
        kept = [part for part in parts if part.attribute in message.attributes]
        public = {part.ref for part in kept if is_catalogue(part.ref, part.sequence)}
        lost = {part.ref for part in parts} - {part.ref for part in kept}
        private = lost.union(rarely_chosen) - public
        return [title for ref, title in quoted.items() if ref in private]


def _find_catalogue_senders(
    affected: Sequence[AffectedMessage], supported: Collection[str]
) -> frozenset[int]:
    """Find items whose own texts brought attributes without enough users."""
    return frozenset(
        ref
        for one in affected
        for name, senders in one.remaining.items()
        if name not in supported
        for ref, sequence in senders
        if is_catalogue(ref, sequence)
    )


async def load_titles(store: GraphStore, items: Collection[int]) -> dict[int, OwnWords]:
    """Load the titles that items (refs) have or had, by item."""
    titles = list_titles(await store.get_client_contents(sorted(items)))
    return {ref: OwnWords(found) for ref, found in titles.items()}


def redact_reasons(runs: Sequence[EvolutionRun], removal: Removal) -> list[EvolutionRun]:
    """Empty the reasons that hold removed words; return the changed evolutions."""
    names = removal.words.names | removal.unsupported
    words = [OwnWords(removal.words.titles, names), *removal.titles.values()]

    def redact(change: EvolutionChange) -> EvolutionChange:
        named = any(one.is_in(change.reason) for one in words)
        return change.model_copy(update={"reason": ""}) if named else change

    redacted = [run.model_copy(update={"changes": tuple(map(redact, run.changes))}) for run in runs]
    return [after for before, after in zip(runs, redacted, strict=True) if after != before]
