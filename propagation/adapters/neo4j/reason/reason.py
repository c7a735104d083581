"""Texts, merges and reads of stage 1 (ReasonStore)."""

from collections.abc import Mapping, Sequence

from propagation.adapters.neo4j.connection import Transaction
from propagation.adapters.neo4j.reason.claims import Neo4jClaims
from propagation.adapters.neo4j.reason.text_changes import prepare_texts
from propagation.adapters.neo4j.reason.texts import (
    build_text,
    create_texts,
    read_current_texts,
    read_stored_texts,
)
from propagation.adapters.shared.reason_rows import (
    build_failed_reasoning,
    build_fate,
    build_gradient,
    build_interaction,
)
from propagation.adapters.shared.upper_bounds import get_bound
from propagation.graph_rules import check_no_withdrawal, find_reasoned_through
from propagation.model import (
    ClientText,
    DatedText,
    DeadLetter,
    FailedReasoning,
    Gradient,
    InteractionRow,
    MessageFate,
    MessageMerge,
    MessageReach,
    Module,
    NumberedMerge,
    NumberedText,
    ReasoningBacklog,
)


class Neo4jReason(Neo4jClaims):
    """Reads what was reasoned, and commits texts that no interaction wrote."""

    async def commit_texts(
        self,
        texts: Sequence[ClientText],
        merged: Sequence[MessageMerge],
        sequence: int,
        after_withdrawal: int | None = None,
        written_by: str = "",
    ) -> None:
        new = prepare_texts(texts)

        async def work(transaction: Transaction) -> None:
            await create_texts(
                transaction,
                new,
                [sequence] * len(texts),
                [(merge, sequence) for merge in merged],
                written_by,
                self.newest_texts,
            )
            # after `create_texts`, which takes the lock that a withdrawal waits for
            last = await transaction.value("forget/progress/last_withdrawal")
            check_no_withdrawal(texts, after_withdrawal, last)

        await self._database.write(work)
        self.newest_texts.keep(texts)

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        found = await read_current_texts(self._database, refs)
        return {ref: found.get(ref) or ClientText.empty(ref) for ref in refs}

    async def get_text_versions(self, refs: Sequence[int] | None = None) -> Mapping[int, int]:
        if refs is not None:
            return dict(await self._database.table("reason/texts/text_versions", refs=list(refs)))
        row = await self._database.row("reason/texts/all_versions")
        return dict(zip(*row, strict=True)) if row else {}

    async def get_texts_through(self) -> int:
        return int((await self._get_numbers())[0])

    async def get_texts_after(self, number: int, limit: int) -> Sequence[NumberedText]:
        rows = await self._database.write(
            lambda transaction: transaction.table(
                "reason/texts/texts_after", number=number, limit=limit
            )
        )
        return [NumberedText(*row) for row in rows]

    async def get_merges_through(self) -> int:
        return int((await self._get_numbers())[1])

    async def get_merges_after(
        self, number: int, through: int, limit: int
    ) -> Sequence[NumberedMerge]:
        rows = await self._database.write(
            lambda transaction: transaction.table(
                "reason/merges/merges_after", number=number, through=through, limit=limit
            )
        )
        return [
            NumberedMerge(number=row[0], sequence=row[1], merge=MessageMerge(*row[2:]))
            for row in rows
        ]

    async def _get_numbers(self) -> list[int]:
        """Return how many texts and how many merges were ever committed."""
        return await self._database.row("reason/texts/commit_numbers") or [0, 0]

    async def count_message_reach(self, newest: int) -> Sequence[MessageReach]:
        after = await self.get_merges_through() - newest
        return [
            MessageReach.from_row(row)
            for row in await self._database.rows("reason/merges/message_reach", after=after)
        ]

    async def get_texts_of_versions(
        self, versions: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], ClientText]:
        return await read_stored_texts(self._database, versions)

    async def get_text_history(
        self, ref: int, limit: int, before: int | None = None
    ) -> Sequence[DatedText]:
        return [
            DatedText(build_text(row[:6]), *row[6:])
            for row in await self._database.rows(
                "reason/texts/text_history", ref=ref, before=get_bound(before), limit=limit
            )
        ]

    async def get_merges_into(self, ref: int, versions: Sequence[int]) -> Sequence[MessageMerge]:
        rows = await self._database.rows(
            "reason/merges/merges_into", ref=ref, versions=sorted(set(versions))
        )
        return [MessageMerge(*row) for row in rows]

    async def get_text_at(self, ref: int, sequence: int) -> ClientText | None:
        row = await self._database.row("reason/texts/text_at", ref=ref, sequence=sequence)
        return None if row is None else build_text(row)

    async def get_reasoned_through(self) -> int:
        row = await self._database.row("reason/interactions/oldest_pending")
        return 0 if row is None else find_reasoned_through(*row)

    async def count_backlog(self) -> ReasoningBacklog:
        after = await self.get_reasoned_through()
        above, done = await self._database.row("reason/interactions/count_above", after=after) or (
            0,
            0,
        )
        return ReasoningBacklog(pending=above - done, done_above=done)

    async def get_interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        rows = await self._database.table(
            "reason/interactions/interactions", sequences=list(sequences)
        )
        found = {row[0]: build_interaction(row) for row in rows}
        return [found[sequence] for sequence in sequences if sequence in found]

    async def get_merges_of_message(
        self, router: int, version: int, limit: int
    ) -> Sequence[MessageMerge]:
        rows = await self._database.rows(
            "reason/merges/merges_of_message", router=router, version=version, limit=limit
        )
        return [MessageMerge(*row) for row in rows]

    async def get_message_fates(
        self, router: int, versions: Sequence[int], clients: int
    ) -> Mapping[int, MessageFate]:
        rows = await self._database.rows(
            "reason/merges/message_fates",
            router=router,
            versions=sorted(set(versions)),
            clients=clients,
        )
        return {version: build_fate(counts, refs) for version, *counts, refs in rows}

    async def get_gradients(
        self, module: Module, owner: int | None, after: int, limit: int
    ) -> Sequence[Gradient]:
        if owner is None:
            rows = await self._database.rows(
                "reason/gradients/gradients_of_module",
                module=module.value,
                after=after,
                limit=limit,
            )
        else:
            rows = await self._database.rows(
                "reason/gradients/gradients_of_owner",
                module=module.value,
                owner=owner,
                after=after,
                limit=limit,
            )
        return [build_gradient(row) for row in rows]

    async def get_dead_letters(self, limit: int) -> Sequence[DeadLetter]:
        return [
            DeadLetter(sequence, reason)
            for sequence, reason in await self._database.rows(
                "reason/interactions/list_dead_letters", limit=limit
            )
        ]

    async def has_queued_dead_letters(self) -> bool:
        return bool(await self._database.rows("reason/claims/oldest_dead_letters", limit=1))

    async def get_failed_reasoning(
        self, limit: int, before: int | None = None
    ) -> Sequence[FailedReasoning]:
        return [
            build_failed_reasoning(row)
            for row in await self._database.rows(
                "reason/interactions/newest_dead_letters", before=get_bound(before), limit=limit
            )
        ]
