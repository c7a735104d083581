"""Which interactions a worker may hold, and what it is told of them."""

from collections.abc import Collection, Sequence

import numpy as np

from propagation.adapters.neo4j.connection.database import Transaction
from propagation.adapters.neo4j.learn.learned_blocks import drawn_of
from propagation.model.clients.client import ClientKind, ref_of
from propagation.model.interactions.reasoning import ReasonWork

LOOK_AHEAD = 8


async def choose(
    transaction: Transaction, held: Collection[int], after: int, through: int, limit: int
) -> list[int]:
    """The oldest waiting interactions that no claim holds and whose users have none before them
    that one does."""
    most = limit * LOOK_AHEAD + len(held) if held else limit
    chosen: list[int] = []
    blocked: set[int] = set()
    for sequence, user in await transaction.table(
        "reason/waiting", after=after, through=through, limit=most
    ):
        if sequence in held or user in blocked:
            blocked.add(user)
        elif len(chosen) < limit:
            chosen.append(sequence)
    return chosen


async def work_of(transaction: Transaction, sequences: Sequence[int]) -> list[ReasonWork]:
    """Interactions with what learn stored of them; sequences ascending."""
    learned = await _learned(transaction, sequences)
    works = []
    refs = {
        ref_of(ClientKind.ITEM, negative) for negative, _, _ in learned.values() if negative >= 0
    }
    row = await transaction.row("reason/work", sequences=list(sequences), drawn=sorted(refs))
    assert row is not None, "a statement that only collects has one row"
    there = set(row[1])
    for sequence, user, item, weight in row[0]:
        negative, positive_score, negative_score = learned[sequence]
        drawn = negative >= 0 and ref_of(ClientKind.ITEM, negative) in there
        works.append(
            ReasonWork(
                sequence=sequence,
                user=user,
                item=item,
                negative=ref_of(ClientKind.ITEM, negative) if drawn else None,
                weight=weight,
                score_positive=positive_score if drawn else None,
                score_negative=negative_score if drawn else None,
            )
        )
    return works


async def _learned(
    transaction: Transaction, sequences: Sequence[int]
) -> dict[int, tuple[int, float, float]]:
    """(first negative's row or -1, score of i+, score of i-) as learn stored them."""
    found: dict[int, tuple[int, float, float]] = {}
    left = np.array(sequences, np.int64)
    while len(left):
        row = await transaction.row("learn/drawn_for", sequence=int(left[0]))
        assert row is not None, "what waits is learned"
        through, size, drawn = row
        learned, negatives, scores = drawn_of(size, drawn)
        inside = left[left <= through]
        places = np.searchsorted(learned, inside)
        for sequence, negative, (positive, other) in zip(
            inside.tolist(), negatives[places].tolist(), scores[places].tolist(), strict=True
        ):
            found[sequence] = (negative, positive, other)
        left = left[len(inside) :]
    return found
