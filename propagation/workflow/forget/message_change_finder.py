"""Finds what a withdrawal changes of messages and reasons, before it writes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from propagation.graph_rules.name_matching import OwnWords, list_titles
from propagation.model import (
    AffectedMessage,
    EvolutionRun,
    RouterVersion,
)
from propagation.ports import GraphStore
from propagation.routing import RouterNames, is_catalogue, list_supported_names
from propagation.workflow.forget.redaction import (
    Key,
    LostNames,
    Removal,
    find_public_names,
    find_unsupported_parts,
    hide_words,
    list_lost_names,
    redact_message,
)
from propagation.workflow.forget.standing_withdrawal import StandingWithdrawal, list_origins
from propagation.workflow.forget.text_changes import TextChanges, WithdrawalRequest

LEAST_COUNTED = 8
MOST_RUNS = 1_000_000


@dataclass
class MessageChangeFinder:
    """Finds what messages and reasons lose; redaction.py decides how.

    Attributes:
        routers: The taste routers that exist.
    """

    store: GraphStore
    request: WithdrawalRequest
    routers: Sequence[int]

    async def change_messages(self, changes: TextChanges, withdrawn: Removal) -> Removal:
        """Set the changes of messages and evolutions.

        Args:
            changes: Those of texts that cite the interactions.
            withdrawn: What these texts lost.

        Returns:
            What messages lost, in all and each.
        """
        removal = replace(
            withdrawn,
            unsupported=await self._find_unsupported(changes, withdrawn.least),
            words=OwnWords(withdrawn.words.titles, withdrawn.words.names | changes.unheld),
            titles=await load_titles(self.store, self.request.unquotable),
        )
        runs = await self.store.get_evolution_runs(MOST_RUNS)
        affected = await self.store.find_affected_messages(
            self.request.refs,
            removal.sequences,
            self.request.erased_ref,
            removal.words.search_words,
            removal.quotes,
            removal.unsupported,
            list_origins(runs),
            max(LEAST_COUNTED, removal.least),
        )
        changes.reports = redact_reasons(runs, removal)
        changes.hidden = removal.words.search_words | removal.unsupported | removal.quotes
        return replace(removal, messages=await self._redact(changes, affected, removal, runs))

    async def have_more_lost_support(self, changes: TextChanges, lost: Removal) -> bool:
        """Tell whether more attributes lack holders than when messages were changed.

        Args:
            lost: What the messages lost.
        """
        unsupported = await self._find_unsupported(changes, lost.least)
        return not (unsupported <= lost.unsupported and changes.unheld <= lost.words.names)

    async def _find_unsupported(self, changes: TextChanges, least: int) -> frozenset[str]:
        """Find attributes that some client still holds, but fewer than `least` users.

        Messages may keep of such an attribute only what the catalogue brought. Looked at are the
        attributes that the withdrawal's senders brought, and those of the items of its events,
        which evolutions count as choices.
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
        runs: Sequence[EvolutionRun],
    ) -> dict[Key, LostNames]:
        """Set the changes of messages; return what each lost.

        Args:
            runs: All evolutions.
        """
        names = sorted({name for one in affected for name in one.remaining})
        known = {**await self.store.get_attributes(names), **changes.recounted}
        supported = list_supported_names(known, removal.least)
        public = find_public_names(affected, removal.least)
        withdrawal = StandingWithdrawal(runs)
        router_names = RouterNames(await self.store.get_router_versions(self.routers))
        quotable = OwnWords(frozenset().union(*(one.titles for one in removal.titles.values())))
        lost_by_message: dict[Key, LostNames] = {}
        changes.messages = []
        changes.reduced_messages = {}
        for one in sorted(affected, key=lambda one: one.message.round):
            before = one.message
            key = (before.router, before.version)
            unsupported = find_unsupported_parts(
                one, removal.unsupported, supported, public.get(before.round, frozenset())
            )
            standing = withdrawal.correct(one, unsupported)
            after = redact_message(one, removal, unsupported, standing, router_names)
            if quotable.is_in(after.text) or quotable.is_in(after.name):
                for title in await self._find_private_titles(after, removal.titles):
                    after = hide_words(after, title, router_names)
            if after is not before:
                changes.messages.append(after)
            lost = list_lost_names(before, after)
            if lost is not None:
                lost_by_message[key] = lost
            elif not before.text:
                # It may have held a word before it was redacted, and its readers may hold it still.
                lost_by_message[key] = LostNames()
            if one.lost_parts or lost is not None:
                changes.reduced_messages[key] = frozenset(before.attributes) - {*after.attributes}
        return lost_by_message

    async def _find_private_titles(
        self, message: RouterVersion, titles: Mapping[int, OwnWords]
    ) -> list[OwnWords]:
        """Return the titles that events brought to a message."""
        texts = message.text, message.name
        quoted = {ref: title for ref, title in titles.items() if any(map(title.is_in, texts))}
        if not quoted:
            return []
        stored = await self.store.get_router_version(message.router, message.version)
        parts = stored.integrated if stored is not None else ()
        public = {part.ref for part in parts if is_catalogue(part.ref, part.sequence)}
        return [title for ref, title in quoted.items() if ref not in public]


async def load_titles(store: GraphStore, items: Collection[int]) -> dict[int, OwnWords]:
    """Load the titles that items (refs) have or had, by item."""
    titles = list_titles(await store.get_client_contents(sorted(items)))
    return {ref: OwnWords(found) for ref, found in titles.items()}


def redact_reasons(runs: Sequence[EvolutionRun], removal: Removal) -> list[EvolutionRun]:
    """Empty reasons that hold such words; return the changed evolutions."""
    names = removal.words.names | removal.unsupported
    words = [OwnWords(removal.words.titles, names), *removal.titles.values()]
    changed = []
    for run in runs:
        changes = tuple(
            change.model_copy(update={"reason": ""})
            if any(one.is_in(change.reason) for one in words)
            else change
            for change in run.changes
        )
        if changes != run.changes:
            changed.append(run.model_copy(update={"changes": changes}))
    return changed
