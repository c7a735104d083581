"""ReasonStore on Neo4j."""

from collections.abc import Mapping, Sequence
from typing import Any

from propagation.adapters.neo4j.connection.database import StorePart, Transaction
from propagation.adapters.neo4j.index.outbox import put_texts_out
from propagation.adapters.neo4j.reason.claims import choose_pending, load_work
from propagation.adapters.neo4j.reason.text_nodes import text_of
from propagation.adapters.neo4j.reason.texts import (
    check_still,
    gradient_of,
    hold_clients,
    merged_of,
    newest_texts,
    put_gradients,
    put_texts,
    rows_of,
)
from propagation.model.clients.client_text import ClientText, MessageMerge
from propagation.model.clients.gradient import Gradient, Module
from propagation.model.errors import LeaseLost
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.interactions.reasoning import DeadLetter, ReasonClaim, ReasonedInteraction
from propagation.model.routers.router import MessageReach
from propagation.model.watch_events import NumberedMerge, NumberedText


class Neo4jReason(StorePart):
    """Texts as versions, claims by token."""

    async def claim_reason(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        async def work(transaction: Transaction) -> ReasonClaim | None:
            row = await transaction.row("reason/claims/lock_claims", now=self._database.now())
            assert row is not None, "opening makes this node"
            after, token, now, claims, learned = row
            held = {sequence for claim in claims for sequence in claim}
            chosen = (
                await choose_pending(transaction, held, after, learned[0], limit) if learned else []
            )
            return (
                await _claimed(transaction, token + 1, worker, now + ttl_ms, chosen)
                if chosen
                else None
            )

        return await self._database.write(work)

    async def claim_dead_letters(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        async def work(transaction: Transaction) -> ReasonClaim | None:
            row = await transaction.row("reason/claims/lock_claims", now=self._database.now())
            assert row is not None, "opening makes this node"
            _, token, now, claims, _ = row
            held = [sequence for claim in claims for sequence in claim]
            chosen = [
                row[0]
                for row in await transaction.rows(
                    "reason/claims/free_dead_letters", held=held, limit=limit
                )
            ]
            return (
                await _claimed(transaction, token + 1, worker, now + ttl_ms, chosen)
                if chosen
                else None
            )

        return await self._database.write(work)

    async def renew_claims(self, tokens: Sequence[int], ttl_ms: int) -> None:
        await self._database.execute(
            "reason/claims/extend_claims",
            tokens=list(tokens),
            ttl=ttl_ms,
            now=self._database.now(),
        )

    async def commit_reasoned(
        self, claim: ReasonClaim, reasoned: Sequence[ReasonedInteraction], *, more: bool = False
    ) -> None:
        claimed = {work.sequence for work in claim.work}
        if strange := [result.sequence for result in reasoned if result.sequence not in claimed]:
            raise LeaseLost(f"claim {claim.token} does not hold interaction {strange[0]}")
        texts = [(text, result) for result in reasoned for text in result.texts]
        rows = rows_of([(text, result.written_at) for text, result in texts])

        async def work(transaction: Transaction) -> None:
            if await transaction.value("reason/claims/lock_claim", token=claim.token) is None:
                raise LeaseLost(
                    f"claim {claim.token} of worker {claim.worker!r} stands no more: it expired and was taken over, or"
                    " something was taken back, or routers evolved, meanwhile"
                )
            await hold_clients(transaction, [text for text, _ in texts])
            await put_texts_out(transaction, [text for text, _ in texts], self._database.now())
            await put_texts(
                transaction,
                self._database.now(),
                rows,
                [(merge, result.written_at) for result in reasoned for merge in result.merges],
                [result.sequence for _, result in texts],
            )
            await put_gradients(transaction, reasoned)
            await _mark(transaction, reasoned)
            if not more:
                await transaction.execute("reason/claims/finish_claim", token=claim.token)

        await self._database.write(work)

    async def commit_texts(
        self,
        texts: Sequence[ClientText],
        merged: Sequence[MessageMerge],
        sequence: int,
        after_withdrawal: int | None = None,
        written_by: str = "",
    ) -> None:
        rows = rows_of([(text, sequence) for text in texts])

        async def work(transaction: Transaction) -> None:
            await hold_clients(transaction, texts)
            await put_texts_out(transaction, texts, self._database.now())
            await put_texts(
                transaction,
                self._database.now(),
                rows,
                [(merge, sequence) for merge in merged],
                written_by=written_by,
            )
            await check_still(transaction, after_withdrawal, texts)

        await self._database.write(work)

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        found = await newest_texts(self._database, refs)
        return {ref: found.get(ref) or ClientText.empty(ref) for ref in refs}

    async def text_versions(self, refs: Sequence[int] | None = None) -> Mapping[int, int]:
        if refs is not None:
            return dict(await self._database.table("reason/texts/text_versions", refs=list(refs)))
        row = await self._database.row("reason/texts/all_versions")
        return dict(zip(*row, strict=True)) if row else {}

    async def texts_through(self) -> int:
        return int((await self._numbers())[0])

    async def texts_after(self, number: int, limit: int) -> Sequence[NumberedText]:
        rows = await self._database.write(
            lambda transaction: transaction.rows(
                "reason/texts/texts_after", number=number, limit=limit
            )
        )
        return [NumberedText(*row) for row in rows]

    async def merges_through(self) -> int:
        return int((await self._numbers())[1])

    async def merges_after(self, number: int, through: int, limit: int) -> Sequence[NumberedMerge]:
        rows = await self._database.write(
            lambda transaction: transaction.rows(
                "reason/merges/merges_after", number=number, through=through, limit=limit
            )
        )
        return [
            NumberedMerge(number=row[0], sequence=row[1], merge=merged_of(row[2:])) for row in rows
        ]

    async def _numbers(self) -> list[int]:
        """[texts, merges] that were ever committed."""
        return await self._database.row("reason/texts/commit_numbers") or [0, 0]

    async def message_reach(self, newest: int) -> Sequence[MessageReach]:
        after = await self.merges_through() - newest
        return [
            MessageReach(
                router=row[0],
                clients=row[1],
                merged=row[2],
                filtered=row[3],
                empty=row[4],
                fell_out=row[5],
            )
            for row in await self._database.rows("reason/merges/message_reach", after=after)
        ]

    async def texts_of_versions(
        self, versions: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], ClientText]:
        rows = await self._database.rows(
            "reason/texts/texts_of_versions", keys=[list(key) for key in sorted(set(versions))]
        )
        return {(row[0], row[1]): text_of(row) for row in rows}

    async def text_at(self, ref: int, sequence: int) -> ClientText | None:
        row = await self._database.row("reason/texts/text_at", ref=ref, sequence=sequence)
        return None if row is None else text_of(row)

    async def reasoned_through(self) -> int:
        return await self._database.value("reason/interactions/reasoned_through") or 0

    async def interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        rows = await self._database.rows(
            "reason/interactions/interactions", sequences=list(sequences)
        )
        found = {row[0]: interaction_of(row) for row in rows}
        return [found[sequence] for sequence in sequences if sequence in found]

    async def find_event(self, event_id: str) -> InteractionRow | None:
        row = await self._database.row(
            "reason/interactions/interaction_of_event", event_id=event_id
        )
        return None if row is None else interaction_of(row)

    async def merges_of_message(
        self, router: int, version: int, limit: int
    ) -> Sequence[MessageMerge]:
        rows = await self._database.rows(
            "reason/merges/merges_of_message", router=router, version=version, limit=limit
        )
        return [merged_of(row) for row in rows]

    async def gradients(
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
        return [gradient_of(row) for row in rows]

    async def dead_letters(self, limit: int) -> Sequence[DeadLetter]:
        return [
            DeadLetter(sequence, reason)
            for sequence, reason in await self._database.rows(
                "reason/interactions/list_dead_letters", limit=limit
            )
        ]


async def _claimed(
    transaction: Transaction, token: int, worker: str, expires: int, sequences: Sequence[int]
) -> ReasonClaim:
    await transaction.execute(
        "reason/claims/create_claim",
        token=token,
        worker=worker,
        expires=expires,
        work=list(sequences),
    )
    return ReasonClaim(
        token=token,
        worker=worker,
        expires=expires,
        work=tuple(await load_work(transaction, sequences)),
    )


async def _mark(transaction: Transaction, reasoned: Sequence[ReasonedInteraction]) -> None:
    """Each interaction of a claim as what became of it."""
    if reasoned:
        await transaction.execute(
            "reason/claims/set_reasoned",
            rows=[
                [
                    result.sequence,
                    result.reward,
                    result.written_at,
                    result.failure,
                    *_written_with(result),
                ]
                for result in reasoned
            ],
        )
    failed = [result.sequence for result in reasoned if result.failure is not None]
    mended = [
        result.sequence for result in reasoned if result.late is not None and result.failure is None
    ]
    if failed:
        await transaction.execute("reason/claims/mark_dead_letters", sequences=failed)
    if mended:
        await transaction.execute("reason/claims/unmark_dead_letters", sequences=mended)


def interaction_of(row: Sequence[Any]) -> InteractionRow:
    return InteractionRow(
        sequence=row[0],
        event_id=row[1],
        user=row[2],
        item=row[3],
        negative=row[4],
        time=row[5],
        weight=row[6],
        prompts=tuple(row[7] or ()),
        stand_in=row[8] or "",
    )


def _written_with(result: ReasonedInteraction) -> tuple[list[str] | None, str | None]:
    """As an interaction's properties; a dead letter wrote nothing."""
    if result.failure is not None:
        return None, None
    return list(result.usage.prompts) or None, result.usage.stand_in or None
