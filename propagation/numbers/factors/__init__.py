"""Learned factors: the history factor and the taste vector.

Both learn from the list of adoptions alone: each new adoption, and with it some old ones again.

Source: docs/numbers.md, "Learned factors".
"""

from propagation.numbers.factors.adoption_replay import learn_factors, relearn_factors
from propagation.numbers.factors.history_factor import (
    compute_history_vector,
    fade_by_seconds,
    list_history,
)
from propagation.numbers.factors.tables import (
    BY_SECONDS,
    ITEM_TABLES,
    Factors,
    build_settings,
    create_factors,
    reset_item,
    reset_taste,
    with_item_rows,
    with_user_rows,
)

__all__ = [
    "BY_SECONDS",
    "ITEM_TABLES",
    "Factors",
    "build_settings",
    "compute_history_vector",
    "create_factors",
    "fade_by_seconds",
    "learn_factors",
    "list_history",
    "relearn_factors",
    "reset_item",
    "reset_taste",
    "with_item_rows",
    "with_user_rows",
]
