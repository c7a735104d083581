"""What a commit of reasoned interactions says of each of them, without its texts."""

from collections import Counter
from collections.abc import Mapping

from propagation.model.clients.client_text import Reasoned
from propagation.model.fast_dataclass import value


@value
class Finished:
    """`texts`: (client, version, lines) of each version written. `heard`: how many messages met
    which end; what an outcome names after a colon or in brackets is left out. `failed`: a dead
    letter."""

    sequence: int
    user: int
    reward: int | None
    failed: bool
    texts: tuple[tuple[int, int, int], ...]
    heard: Mapping[str, int]


def finished_of(result: Reasoned) -> Finished:
    """Of one interaction."""
    return Finished(
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
        heard=heard_of([merge.outcome for merge in result.merged]),
    )


def heard_of(outcomes: list[str]) -> dict[str, int]:
    """How many messages met which end."""
    return dict(Counter([outcome.partition(":")[0].partition(" (")[0] for outcome in outcomes]))
