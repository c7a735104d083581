"""Reasoning of interactions: what waits for it, what it writes, and a summary for watchers."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from propagation.model.base import value
from propagation.model.clients.client_text import ClientText, MessageMerge
from propagation.model.clients.gradient import Gradient
from propagation.model.usage import NO_USAGE, Usage


@value
class ReasonedInteraction:
    """All text of one interaction: stage 1 of Algorithm 1, as it is committed. `reward` is None
    where there was no negative to predict against; `failure` is set instead of texts for a dead
    letter. `late` is set where a dead letter was replayed: the sequence that was recorded through
    then, to which its texts belong. `usage` is what reasoning it cost."""

    sequence: int
    user: int
    reward: int | None = None
    texts: tuple[ClientText, ...] = ()
    gradients: tuple[Gradient, ...] = ()
    merges: tuple[MessageMerge, ...] = ()
    failure: str | None = None
    late: int | None = None
    usage: Usage = NO_USAGE

    @property
    def written_at(self) -> int:
        """The sequence its texts are versions of."""
        return self.sequence if self.late is None else self.late


@value
class ReasonWork:
    """An interaction that waits for reason, with what learn stored of it (scores from before its
    updates)."""

    sequence: int
    user: int
    item: int
    negative: int | None
    weight: float
    score_positive: float | None
    score_negative: float | None


@value
class ReasonClaim:
    """Work one worker holds until `expires` (milliseconds); the token fences a worker that comes
    back late."""

    token: int
    worker: str
    expires: int
    work: tuple[ReasonWork, ...]


class DeadLetter(NamedTuple):
    """An interaction whose reasoning failed for good, and why."""

    sequence: int
    reason: str


@value
class ReasonedSummary:
    """`texts`: (client, version, lines) of each version written. `outcomes`: how many messages met
    which end; what an outcome names after a colon or in brackets is left out. `failed`: a dead
    letter."""

    sequence: int
    user: int
    reward: int | None
    failed: bool
    texts: tuple[tuple[int, int, int], ...]
    outcomes: Mapping[str, int]


def summarize_reasoned(result: ReasonedInteraction) -> ReasonedSummary:
    """Of one interaction."""
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
    """How many messages met which end."""
    return dict(Counter([outcome.partition(":")[0].partition(" (")[0] for outcome in outcomes]))
