"""An interaction: (user, positive item, negative item) and how it is recorded (Algorithm 1, line
3)."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from hashlib import blake2b

from propagation.model.base import value

WEIGHT_MAX = 10.0


def seed_of(event_id: str) -> int:
    """64 bits."""
    return int.from_bytes(blake2b(event_id.encode(), digest_size=8).digest())


@value
class NewInteraction:
    """An event as a caller pushes it, checked. `time` is the caller's, in milliseconds since 1970
    (data, not order). `content_hash` tells a repeat from another event under the same id."""

    event_id: str
    user_id: str
    item_id: str
    time: int
    content_hash: str
    negative_id: str | None = None
    weight: float = 1.0
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """64 bits drawn from the event id: seeds every random choice about this event."""
        return seed_of(self.event_id)


class RecordStatus(StrEnum):
    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNKNOWN_USER = "unknown_user"
    UNKNOWN_ITEM = "unknown_item"
    UNKNOWN_NEGATIVE = "unknown_negative"
    FORGOTTEN = "forgotten"


@value
class RecordOutcome:
    """What became of one event. `sequence` is its place in the global order (0 unless accepted or
    duplicate)."""

    status: RecordStatus
    sequence: int = 0


@value
class InteractionRow:
    """An interaction in the log, clients by ref, with its caller's id. `prompts`: those that were
    asked of a language model for its texts, as `name@version`; `stand_in`: who answered where the
    model could not, "" where nobody had to."""

    sequence: int
    event_id: str
    user: int
    item: int
    negative: int | None
    time: int
    weight: float
    prompts: tuple[str, ...] = ()
    stand_in: str = ""
