"""The demo says that propagation helps only where the figures say so."""

import pytest

from propagation.evaluation.protocols.metrics import Paired
from services.demo.ranking import describe_verdict


def pair(mean, t):
    return Paired(mean=mean, t=t)


@pytest.mark.parametrize(
    ("on", "placebo", "says"),
    [
        (pair(0.001, 2.1), pair(0.0, 0.1), "No clear difference here"),
        (pair(0.002, 4.0), pair(0.003, 5.0), "No clear difference here"),
        (pair(0.018, 10.0), pair(0.001, 0.5), "Here propagation helps"),
        (pair(-0.018, -10.0), pair(0.001, 0.5), "Here propagation hurts"),
        (None, None, "Too few events"),
    ],
)
def test_a_verdict_is_no_stronger_than_the_difference(on, placebo, says):
    assert describe_verdict(on, placebo).startswith(says)
