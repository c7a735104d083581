"""The report's part on a language model."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from propagation.loss_reasons import LossReason
from propagation.v1 import propagation_pb2 as pb
from services.report.html import Child, make_element, table

LEAST_PARTS, LOST_SHARE = 20, 0.5
REMEDY = ": `propagation model-check` says what suits the model"
UNANSWERED_REMEDY = ": see whether it is up, and whether openai.timeout is long enough for it"
REMEDIES = {
    "summarize": ", so the offline reasoner wrote these routers' texts:"
    " set openai.router_texts=offline to ask the model for none"
}
"""What to do if most answers to a prompt are unusable, by the prompt's name; else REMEDY."""


def list_model_warnings(status: pb.GetStatusResponse) -> list[str]:
    """List what is wrong with the present model, a sentence each."""
    lost = [sentence for one in status.spending.prompts if (sentence := _describe_losses(one))]
    return [*(one.warning for one in status.predictors if one.in_use and one.warning), *lost]


def _describe_losses(spent: pb.PromptSpending) -> str:
    """Describe why most parts of a prompt's answers were lost.

    Parts that the endpoint did not answer are no unusable answers: they were never checked.

    Returns:
        A sentence without its full stop; "" if most were usable, or too few were asked to tell.
    """
    unanswered = sum(one.count for one in spent.losses if one.reason == LossReason.UNANSWERED)
    unusable = spent.lost_parts - unanswered
    # An unusable part was checked twice, as it was asked for once more. Of an answer that cannot be
    # read, no part is checked.
    answered = max(spent.parts - unusable, unusable)
    asked = answered + unanswered
    if asked >= LEAST_PARTS and unanswered > LOST_SHARE * asked:
        return (
            f"the endpoint did not answer {unanswered / asked:.0%} of what {spent.prompt} asked"
            f"{UNANSWERED_REMEDY}"
        )
    if answered >= LEAST_PARTS and unusable > LOST_SHARE * answered:
        remedy = REMEDIES.get(spent.prompt.partition("@")[0], REMEDY)
        return (
            f"{unusable / answered:.0%} of the answers to {spent.prompt} could not be used{remedy}"
        )
    return ""


def write_language_model(status: pb.GetStatusResponse) -> list[Child]:
    """Show predictions against chance, the pace, and what was refused of answers.

    Returns:
        Nothing unless a language model reasons.
    """
    if not status.HasField("pace"):
        return []
    warnings = list_model_warnings(status)
    predictions = [
        (
            one.name,
            f"{one.share_right:.3f} ± {one.standard_error:.3f}",
            f"{one.share_first:.3f}",
            f"{one.predictions:,}",
            one.judgement.replace("_", " "),
        )
        for one in status.predictors
    ]
    headers = ("predictor", "right (chance .5)", "first candidate chosen", "of the last", "it is")
    return [
        make_element("h2", "Language model"),
        *(make_element("p", f"{warning}.", class_="verdict bad") for warning in warnings),
        make_element("p", _describe_pace(status), class_="quiet"),
        table(headers, predictions, (1, 2, 3)) if predictions else None,
        _write_losses(status.spending.prompts),
    ]


def _describe_pace(status: pb.GetStatusResponse) -> str:
    pace = status.pace
    waiting = f"{status.interactions_to_reason:,} interactions wait"
    if not pace.interactions:
        return f"No interaction was reasoned since the service started; {waiting}."
    text = (
        f"An interaction takes {pace.seconds:,.1f} s of answers and {pace.completion_tokens:,.0f}"
        f" answer tokens (mean of the last {pace.interactions:,}); {waiting}"
    )
    if pace.HasField("done_at"):
        text += f" and will be done at about {pace.done_at.ToDatetime():%Y-%m-%d %H:%M} UTC"
    return f"{text}."


class LossCount(NamedTuple):
    """How often parts of a model's answers were refused for one reason.

    Attributes:
        refused: All that were refused; most are asked for once more.
        lost: Those that were lost in the end.
    """

    reason: str
    meaning: str
    refused: int
    lost: int


def count_losses(prompts: Iterable[pb.PromptSpending]) -> list[LossCount]:
    """Count refused and lost parts by reason, the most frequent first."""
    refused, lost, meanings = Counter[str](), Counter[str](), dict[str, str]()
    for prompt in prompts:
        for counts, losses in ((refused, prompt.refused), (lost, prompt.losses)):
            counts.update({one.reason: one.count for one in losses})
            meanings.update({one.reason: one.meaning for one in losses})
    return [
        LossCount(reason, meanings[reason] or reason, refused[reason], lost[reason])
        for reason, _ in (refused + lost).most_common()
    ]


def _write_losses(prompts: Iterable[pb.PromptSpending]) -> Child:
    rows = [
        (count.meaning, f"{count.refused:,}", f"{count.lost:,}") for count in count_losses(prompts)
    ]
    headers = ("why parts of answers were refused", "times", "parts lost in the end")
    return table(headers, rows, (1, 2)) if rows else None
