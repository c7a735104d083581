"""Splits a dataset at each user's last interaction.

Source:
    RecNet 3.1.3; AgentCF 4.1.2; AFL 4.1.2.
"""

import numpy as np

from propagation.datasets.dataset import Dataset
from propagation.evaluation.protocols.passes import find_last
from propagation.laboratory.history import History, Targets

LEAST_TARGETS = 10


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
        History(users, len(dataset.items), user[known], item[known], time[known], known),
        Targets(user[last], item[last], time[last]),
    )


def count_tied(history: History, targets: Targets) -> int:
    """Count targets whose user had another item at the same time."""
    newest = np.full(history.users, np.iinfo(np.int64).min)
    target = np.full(history.users, -1, np.int64)
    target[targets.user] = targets.item
    other = history.item != target[history.user]  # a history may hold the target itself
    np.maximum.at(newest, history.user[other], history.time[other])
    return int((newest[targets.user] == targets.time).sum())
