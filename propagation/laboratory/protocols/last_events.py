"""Splits a dataset at each user's last interaction.

Source:
    RecNet 3.1.3; AgentCF 4.1.2; AFL 4.1.2.
"""

import numpy as np

from propagation.arrays import I64
from propagation.datasets.dataset import Dataset
from propagation.evaluation.protocols.passes import find_last
from propagation.laboratory.history import History, Targets
from propagation.model import InvalidInput, pluralize

LEAST_TARGETS = 10
SAMPLE_SEED = 7


def check_enough(
    dataset: Dataset, count: int, who: str, experiment: str = "this experiment"
) -> None:
    """Check that an experiment has enough targets.

    Args:
        count: How many users there are.
        who: Which users they are, such as "with two events or more".
        experiment: Named in the message.

    Raises:
        InvalidInput: There are fewer than LEAST_TARGETS.
    """
    if count < LEAST_TARGETS:
        raise InvalidInput(
            "events",
            f"{dataset.name} has {pluralize(count, 'user')} {who}; {experiment} needs at least"
            f" {LEAST_TARGETS}: give data with more of them, or a larger --first if you gave one",
        )


def sample_once(rows: I64, most: int) -> I64:
    """Draw at most so many rows, the same in all runs.

    Returns:
        The drawn rows, ascending.
    """
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(SAMPLE_SEED).choice(rows, most, replace=False))


def split_last(dataset: Dataset) -> tuple[History, Targets]:
    """Split a dataset at each user's last interaction.

    The last ones are targets, and all others are known. A user with one interaction has no target.
    The dataset's seed orders interactions of one moment.
    """
    user, item, time = dataset.rows()
    users = len(dataset.users)
    last = find_last(user, users)
    known = np.flatnonzero(~last)
    return (
        History.of(dataset, known),
        Targets(user[last], item[last], time[last]),
    )


def count_tied(history: History, targets: Targets) -> int:
    """Count targets whose user had another item at the same time."""
    items: dict[tuple[int, int], set[int]] = {}
    for user, time, item in zip(
        history.user.tolist(), history.time.tolist(), history.item.tolist(), strict=True
    ):
        items.setdefault((user, time), set()).add(item)
    return sum(
        bool(items.get((user, time), set()) - {item})  # a history may hold the target itself
        for user, time, item in zip(
            targets.user.tolist(), targets.time.tolist(), targets.item.tolist(), strict=True
        )
    )
