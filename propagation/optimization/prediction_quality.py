"""Quality of a reasoner's predictions (eq. 6), judged against chance.

The rule looks at a predictor's last 1,000 predictions, and judges after 200 of them. A standard
error is that of a share of .5.

- The predictor answers *by place* if the share of first candidates that it chose is more than
  three standard errors from .5, and at least twice as far from it as the share of right choices.
  Candidates come in a seeded random order, so a predictor that reads them chooses the first half of
  the time.
- Else it is *at chance* if the share of right choices is less than two standard errors above .5.
- Else it is *above chance*.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from propagation.optimization.prediction import is_positive_first

CHANCE = 0.5
LEAST_PREDICTIONS, RECENT_PREDICTIONS = 200, 1_000
PLACE_ERRORS, CHANCE_ERRORS = 3.0, 2.0
RIGHT, FIRST = 1, 2  # bits of an encoded prediction


class Judgement(StrEnum):
    """The quality of a predictor, as far as its predictions tell."""

    UNDECIDED = "undecided"
    BY_PLACE = "by_place"
    AT_CHANCE = "at_chance"
    ABOVE_CHANCE = "above_chance"


@dataclass(frozen=True, slots=True)
class PredictionCounts:
    """Counts over predictions, each of two candidates.

    Attributes:
        right: How many chose the positive item.
        first: How many chose the candidate that was shown first.
    """

    predictions: int = 0
    right: int = 0
    first: int = 0

    @property
    def share_right(self) -> float:
        return self.right / max(self.predictions, 1)

    @property
    def share_first(self) -> float:
        return self.first / max(self.predictions, 1)

    @property
    def standard_error(self) -> float:
        """The standard error of the share right."""
        share = self.share_right
        return math.sqrt(share * (1 - share) / max(self.predictions, 1))


def encode_prediction(sequence: int, reward: int, seed: int) -> str:
    """Return a digit that says what one prediction chose.

    It says whether the choice was right, and whether it was the first candidate.

    Args:
        sequence, seed: As in `receive_and_predict`, which orders the candidates by them.
    """
    chose_first = bool(reward) == is_positive_first(sequence, seed)
    return str(RIGHT * bool(reward) + FIRST * chose_first)


def count_predictions(encoded: str) -> PredictionCounts:
    """Count encoded predictions."""
    bits = [int(digit) for digit in encoded]
    return PredictionCounts(
        len(bits), sum(bit & RIGHT for bit in bits), sum(bit & FIRST for bit in bits) // FIRST
    )


def judge_predictions(counts: PredictionCounts) -> Judgement:
    """Judge a predictor by the rule above."""
    if counts.predictions < LEAST_PREDICTIONS:
        return Judgement.UNDECIDED
    error = math.sqrt(CHANCE * (1 - CHANCE) / counts.predictions)
    right, first = counts.share_right, counts.share_first
    if abs(first - CHANCE) > PLACE_ERRORS * error and follows_place(right, first):
        return Judgement.BY_PLACE
    at_chance = right - CHANCE < CHANCE_ERRORS * error
    return Judgement.AT_CHANCE if at_chance else Judgement.ABOVE_CHANCE


def follows_place(right: float, by_place: float) -> bool:
    """Return whether the place explains choices better than what is right.

    Args:
        right: The share of right choices.
        by_place: The share of choices that follow the place; .5 by luck, like `right`.
    """
    return abs(by_place - CHANCE) >= 2 * abs(right - CHANCE)


def describe_judgement(name: str, counts: PredictionCounts) -> str:
    """Say in one sentence that a predictor is no good.

    Returns:
        "" if it is good, or not judged yet.
    """
    figures = (
        f"of its last {counts.predictions:,} predictions {counts.share_right:.0%}"
        f" (± {counts.standard_error:.0%}) were right"
    )
    match judge_predictions(counts):
        case Judgement.BY_PLACE:
            return (
                f"{name} answers by place: it chose the first of two candidates in"
                f" {counts.share_first:.0%} of the cases, and {figures} (chance: 50%)"
            )
        case Judgement.AT_CHANCE:
            return f"{name} is not seen to predict better than chance: {figures} (chance: 50%)"
    return ""
