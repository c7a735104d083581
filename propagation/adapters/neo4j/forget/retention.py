"""Deletes what retention may drop (RetentionStore); graph_rules/retention.py has the rules.

At its start, a run lists the versions, edges and messages that were replaced, closed or merged up
to its sequence, and the messages that are cited. A replaced version never becomes current again.
But a message that waits for an inactive client may be merged during the run, so each batch looks
its facts up again in its own transaction.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from propagation.adapters.neo4j.connection import StorePart, Transaction
from propagation.adapters.neo4j.reason.text_changes import parse_message_key
from propagation.adapters.neo4j.reason.texts import list_bodies, translate_row_errors
from propagation.adapters.shared.text_bodies import list_cited_messages
from propagation.graph_rules import (
    MessageState,
    may_drop_edge,
    may_drop_merges,
    may_drop_message,
    may_drop_text,
)
from propagation.model import Module
from propagation.reception.message_buffer import MessageKey

Keys = list[list[int]]


@dataclass
class Candidates:
    """Keys that one run may delete, by kind.

    A key leaves its list when its rows were deleted or have to stay.

    Attributes:
        before: The run's sequence, which is the oldest that can be shown afterwards.
        cited: Messages that lines cite now or cited at `before`.
        merged: [router, version] of messages with merges up to `before`.
        replaced: [router, version] of messages with a next version up to `before`.
        texts: [ref, version] of texts with a next version up to `before`, ascending.
        edges: Edges that may be deleted: [ref, router, number of the round that closed it].
    """

    before: int
    cited: frozenset[MessageKey]
    merged: Keys
    replaced: Keys
    texts: Keys
    edges: Keys


class Neo4jRetention(StorePart):
    """Deletes in batches, one kind of rows after another."""

    _candidates: Candidates | None = None

    async def prune(self, before: int, limit: int) -> int | None:
        run = self._candidates
        if run is None or run.before != before:
            run = self._candidates = await self._find_candidates(before)
            await self._database.execute("forget/progress/set_oldest_sequence", before=before)
        dropped = 0
        for keys, delete in (
            (run.merged, _delete_merges),
            (run.edges, _delete_edges),
            (run.replaced, _delete_messages),
            (run.texts, _delete_texts),
        ):
            if dropped < limit:
                dropped += await self._delete_batch(run, keys, delete, limit - dropped)
        for module in Module:
            if dropped < limit:
                dropped += await self._delete_gradients(module, before, limit - dropped)
        if not dropped:
            self._candidates = None
            await self._database.execute("forget/progress/set_checked_round", before=before)
        return dropped or None

    async def get_oldest_kept(self) -> int:
        return await self._database.value("forget/progress/oldest_sequence") or 0

    async def _find_candidates(self, before: int) -> Candidates:
        rows = self._database.rows
        # The lines first: a text that is replaced between the two reads is then in both.
        cited = {
            parse_message_key(key)
            for key in await self._database.value("forget/retention/cited_messages")
        }
        async for page in list_bodies(self._database, "forget/retention/bodies_at", before=before):
            cited |= await asyncio.to_thread(_list_cited, page)
        edges = await rows("forget/retention/closed_edges", before=before)
        return Candidates(
            before,
            frozenset(cited),
            await rows("forget/retention/merged_messages", before=before),
            await rows("forget/retention/replaced_messages", before=before),
            sorted(await rows("forget/retention/replaced_texts", before=before)),
            [
                [ref, router, closed]
                for ref, router, closed, is_first, last_round in edges
                if may_drop_edge(closed, is_first, last_round)
            ],
        )

    async def _delete_batch(
        self,
        run: Candidates,
        keys: Keys,
        delete: Callable[[Transaction, Candidates, Keys, int], Awaitable[int]],
        limit: int,
    ) -> int:
        """Delete rows of the last keys that may be deleted.

        Args:
            delete: Checks keys, and deletes rows of those that may be deleted; returns how many.
            limit: At most so many rows are deleted.

        Returns:
            How many rows were deleted; 0 if no key is left.
        """
        while keys:
            batch = keys[-limit:]

            async def work(transaction: Transaction, batch: Keys = batch) -> int:
                return await delete(transaction, run, batch, limit)

            dropped = await self._database.write(work)
            if dropped < limit:
                del keys[-limit:]
            if dropped:
                return dropped
        return 0

    async def _delete_gradients(self, module: Module, before: int, limit: int) -> int:
        return await self._database.write(
            lambda transaction: transaction.value(
                "forget/retention/delete_gradients",
                module=module.value,
                before=before,
                limit=limit,
            )
        )


def _list_cited(page: Sequence[Sequence[Any]]) -> set[MessageKey]:
    """List the messages that a page of bodies cites."""
    cited = set[MessageKey]()
    for _, *key, body in page:
        if body is not None:
            with translate_row_errors(key):
                cited.update(list_cited_messages(body))
    return cited


async def _delete_merges(transaction: Transaction, run: Candidates, keys: Keys, limit: int) -> int:
    states = await _read_message_states(transaction, run, keys)
    droppable = [list(key) for key, state in states.items() if may_drop_merges(state, run.before)]
    return int(
        await transaction.value("forget/retention/delete_merges", keys=droppable, limit=limit)
    )


async def _delete_messages(transaction: Transaction, run: Candidates, keys: Keys, _: int) -> int:
    states = await _read_message_states(transaction, run, keys)
    droppable = [list(key) for key, state in states.items() if may_drop_message(state, run.before)]
    return int(await transaction.value("forget/retention/delete_messages", keys=droppable))


async def _read_message_states(
    transaction: Transaction, run: Candidates, keys: Keys
) -> dict[MessageKey, MessageState]:
    """Look up the facts that decide whether messages may be deleted.

    The query locks the messages, so that no other transaction merges one of them before this one
    commits.
    """
    return {
        (router, version): MessageState((router, version) in run.cited, merged_at, replaced_at)
        for router, version, merged_at, replaced_at in await transaction.rows(
            "forget/retention/message_states", keys=keys
        )
    }


async def _delete_texts(transaction: Transaction, run: Candidates, keys: Keys, _: int) -> int:
    """Delete versions of texts that no remaining merge or message needs.

    A merge is a relationship from a message to a version of a text, and a message may have a part
    of the version.
    """
    droppable = [
        [ref, version]
        for ref, version, replaced_at, is_held in await transaction.rows(
            "forget/retention/text_states", keys=keys
        )
        if may_drop_text(replaced_at, is_held, run.before)
    ]
    return int(await transaction.value("forget/retention/delete_texts", keys=droppable))


async def _delete_edges(transaction: Transaction, _: Candidates, keys: Keys, __: int) -> int:
    return int(await transaction.value("forget/retention/delete_edges", keys=keys))
