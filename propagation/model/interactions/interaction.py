"""An interaction (user, positive item, negative item), and how it is recorded.

Source: RecNet, Algorithm 1, line 3.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from hashlib import blake2b

from propagation.model.base import value

WEIGHT_MAX = 10.0


def derive_seed(event_id: str) -> int:
    """Derive a seed of 64 signed bits from an event id.

    Every random choice about the event uses this seed.
    """
    return int.from_bytes(blake2b(event_id.encode(), digest_size=8).digest(), signed=True)


@value
class NewInteraction:
    """A checked event as a caller sends it.

    Attributes:
        time: The caller's time, in milliseconds since 1970. It orders nothing; the ranker counts a
            choice less the longer ago it was.
        content_hash: Distinguishes a repeat of this event from another event with the same id.
        negative_id: Item that the user passed over; None: the service draws negatives.
        weight: Above 0, at most 10.
    """

    event_id: str
    user_id: str
    item_id: str
    time: int
    content_hash: str
    negative_id: str | None = None
    weight: float = 1.0
    metadata: Mapping[str, str] = field(default_factory=dict)


class RecordStatus(StrEnum):
    """Outcome of one event in a record commit."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNKNOWN_USER = "unknown_user"
    UNKNOWN_ITEM = "unknown_item"
    UNKNOWN_NEGATIVE = "unknown_negative"
    FORGOTTEN = "forgotten"


@value
class RecordOutcome:
    """Result for one event.

    Attributes:
        sequence: Place in the global order; 0 unless accepted or duplicate.
    """

    status: RecordStatus
    sequence: int = 0


@value
class InteractionRow:
    """An interaction of the log, with clients by ref.

    Attributes:
        negative: The caller's negative, if any.
        time: The caller's time, in milliseconds since 1970.
        prompts: Prompts that a language model answered for the texts, as `name@version`.
        fallback: Fallback reasoner that answered instead of the model; "" if none did.
    """

    sequence: int
    event_id: str
    user: int
    item: int
    negative: int | None
    time: int
    weight: float
    prompts: tuple[str, ...] = ()
    fallback: str = ""


@value
class ClientEvent:
    """An event in the list of a client's events.

    Attributes:
        negative: The caller's negative, if any.
        time: The caller's time, in milliseconds since 1970. None for a retracted event, and so are
            `weight` and `at`: of such an event the graph keeps only its id, user and item.
        weight: Above 0, at most 10.
        at: Time of the commit, in milliseconds since 1970.
        retracted: Whether the event was taken back.
    """

    sequence: int
    event_id: str
    user: int
    item: int
    negative: int | None = None
    time: int | None = None
    weight: float | None = None
    at: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    retracted: bool = False
