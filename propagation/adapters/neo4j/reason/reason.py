"""Claims, commits and reads of stage 1 (ReasonStore)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from propagation.adapters.neo4j.connection import StorePart, Transaction
from propagation.adapters.neo4j.index.outbox import enqueue_texts
from propagation.adapters.neo4j.reason.claims import choose_pending, load_work
from propagation.adapters.neo4j.reason.texts import (
    check_no_withdrawal,
    create_gradients,
    create_texts,
    current_texts,
    gradient_of,
    lock_clients,
    merged_of,
    text_of,
    text_row,
)
from propagation.model import (
    ClientText,
    DeadLetter,
    Gradient,
    InteractionRow,
    LeaseLost,
    MessageMerge,
    MessageReach,
    Module,
    NumberedMerge,
    NumberedText,
    ReasonClaim,
    ReasonedInteraction,
)

Choose = Callable[[Transaction, "Claims"], Awaitable[Sequence[int]]]


@dataclass(frozen=True)
class Claims:
    """The state of all claims, locked until the transaction ends.

    Attributes:
        reasoned: The reason watermark: everything at or below it is reasoned.
        learned: The sequence through which everything is learned.
        held: The interactions that claims hold.
    """

    reasoned: int
    token: int
    now: int
    learned: int
    held: frozenset[int]


class Neo4jReason(StorePart):
    """Claims by token, texts by version (ReasonStore)."""

    async def claim_reason(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        async def choose(transaction: Transaction, claims: Claims) -> Sequence[int]:
            if not claims.learned:
                return []
            return await choose_pending(
                transaction, claims.held, claims.reasoned, claims.learned, limit
            )

        return await self._claim(worker, ttl_ms, choose)

    async def claim_dead_letters(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        async def choose(transaction: Transaction, claims: Claims) -> Sequence[int]:
            rows = await transaction.rows(
                "reason/claims/free_dead_letters", held=sorted(claims.held), limit=limit
            )
            return [sequence for (sequence,) in rows]

        return await self._claim(worker, ttl_ms, choose)

    async def _claim(self, worker: str, ttl_ms: int, choose: Choose) -> ReasonClaim | None:
        async def work(transaction: Transaction) -> ReasonClaim | None:
            claims = await _lock_claims(transaction)
            sequences = await choose(transaction, claims)
            if not sequences:
                return None
            token, expires = claims.token + 1, claims.now + ttl_ms
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
        if unclaimed := [result.sequence for result in reasoned if result.sequence not in claimed]:
            raise LeaseLost(f"claim {claim.token} does not hold interaction {unclaimed[0]}")
        texts = [(text, result) for result in reasoned for text in result.texts]
        rows = [text_row(text, result.written_at) for text, result in texts]

        async def work(transaction: Transaction) -> None:
            if await transaction.value("reason/claims/lock_claim", token=claim.token) is None:
                raise LeaseLost(
                    f"claim {claim.token} of worker {claim.worker!r} is no longer held: it expired"
                    " and was taken over, or something was withdrawn, or routers evolved"
                )
            await lock_clients(transaction, [text for text, _ in texts])
            await enqueue_texts(transaction, [text for text, _ in texts])
            await create_texts(
                transaction,
                rows,
                [(merge, result.written_at) for result in reasoned for merge in result.merges],
                [result.sequence for _, result in texts],
            )
            await create_gradients(transaction, reasoned)
            await _store_outcomes(transaction, reasoned)
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
        rows = [text_row(text, sequence) for text in texts]

        async def work(transaction: Transaction) -> None:
            await lock_clients(transaction, texts)
            await enqueue_texts(transaction, texts)
            await create_texts(
                transaction,
                rows,
                [(merge, sequence) for merge in merged],
                written_by=written_by,
            )
            await check_no_withdrawal(transaction, after_withdrawal, texts)

        await self._database.write(work)

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        found = await current_texts(self._database, refs)
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
        """Return the numbers of all texts and merges that were ever committed."""
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


async def _lock_claims(transaction: Transaction) -> Claims:
    reasoned, token, now, held, learned = await transaction.single_row(
        "reason/claims/lock_claims", now=transaction.now()
    )
    sequences = frozenset(sequence for claim in held for sequence in claim)
    return Claims(reasoned, token, now, learned[0] if learned else 0, sequences)


async def _store_outcomes(
    transaction: Transaction, reasoned: Sequence[ReasonedInteraction]
) -> None:
    if reasoned:
        await transaction.execute(
            "reason/claims/set_reasoned",
            rows=[
                [
                    result.sequence,
                    result.reward,
                    result.written_at,
                    result.failure,
                    *_authors(result),
                ]
                for result in reasoned
            ],
        )
    failed = [result.sequence for result in reasoned if result.failure is not None]
    recovered = [
        result.sequence for result in reasoned if result.late is not None and result.failure is None
    ]
    if failed:
        await transaction.execute("reason/claims/mark_dead_letters", sequences=failed)
    if recovered:
        await transaction.execute("reason/claims/unmark_dead_letters", sequences=recovered)


def interaction_of(row: Sequence[Any]) -> InteractionRow:
    """Build an interaction from a row of cypher/reason/interactions."""
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


def _authors(result: ReasonedInteraction) -> tuple[list[str] | None, str | None]:
    """Return the prompts and the fallback of an interaction; a dead letter has none."""
    if result.failure is not None:
        return None, None
    return list(result.usage.prompts) or None, result.usage.stand_in or None
