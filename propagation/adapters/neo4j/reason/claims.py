"""Claims of stage 1: hands out interactions and commits the results.

A token identifies each claim.
"""

from collections.abc import Awaitable, Callable, Sequence

from propagation.adapters.neo4j.connection import Neo4jDatabase, StorePart, Transaction
from propagation.adapters.neo4j.learn.learn import unpack_draw_columns
from propagation.adapters.neo4j.reason.text_changes import prepare_texts
from propagation.adapters.neo4j.reason.texts import NewestTexts, create_gradients, create_texts
from propagation.adapters.shared.reason_rows import list_authors
from propagation.graph_rules import (
    Draw,
    build_reason_works,
    check_claim,
    choose_interactions,
    count_pending_to_fetch,
    find_dead_letters,
    find_reasoned_through,
    list_drawn_items,
    read_draws,
)
from propagation.model import ReasonClaim, ReasonedInteraction, ReasonWork

Find = Callable[[Transaction, int, int, int], Awaitable[Sequence[Sequence[int]]]]
"""Finds the oldest interactions that a new claim may take.

Its arguments are the transaction, the sequence up to which everything is reasoned, the sequence up
to which everything is learned, and how many interactions to find. The first sequence is locked
until the transaction ends. It returns (sequence, user) of each interaction, by sequence.
"""


class Neo4jClaims(StorePart):
    """Makes, renews and commits claims."""

    def __init__(self, database: Neo4jDatabase) -> None:
        super().__init__(database)
        self.newest_texts = NewestTexts()

    async def claim_reason(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        async def find(
            transaction: Transaction, reasoned: int, learned: int, count: int
        ) -> Sequence[Sequence[int]]:
            pending = await transaction.table(
                "reason/claims/pending_interactions", after=reasoned, through=learned, limit=count
            )
            through = find_reasoned_through(pending[0][0] if pending else None, learned)
            if through > reasoned:
                await transaction.execute("reason/claims/set_reasoned_through", through=through)
            return pending

        return await self._claim(worker, limit, ttl_ms, find)

    async def claim_dead_letters(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        async def find(
            transaction: Transaction, reasoned: int, learned: int, count: int
        ) -> Sequence[Sequence[int]]:
            return await transaction.rows("reason/claims/oldest_dead_letters", limit=count)

        return await self._claim(worker, limit, ttl_ms, find)

    async def queue_dead_letters(self, sequences: Sequence[int] | None) -> int:
        async def work(transaction: Transaction) -> int:
            return int(
                await transaction.value(
                    "reason/claims/queue_dead_letters",
                    sequences=None if sequences is None else list(sequences),
                )
            )

        return await self._database.write(work)

    async def _claim(self, worker: str, limit: int, ttl_ms: int, find: Find) -> ReasonClaim | None:
        async def work(transaction: Transaction) -> ReasonClaim | None:
            reasoned, last_token, now, held, learned = await transaction.read_single_row(
                "reason/claims/lock_claims", now=transaction.now()
            )
            claimed = frozenset(sequence for claim in held for sequence in claim)
            oldest = await find(
                transaction,
                reasoned,
                learned[0] if learned else 0,
                count_pending_to_fetch(limit, len(claimed)),
            )
            sequences = choose_interactions(oldest, claimed, limit)
            if not sequences:
                return None
            token = last_token + 1
            await transaction.execute(
                "reason/claims/create_claim",
                token=token,
                worker=worker,
                expires=now + ttl_ms,
                work=list(sequences),
            )
            return ReasonClaim(
                token=token,
                worker=worker,
                work=tuple(await _load_work(transaction, sequences)),
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
        texts = [(text, result) for result in reasoned for text in result.texts]
        new = prepare_texts([text for text, _ in texts], [result.sequence for _, result in texts])

        async def work(transaction: Transaction) -> None:
            found = await transaction.row("reason/claims/lock_claim", token=claim.token)
            check_claim(claim, found is not None, (result.sequence for result in reasoned))
            await create_texts(
                transaction,
                new,
                [result.written_at for _, result in texts],
                [(merge, result.written_at) for result in reasoned for merge in result.merges],
                newest=self.newest_texts,
            )
            await create_gradients(transaction, reasoned)
            await _store_outcomes(transaction, reasoned)
            if not more:
                await transaction.execute("reason/claims/finish_claim", token=claim.token)

        await self._database.write(work)
        self.newest_texts.keep(new.texts)


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
                    *list_authors(result),
                ]
                for result in reasoned
            ],
        )
    failed, recovered = find_dead_letters(reasoned)
    if failed:
        await transaction.execute(
            "reason/claims/mark_dead_letters",
            rows=[
                [result.sequence, result.attempts, *(text or None for text in result.exchange)]
                for result in failed
            ],
            now=transaction.now(),
        )
    if recovered:
        await transaction.execute(
            "reason/claims/unmark_dead_letters",
            sequences=[result.sequence for result in recovered],
        )


async def _load_work(transaction: Transaction, sequences: Sequence[int]) -> list[ReasonWork]:
    """Load the work of a claim, whose sequences must be ascending."""
    draws: dict[int, Draw] = {}
    for row in await transaction.rows("learn/blocks/draws_of_sequences", sequences=list(sequences)):
        draws |= read_draws(unpack_draw_columns(*row), sequences[len(draws) :])
    interactions, known_items = await transaction.read_single_row(
        "reason/claims/claimed_interactions",
        sequences=list(sequences),
        drawn=list_drawn_items(draws.values()),
    )
    return build_reason_works(interactions, draws, set(known_items))
