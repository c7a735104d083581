"""What a commit of reasoned interactions says of each of them, without its texts."""

from collections import Counter
from collections.abc import Mapping

from propagation.model.clients.client_text import ReasonedInteraction
from propagation.model.fast_dataclass import value


@value
class ReasonedSummary:
    """`texts`: (client, version, lines) of each version written. `heard`: how many messages met
    which end; what an outcome names after a colon or in brackets is left out. `failed`: a dead
    letter."""

    sequence: int
    user: int
    reward: int | None
    failed: bool
    texts: tuple[tuple[int, int, int], ...]
    heard: Mapping[str, int]


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
        heard=count_outcomes([merge.outcome for merge in result.merged]),
    )


def count_outcomes(outcomes: list[str]) -> dict[str, int]:
    """How many messages met which end."""
    return dict(Counter([outcome.partition(":")[0].partition(" (")[0] for outcome in outcomes]))
