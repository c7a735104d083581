"""The worth of propagation in one sentence, from the gauge."""

from typing import NamedTuple

from propagation.v1 import propagation_pb2 as pb

CLEAR_ERRORS = 2.0


class Worth(NamedTuple):
    """What propagation is worth.

    Attributes:
        judgement: "good", "bad" or "".
    """

    sentence: str
    judgement: str = ""


def describe_worth(status: pb.GetStatusResponse) -> Worth:
    """Say in one sentence whether propagation helps."""
    off = "" if status.propagate else " Propagation is switched off: answers are ranked without it."
    if not status.HasField("gauge"):
        return Worth(f"Nothing was ranked yet, so the worth of propagation is not known.{off}")
    gauge = status.gauge
    difference = gauge.with_propagation - gauge.without
    effect, judgement, spread = "makes no difference that can be told from chance", "", ""
    if gauge.HasField("standard_error"):
        spread = f" ± {gauge.standard_error:.4f}"
        if difference > CLEAR_ERRORS * gauge.standard_error:
            effect, judgement = "helps", "good"
        elif difference < -CLEAR_ERRORS * gauge.standard_error:
            effect, judgement = "hurts", "bad"
    sentence = (
        f"On the recent stream propagation {effect}: N@10 of what users chose is"
        f" {gauge.with_propagation:.4f} with it and {gauge.without:.4f} without"
        f" ({difference:+.4f}{spread}).{off}"
    )
    return Worth(sentence, judgement)
