"""Searches for what a withdrawal must change (ErasureStore); withdrawal.py makes the commit."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.forget.citation_search import find_citing_texts
from propagation.adapters.neo4j.forget.learned_rows import (
    clear_draws,
    read_learned_weights,
    write_marked_rows,
)
from propagation.adapters.neo4j.forget.withdrawal import COMMIT_STATEMENTS, withdraw
from propagation.adapters.neo4j.maintenance.sweeper import SWEEPS, Neo4jSweeper
from propagation.adapters.neo4j.reason.texts import (
    TEXTS_PER_READ,
    list_bodies,
    translate_row_errors,
)
from propagation.adapters.neo4j.record.record import find_forgotten
from propagation.adapters.neo4j.rounds.messages import Neo4jMessages
from propagation.adapters.shared.erasure import (
    find_ascii_word,
    fold_words,
    holds_name,
    list_special_letters,
)
from propagation.adapters.shared.reason_rows import build_interaction
from propagation.adapters.shared.text_bodies import encode_words, holds_word
from propagation.graph_rules import (
    choose_affected_keys,
    choose_counted_attributes,
    decide_event_states,
    find_indebted_routers,
)
from propagation.model import (
    AffectedMessage,
    CitationSearch,
    ClientKind,
    EventState,
    IntegratedAttribute,
    InteractionRow,
    LearnedWeights,
    MessageMerge,
    StagedCheckpoint,
    StoredText,
    UserChoices,
    Withdrawal,
    WithdrawalResult,
    get_kind,
    group_pairs,
    split_into_batches,
)
from propagation.ports import Lease

CLIENTS_PER_READ = 10_000
WIPING_STATEMENTS = (
    "forget/wiping/pending_clients",
    "maintenance/sweep/delete_gradients_of_client",
    "forget/wiping/count_erasures",
    "forget/learned_rows/marked_blocks",
    "forget/learned_rows/write_block",
    "maintenance/check/numbers/item_refs",
    "maintenance/check/numbers/items_given",
    "learn/blocks/learned_through",
    "maintenance/check/numbers/draws_between",
    "forget/learned_rows/blocks",
    "forget/wiping/finish_wiping",
)

OTHER_STATEMENTS = (
    "forget/progress/last_withdrawal",
    "record/clients/client_refs",
    "record/clients/clients",
    "record/clients/client_contents",
    "forget/events/event_states",
    "forget/events/interactions_of_clients",
    "forget/events/user_choices",
    "forget/events/orphans",
    "learn/blocks/list_blocks",
    "learn/blocks/blocks_of_sequences",
    "forget/learned_rows/block_sizes",
    "learn/checkpoints/create_checkpoint",
    "learn/checkpoints/create_pieces",
    "learn/checkpoints/move_checkpoint",
    "rounds/evolution/list_maps",
    "rounds/evolution/list_runs",
    "reason/texts/commit_numbers",
    "reason/texts/bodies_after",
    "reason/texts/texts_of_versions",
    "reason/interactions/interactions",
    "forget/search/versions_written_at",
    "forget/search/version_gaps",
    "forget/search/versions_from",
    "forget/search/texts_with_words",
    "forget/search/replaced_versions",
    "forget/search/brought_attributes",
    "forget/progress/oldest_sequence",
    "forget/messages/parts_of_clients",
    "forget/messages/messages_with_words",
    "forget/messages/remaining_senders",
    "forget/messages/readers_of_messages",
    "rounds/messages/messages",
    "rounds/messages/newest_messages",
    "rounds/messages/parts_of_message",
    "rounds/messages/senders",
    "rounds/attributes/attributes",
    "rounds/attributes/attributes_of_clients",
    "index/points/store_points",
    "index/points/delete_points",
    "index/outbox/delete_changes",
)
"""The statements before the commit, and those that bring the index up to date after it."""


class Neo4jErasure(Neo4jMessages, Neo4jSweeper):
    """Finds what a withdrawal must change, publishes withdrawals, and wipes traces."""

    wipes_in_seconds = True

    async def get_event_states(self, event_ids: Sequence[str]) -> Sequence[EventState]:
        async def work(
            transaction: Transaction,
        ) -> Sequence[EventState]:
            row = await transaction.read_single_row(
                "forget/events/event_states", events=sorted(set(event_ids))
            )
            recorded = {found[1]: build_interaction(found) for found in row[0]}
            forgotten = await find_forgotten(transaction, row[2], event_ids)
            return decide_event_states(event_ids, recorded, row[1], forgotten)

        return await self._database.read(work)

    async def get_interactions_of_clients(self, refs: Sequence[int]) -> Sequence[InteractionRow]:
        return [
            build_interaction(row)
            for row in await self._database.table(
                "forget/events/interactions_of_clients", refs=sorted(set(refs))
            )
        ]

    async def find_orphans(self, ref: int) -> Sequence[int]:
        return [orphan for (orphan,) in await self._database.rows("forget/events/orphans", ref=ref)]

    async def get_user_choices(self, users: Sequence[int]) -> UserChoices:
        return UserChoices.from_rows(
            await self._database.table("forget/events/user_choices", refs=sorted(set(users)))
        )

    async def get_learned_weights(self, sequences: Sequence[int]) -> LearnedWeights:
        return await read_learned_weights(self._database, sequences)

    async def find_citing_texts(self, searches: Sequence[CitationSearch]) -> Sequence[StoredText]:
        return await find_citing_texts(self._database, searches)

    async def find_names_used_by_others(self, ref: int, names: frozenset[str]) -> frozenset[str]:
        used: set[str] = set()
        last = -1
        while unfound := names - used:
            row = await self._database.row(
                "forget/search/texts_with_words",
                after=last,
                limit=CLIENTS_PER_READ,
                ref=ref,
                words=sorted({find_ascii_word(name) for name in unfound}),
            )
            if row is None or row[0] is None:
                break
            last = row[0]
            used.update(
                name for name in unfound if any(holds_name(texts, name) for texts in row[1])
            )
        return frozenset(used)

    async def find_clients_naming(
        self, words: frozenset[str], replaced_by: int | None = None
    ) -> frozenset[int]:
        encoded = encode_words(words)
        found: set[int] = set()
        pages = (
            list_bodies(self._database, "reason/texts/bodies_after")
            if replaced_by is None
            else _list_replaced_bodies(self._database, replaced_by)
        )
        async for rows in pages:
            found |= await asyncio.to_thread(_list_holders, rows, encoded)
        return frozenset(found)

    async def get_brought_attributes(self, refs: Sequence[int]) -> frozenset[str]:
        names = await self._database.value("forget/search/brought_attributes", refs=list(refs))
        return frozenset(names or ())

    async def find_affected_messages(
        self,
        refs: Sequence[int],
        sequences: frozenset[int],
        erased_refs: Collection[int],
        words: frozenset[str],
        titles: frozenset[str],
        names: frozenset[str],
        origins: Mapping[int, frozenset[int]],
        limit: int,
    ) -> Sequence[AffectedMessage]:
        of = {
            "refs": sorted(set(refs)),
            "sequences": sorted(sequences),
            "erased_refs": sorted(erased_refs),
        }
        rows = await self._database.table("forget/messages/parts_of_clients", **of)
        lost_parts = group_pairs(
            ((router, version), IntegratedAttribute(*part)) for router, version, _, *part in rows
        )
        rounds = {(router, version): number for router, version, number, *_ in rows}
        lost = {part.attribute for parts in lost_parts.values() for part in parts}
        found = []
        if words or titles or names or lost:
            found = await self._database.table(
                "forget/messages/messages_with_words",
                words=fold_words(words),
                titles=fold_words(titles),
                letters=list_special_letters(fold_words(words | titles)),
                names=sorted(names),
                lost=sorted(lost),
                indebted=sorted(find_indebted_routers(rounds, origins)),
            )
        keys = choose_affected_keys(rounds, map(tuple, found))
        published = await self.read_brief_versions(keys)
        counted = sorted(
            (*key, name)
            for key, message in published.items()
            for name in choose_counted_attributes(message, lost_parts.get(key, ()), names)
        )
        remaining = group_pairs(
            ((router, version), (name, frozenset((ref, sequence) for ref, sequence in senders)))
            for router, version, name, senders in await self._database.table(
                "forget/messages/remaining_senders",
                rows=[list(row) for row in counted],
                limit=limit,
                **of,
            )
        )
        return [
            AffectedMessage(message, lost_parts.get(key, ()), dict(remaining.get(key, ())))
            for key, message in published.items()
        ]

    async def get_merges_of_messages(
        self, messages: Sequence[tuple[int, int]]
    ) -> Sequence[MessageMerge]:
        return [
            MessageMerge(*row)
            for row in await self._database.table(
                "forget/messages/readers_of_messages",
                keys=[list(key) for key in messages],
            )
        ]

    async def prepare_withdrawal(self, *, search: bool) -> AsyncIterator[None]:
        searching = OTHER_STATEMENTS if search else ()
        for name in (*COMMIT_STATEMENTS, *SWEEPS, *WIPING_STATEMENTS, *searching):
            await self._database.plan(name)
            yield

    async def withdraw(
        self, lease: Lease, withdrawal: Withdrawal, barrier: StagedCheckpoint
    ) -> WithdrawalResult:
        done = await withdraw(self._database, lease, withdrawal, barrier)
        self.sweep_after_commit()
        if withdrawal.erased is None:  # after an erasure, `wipe` writes them
            await write_marked_rows(self._database)
        return done

    async def get_last_withdrawal(self) -> int:
        return int(await self._database.value("forget/progress/last_withdrawal"))

    async def is_wiping_due(self) -> bool:
        return bool(await self._database.value("forget/wiping/wiping_pending"))

    async def wipe(self) -> None:
        """Write marked rows into their blocks and delete what was dropped.

        Items that were removed leave what was drawn for others. All blocks are read for it, so it
        is left out where only users wait to be wiped. Where nobody waits, earlier versions of the
        service may have left some.

        Traces remain in free parts of the server's files and in its transaction log;
        docs/erasure.md says how an operator removes them. If another process erases a client
        meanwhile, wiping stays pending.
        """
        times = await self._database.value("forget/wiping/count_erasures")
        await write_marked_rows(self._database)
        refs = await self._database.value("forget/wiping/pending_clients") or ()
        if not refs or any(get_kind(ref) == ClientKind.ITEM for ref in refs):
            await clear_draws(self._database)
        await self.sweep()
        await self._database.execute("forget/wiping/finish_wiping", times=times)


async def _list_replaced_bodies(
    database: Neo4jDatabase, by: int
) -> AsyncIterator[Sequence[Sequence[Any]]]:
    """Yield pages of versions that newer ones had replaced by a sequence.

    Yields:
        Rows like those of cypher/reason/texts/bodies_after.
    """
    keys = await database.table("forget/search/replaced_versions", by=by)
    for some in split_into_batches(keys, TEXTS_PER_READ):
        rows = await database.table("reason/texts/texts_of_versions", keys=some)
        yield [[0, row[0], row[1], row[-1]] for row in rows]


def _list_holders(rows: Sequence[Sequence[Any]], words: Sequence[bytes]) -> set[int]:
    """Return the clients whose texts hold a word, among rows of bodies_after."""
    found = set[int]()
    for _, ref, version, body in rows:
        with translate_row_errors([ref, version]):
            if holds_word(body, words):
                found.add(ref)
    return found
