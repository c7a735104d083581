"""The negative item of each interaction: popular, and new to the user.

Source:
    AgentCF, section 3.2.2; `train_neg_sample_args` of the published code (by popularity).
"""

import numpy as np

from propagation.arrays import I64
from propagation.laboratory.history import History

NONE = -1


def draw_negatives(history: History, seed: int) -> I64:
    """Draw a negative item for each interaction, by its number of interactions.

    Items that the user has anywhere in the history are never drawn.

    Returns:
        [E] rows of items; NONE for a user who has all items of the history.
    """
    counts = np.bincount(history.item, minlength=history.items).astype(np.float64)
    had = history.list_items_by_user()
    out = np.full(len(history.user), NONE, np.int64)
    draw = np.random.default_rng([seed, 1]).random(len(history.user))
    for user in np.unique(history.user).tolist():
        mass = counts.copy()
        mass[had[user]] = 0
        cumulative = np.cumsum(mass)
        if cumulative[-1] > 0:
            places = np.flatnonzero(history.user == user)
            found = np.searchsorted(cumulative, draw[places] * cumulative[-1], side="right")
            out[places] = np.minimum(found, np.flatnonzero(mass)[-1])  # a product may be rounded up
    return out
