"""A reasoning claim: the interactions that it takes, and its work."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.model import (
    F32,
    I32,
    I64,
    ClientKind,
    ReasonedInteraction,
    ReasonWork,
    compute_ref,
)

LOOK_AHEAD = 8


@dataclass(frozen=True)
class DrawColumns:
    """The draws that learn stored in one block.

    Attributes:
        sequence: [B] of the interactions, ascending.
        negatives: [B] the row of the first negative item, -1 without one.
        scores: [B, 2] of the positive and the negative item, from before the block's updates.
        through: The block covers the log up to this sequence.
    """

    through: int
    sequence: I64
    negatives: I32
    scores: F32


@dataclass(frozen=True, slots=True)
class Draw:
    """The first negative of an interaction, and the scores of eq. 6.

    The negative is None if none was drawn.
    """

    negative: int | None
    score_positive: float
    score_negative: float


def count_pending_to_fetch(limit: int, claimed: int) -> int:
    """Return how many pending interactions a store must fetch for `choose_interactions`.

    Args:
        limit: The most interactions that the new claim takes.
        claimed: How many interactions other claims hold.
    """
    return limit * LOOK_AHEAD + claimed if claimed else limit


def choose_interactions(
    pending: Iterable[Sequence[int]], claimed: Collection[int], limit: int
) -> list[int]:
    """Choose the oldest interactions that a new claim may take.

    One user's interactions are reasoned in order: an interaction that another claim holds blocks
    the later ones of its user.

    Args:
        pending: (sequence, user) of the oldest interactions that are learned and not reasoned yet,
            or of the oldest dead letters, by sequence.
        claimed: Sequences that other claims hold.
    """
    chosen: list[int] = []
    blocked_users: set[int] = set()
    for sequence, user in pending:
        if sequence in claimed or user in blocked_users:
            blocked_users.add(user)
        elif len(chosen) < limit:
            chosen.append(sequence)
    return chosen


def find_reasoned_through(oldest_pending: int | None, learned: int) -> int:
    """Find the sequence up to which everything is reasoned.

    Args:
        oldest_pending: The oldest interaction that is learned and not reasoned; None if there is
            none.
        learned: The sequence up to which everything is learned.
    """
    return learned if oldest_pending is None else oldest_pending - 1


def read_draws(columns: DrawColumns, sequences: Sequence[int]) -> dict[int, Draw]:
    """Read the draws of those interactions that a block covers.

    Args:
        sequences: Ascending, all of them after the block's start.

    Returns:
        The draws by sequence; none of the sequences after the block's end.
    """
    covered = [sequence for sequence in sequences if sequence <= columns.through]
    places = np.searchsorted(columns.sequence, covered)
    negatives = columns.negatives[places].tolist()
    scores = columns.scores[places].tolist()
    return {
        sequence: Draw(compute_ref(ClientKind.ITEM, row) if row >= 0 else None, positive, negative)
        for sequence, row, (positive, negative) in zip(covered, negatives, scores, strict=True)
    }


def find_dead_letters(
    reasoned: Sequence[ReasonedInteraction],
) -> tuple[list[ReasonedInteraction], list[ReasonedInteraction]]:
    """Find which interactions are dead letters now, and which no longer are."""
    failed = [result for result in reasoned if result.failure is not None]
    recovered = [r for r in reasoned if r.late is not None and r.failure is None]
    return failed, recovered


def list_drawn_items(draws: Iterable[Draw]) -> list[int]:
    """List the negative items of draws, ascending."""
    return sorted({draw.negative for draw in draws if draw.negative is not None})


def build_reason_works(
    interactions: Iterable[tuple[int, int, int, float]],
    draws: Mapping[int, Draw],
    known_items: Collection[int],
) -> list[ReasonWork]:
    """Combine claimed interactions with their draws.

    Args:
        interactions: (sequence, user, item, weight) of each.
        known_items: The items of `list_drawn_items` that were not forgotten since. An interaction
            whose negative was forgotten is reasoned without a prediction.
    """
    works = []
    for sequence, user, item, weight in interactions:
        draw = draws[sequence]
        known = draw.negative in known_items
        works.append(
            ReasonWork(
                sequence=sequence,
                user=user,
                item=item,
                negative=draw.negative if known else None,
                weight=weight,
                score_positive=draw.score_positive if known else None,
                score_negative=draw.score_negative if known else None,
            )
        )
    return works
