"""Draws the candidates among which methods that ask a language model choose."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from propagation.arrays import I64, Bools
from propagation.laboratory.history import History, Targets

Position = Literal["first", "random", "last"]
FixedCandidates = Mapping[int, I64]
"""Rows of the items that a file names for each user, by the user's row."""


class DrawnCandidates(NamedTuple):
    """Candidates of each target.

    Attributes:
        items: [T,C] rows of items.
        place: [T] where the target is among them.
    """

    items: I64
    place: I64


def draw_candidates(
    history: History,
    targets: Targets,
    negatives: int,
    seed: int,
    position: Position = "random",
    fixed: FixedCandidates | None = None,
) -> DrawnCandidates:
    """Draw items that each user never had, beside the target.

    Negatives are drawn uniformly, without replacement. The draw for a user depends on the seed and
    the user's row alone, so that another position or another set of users draws the same items.

    Args:
        targets: Of users for whom `find_drawable` is true.
        fixed: Draw among these only.
    """
    had = history.list_items_by_user()
    items = np.empty((len(targets.user), negatives + 1), np.int64)
    place = np.empty(len(targets.user), np.int64)
    places = {"first": 0, "last": negatives}
    for row, (user, target) in enumerate(
        zip(targets.user.tolist(), targets.item.tolist(), strict=True)
    ):
        draw = np.random.default_rng([seed, user])
        unseen = list_pool(history, user, had[user], target, fixed)
        others, anywhere = draw_others(draw, unseen, negatives)
        place[row] = places.get(position, anywhere)
        items[row] = np.insert(others, place[row], target)
    return DrawnCandidates(items, place)


def draw_others(draw: np.random.Generator, pool: I64, negatives: int) -> tuple[I64, int]:
    """Draw other items, and a place for the target among them."""
    return draw.choice(pool, negatives, replace=False), int(draw.integers(negatives + 1))


def draw_for_rankable(
    history: History,
    targets: Targets,
    negatives: int,
    seed: int,
    position: Position = "random",
    fixed: FixedCandidates | None = None,
) -> tuple[I64, Targets, DrawnCandidates]:
    """Draw candidates for the targets whose user has enough unseen items.

    Returns:
        The places [Q] of these targets, themselves, and their candidates.
    """
    places = np.flatnonzero(find_drawable(history, targets, negatives, fixed))
    some = Targets(targets.user[places], targets.item[places], targets.time[places])
    return places, some, draw_candidates(history, some, negatives, seed, position, fixed)


def find_drawable(
    history: History, targets: Targets, negatives: int, fixed: FixedCandidates | None = None
) -> Bools:
    """Find the targets whose users have enough items to draw from, [T]."""
    had = history.list_items_by_user()
    return np.array(
        [
            len(list_pool(history, user, had[user], target, fixed)) >= negatives
            for user, target in zip(targets.user.tolist(), targets.item.tolist(), strict=True)
        ],
        np.bool_,
    )


def list_pool(
    history: History, user: int, had: I64, target: int, fixed: FixedCandidates | None
) -> I64:
    """Return the items that a target may be ranked against, ascending.

    They are items that the user neither had nor will have, of the file's candidates if there is
    one.
    """
    unseen = list_unseen(history, had, [target])
    if fixed is None:
        return unseen
    return np.intersect1d(unseen, fixed.get(user, np.empty(0, np.int64)))


def list_unseen(history: History, had: I64, others: Sequence[int] | I64) -> I64:
    """Return the items that a user neither had nor will have.

    Args:
        had: The user's items in the history.
        others: The user's items that are held out.
    """
    unseen = np.ones(history.items, np.bool_)
    unseen[had] = False
    unseen[np.asarray(others, np.int64)] = False
    return np.flatnonzero(unseen)
