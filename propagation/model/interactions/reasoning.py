"""Reasoning of interactions: work, claims, committed results and a summary."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from propagation.model.base import value
from propagation.model.clients.gradient import Gradient
from propagation.model.clients.profile import ClientText, MessageMerge
from propagation.usage import NO_USAGE, Usage

ASKED_CHARS = 8_000
"""How many characters of a question are kept with a dead letter."""
ANSWERED_CHARS = 4_000
"""How many characters of an answer are kept with a dead letter."""
CUT = "\n[...]\n"


class ModelExchange(NamedTuple):
    """What a language model was asked, and what it answered.

    Either is empty if it is not kept; the answer also if there was none.
    """

    asked: str = ""
    answered: str = ""

    def cut(self) -> "ModelExchange":
        """Return the exchange as a store keeps it.

        Texts that are too long lose their middle. What no store takes (U+0000, half a surrogate
        pair) is left out or replaced.
        """
        return ModelExchange(
            cut_middle(self.asked, ASKED_CHARS), cut_middle(self.answered, ANSWERED_CHARS)
        )


def cut_middle(text: str, limit: int) -> str:
    """Shorten a text to `limit` characters; both of its ends stay."""
    text = text.replace("\0", "").encode(errors="replace").decode()
    if len(text) <= limit:
        return text
    kept = limit - len(CUT)
    return text[: kept // 2] + CUT + text[len(text) - (kept - kept // 2) :]


NO_EXCHANGE = ModelExchange()


@value
class ReasonedInteraction:
    """Everything that reasoning commits for one interaction.

    Attributes:
        reward: 1 or 0 (eq. 7); None without a negative.
        failure: Why reasoning failed; the interaction is then a dead letter and has no texts. None
            if it succeeded.
        attempts: How often it was tried.
        exchange: For a dead letter, what a model was asked last, and answered.
        late: For a replayed dead letter, the last recorded sequence at the replay; else None.
        usage: What reasoning cost.
        predicted_by: Name of the reasoner that predicted in the model's stead; "" if none did.

    Source: RecNet, Algorithm 1, stage 1.
    """

    sequence: int
    user: int
    reward: int | None = None
    texts: tuple[ClientText, ...] = ()
    gradients: tuple[Gradient, ...] = ()
    merges: tuple[MessageMerge, ...] = ()
    failure: str | None = None
    attempts: int = 1
    exchange: ModelExchange = NO_EXCHANGE
    late: int | None = None
    usage: Usage = NO_USAGE
    predicted_by: str = ""

    @property
    def written_at(self) -> int:
        """Sequence that the texts belong to."""
        return self.sequence if self.late is None else self.late


@value
class ReasonWork:
    """A learned interaction that waits for reasoning.

    Attributes:
        score_positive: The learner's score before its updates; None without a negative.
    """

    sequence: int
    user: int
    item: int
    negative: int | None
    weight: float
    score_positive: float | None
    score_negative: float | None


@value
class ReasonClaim:
    """Interactions that one worker holds.

    Attributes:
        token: Fencing token: the commit of a worker that lost the claim is refused.
    """

    token: int
    worker: str
    work: tuple[ReasonWork, ...]


class ReasoningBacklog(NamedTuple):
    """Recorded interactions around the sequence through which reasoning is complete.

    Attributes:
        pending: How many are not reasoned.
        done_above: How many above that sequence are reasoned or dead letters.
    """

    pending: int
    done_above: int


class DeadLetter(NamedTuple):
    """An interaction whose reasoning failed for good, and why."""

    sequence: int
    reason: str


class FailedReasoning(NamedTuple):
    """A dead letter with everything that is kept of its attempts.

    Attributes:
        attempts: How often it was tried, replays included; 0: not known.
        failed_at: When the last attempt was stored, in milliseconds since 1970; 0: not known.
        exchange: What a model was asked last, and answered.
        queued: Whether it waits to be tried again.
    """

    sequence: int
    reason: str
    attempts: int
    failed_at: int
    exchange: ModelExchange
    queued: bool


@value
class ReasonedSummary:
    """Summary of the commit of one interaction, without its texts.

    Attributes:
        failed: Whether the interaction is a dead letter.
        texts: (ref, version, number of lines) of each new text.
        outcomes: How many messages had each outcome.
    """

    sequence: int
    user: int
    reward: int | None
    failed: bool
    texts: tuple[tuple[int, int, int], ...]
    outcomes: Mapping[str, int]


def summarize_reasoned(result: ReasonedInteraction) -> ReasonedSummary:
    """Summarize the commit of one interaction."""
    return ReasonedSummary(
        sequence=result.sequence,
        user=result.user,
        reward=result.reward,
        failed=result.failure is not None,
        texts=tuple(
            [
                (text.profile.ref, text.profile.version, len(text.profile.lines))
                for text in result.texts
            ]
        ),
        outcomes=count_outcomes([merge.outcome for merge in result.merges]),
    )


def count_outcomes(outcomes: list[str]) -> dict[str, int]:
    """Count messages by outcome.

    Only the part of an outcome before a colon or brackets counts.
    """
    return dict(Counter([outcome.partition(":")[0].partition(" (")[0] for outcome in outcomes]))
