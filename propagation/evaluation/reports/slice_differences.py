"""Which differences of a slice pictures show, and what they are called.

It loads no kernels, so that the page of `report` can use it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from propagation.evaluation.protocols.metrics import Paired

SLICED = {"user": "history of the user", "item": "adopters of the item"}
# Fields of Slice.
DIFFERENCES = {
    "over_knn": "live over kNN alone",
    "gain_live": "live over kNN and factors: what routers add",
}
WORSE = "worse by more than one standard error"
BARS = "thick bar: ± standard error; thin bar: 95%"
# A normal distribution has 95% within this many standard errors.
ERRORS_OF_95 = 1.96


def describe_difference(pair: "Paired | None") -> str:
    """Return a mean with its standard error, if known."""
    if pair is None:
        return "-"
    if pair.standard_error is None:
        return f"{pair.mean:+.4f} (one user)"
    return f"{pair.mean:+.4f} ± {pair.standard_error:.4f}"
