"""Prediction of the item that the user would choose, and its reward.

The user chooses between two items. A language model answers Prompt_predict
(adapters/openai/prompts/predict.py).

Source: RecNet 2.4, eq. 6 and 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model import ReasonerFailed, ReasonWork, Usage
from propagation.ports import AnswerPart, MergeAnswer, Party, Reasoner

WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class ForwardResult:
    """The merges and the reward (eq. 7) of one prediction.

    The merges (eq. 5) are those of user, positive and negative item, in this order.

    The reward is 1 if the positive item was chosen, else 0; None without a negative item.
    `predicted_by` names a reasoner that predicted in another's stead; "" if none did.
    """

    merges: Sequence[AnswerPart[MergeAnswer]]
    reward: int | None
    usage: Usage
    predicted_by: str = ""


async def receive_and_predict(
    reasoner: Reasoner, work: ReasonWork, parties: Sequence[Party], seed: int
) -> ForwardResult:
    """Merge the messages of all parties, and predict the user's choice.

    The candidates come in a seeded random order, so that no reasoner can answer by position.

    Args:
        parties: User, positive item and, where there is one, negative item.
        seed: Seed of the candidates' order.

    Raises:
        ReasonerFailed: There is no prediction.

    Source: RecNet eq. 5 to 7; Algorithm 1, lines 6 and 7.
    """
    user, *candidates = parties
    if len(candidates) == 1:
        answer = await reasoner.forward(work, user, candidates, None)
        return ForwardResult(answer.merges, None, answer.usage)
    positive_first = is_positive_first(work.sequence, seed)
    scores = (
        (work.score_positive, work.score_negative)
        if work.score_positive is not None and work.score_negative is not None
        else None
    )
    if not positive_first:
        candidates.reverse()
        scores = scores and (scores[1], scores[0])
    answer = await reasoner.forward(work, user, candidates, scores)
    if answer.prediction is None:
        raise ReasonerFailed("no prediction", answer.usage)
    if isinstance(answer.prediction, ReasonerFailed):
        raise type(answer.prediction)(f"no prediction: {answer.prediction}", answer.usage)
    merges = (
        answer.merges if positive_first else (answer.merges[0], answer.merges[2], answer.merges[1])
    )
    reward = int(answer.prediction == positive_first)
    return ForwardResult(merges, reward, answer.usage, answer.predicted_by)


def is_positive_first(sequence: int, seed: int) -> bool:
    """Decide by chance whether the positive item is shown first."""
    return bool(choose_word(sequence, seed) & 1)


def choose_word(value: int, seed: int) -> int:
    """Hash a value and a seed to a word, by SplitMix64's finaliser.

    Value, seed and word are each in 0..2**64 - 1.

    The result equals that of numbers/seeded_hash.mix_seed, which needs a compiler; a process that
    only drafts texts has none.
    """
    z = (value + 0x9E3779B97F4A7C15 * (seed + 1)) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)
