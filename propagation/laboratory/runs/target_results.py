"""A run's results as a table, by method, seed and target."""

from collections.abc import Sequence

import numpy as np

from propagation.evaluation.reports.results import Results
from propagation.laboratory.history import Known
from propagation.laboratory.runs.comparison import check_comparable
from propagation.laboratory.runs.parts import Part
from propagation.model import PropagationError


def collect_results(parts: Sequence[Part], known: Known) -> Results:
    """Collect the results of a run, for `propagation evaluate`'s writer.

    The columns are method, seed, user, item, history (known interactions of the user), adopters
    (users who are known to have the item), and the protocol's measures. A measure is NaN where the
    target could not be rated.

    Args:
        parts: One or more.
        known: Of the run's targets, in their order.

    Raises:
        PropagationError: There is no part, or as `check_comparable`.
    """
    if not parts:
        raise PropagationError("the run has no results yet; `propagation lab run` makes them")
    results = Results()
    measures = list(dict.fromkeys(name for part in parts for name in part.values))
    check_comparable(parts, measures, known)
    for part in parts:
        results.parts.append(
            {
                "method": np.full(len(part.target), part.method),
                "seed": np.full(len(part.target), part.seed),
                "user": np.array([user for user, _ in part.target]),
                "item": np.array([item for _, item in part.target]),
                "history": known.history,
                "adopters": known.adopters,
                **{name: part.values[name] for name in measures},
            }
        )
    return results
