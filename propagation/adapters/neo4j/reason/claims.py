"""Fetches the facts for the rules of a claim (propagation/graph_rules/claims.py)."""

from collections.abc import Collection, Sequence

from propagation.adapters.neo4j.connection import Transaction
from propagation.adapters.neo4j.learn.learn import draw_columns
from propagation.graph_rules.claims import (
    ClaimedInteraction,
    Draw,
    PendingInteraction,
    choose_interactions,
    drawn_items,
    pending_to_fetch,
    read_draws,
    reason_work,
)
from propagation.model import ReasonWork


async def choose_pending(
    transaction: Transaction, claimed: Collection[int], after: int, through: int, limit: int
) -> list[int]:
    """Choose interactions for a new claim among those after `after` that are learned."""
    pending = await transaction.table(
        "reason/claims/pending_interactions",
        after=after,
        through=through,
        limit=pending_to_fetch(limit, len(claimed)),
    )
    return choose_interactions((PendingInteraction(*row) for row in pending), claimed, limit)


async def load_work(transaction: Transaction, sequences: Sequence[int]) -> list[ReasonWork]:
    """Load the work of a claim; `sequences` ascending."""
    draws: dict[int, Draw] = {}
    while remaining := sequences[len(draws) :]:
        row = await transaction.single_row("learn/blocks/draws_at", sequence=remaining[0])
        draws |= read_draws(draw_columns(*row), remaining)
    row = await transaction.single_row(
        "reason/claims/claimed_interactions",
        sequences=list(sequences),
        drawn=drawn_items(draws.values()),
    )
    interactions, known_items = row
    return reason_work(
        (ClaimedInteraction(*interaction) for interaction in interactions), draws, set(known_items)
    )
