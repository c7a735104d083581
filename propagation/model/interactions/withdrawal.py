"""What is taken back: retracted interactions, or everything of a client that is to be forgotten
(DESIGN, "State")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.client_text import ClientText
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.interactions.log import EntryKind
from propagation.model.routers.router import IntegratedAttribute, RouterVersion


class EventStatus(StrEnum):
    """How an event id stands before a retraction."""

    RECORDED = "recorded"
    RETRACTED = "retracted"
    FORGOTTEN = "forgotten"
    UNKNOWN = "unknown"


class EventState(NamedTuple):
    """State of an event id before a retraction, with its interaction while that is recorded."""

    status: EventStatus
    interaction: InteractionRow | None = None


@dataclass(frozen=True)
class LearnedWeights:
    """What n learned interactions wrote, in sequence order. sequence [n] i64 · since [n] i64,
    interactions learned from this one on, itself included · negative [n] i64 item row of the first
    negative, -1 for none · routers [n,2,16] u16 and weights [n,2,16] f32 as they were stored (see
    LearnedBlock): routers of the epoch they were written in."""

    sequence: NDArray[np.int64]
    since: NDArray[np.int64]
    negative: NDArray[np.int64]
    routers: NDArray[np.uint16]
    weights: NDArray[np.float32]


@dataclass(frozen=True)
class UserChoices:
    """n interactions of some users, by user, then in sequence order. user, sequence, item [n] i64
    (refs) · weight [n] f64 · changed [n] i64, the sequence of the last change of the item's own
    text."""

    user: NDArray[np.int64]
    sequence: NDArray[np.int64]
    item: NDArray[np.int64]
    weight: NDArray[np.float64]
    changed: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> "UserChoices":
        """Of [user, sequence, item, weight, changed] each."""
        user, sequence, item, weight, changed = zip(*rows, strict=True) if rows else ((),) * 5
        return cls(
            np.array(user, np.int64),
            np.array(sequence, np.int64),
            np.array(item, np.int64),
            np.array(weight, np.float64),
            np.array(changed, np.int64),
        )


@dataclass(frozen=True)
class PromotedRepeat:
    """A repeat that takes the place of the first adoption, which was taken back: what it is now
    stored to have written."""

    sequence: int
    routers: NDArray[np.uint16]
    weights: NDArray[np.float32]


@dataclass(frozen=True)
class Citations:
    """What a stored text may rest on: sequences of interactions, messages by (router, version),
    with lines that hold one of some attributes (None: with any), and words."""

    sequences: frozenset[int] = frozenset()
    messages: Mapping[tuple[int, int], frozenset[str] | None] = field(default_factory=dict)
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CitationSearch:
    """Where to look for citations in a client's stored texts: from the versions written `at` a
    sequence (or at the one that an interaction of it was reasoned late at), or from a `version` on,
    for as long as they cite: what left a text does not come back. Neither: in every version.
    `citations` None: every version on the trail."""

    ref: int
    citations: Citations | None
    at_sequence: int | None = None
    from_version: int | None = None


@dataclass(frozen=True)
class StoredText:
    """A version of a client's text; `current`: no later one is stored."""

    text: ClientText
    current: bool


@dataclass(frozen=True)
class AffectedMessage:
    """A message that rests on what is taken back, or may name it: `lost_parts` are the parts that go,
    `remaining` (attribute, client) of the parts that stay, at most `limit` clients an attribute (see
    ErasureStore.messages_resting_on)."""

    message: RouterVersion
    lost_parts: Sequence[IntegratedAttribute] = ()
    remaining: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Withdrawal:
    """All that one retraction or erasure changes at once. `interactions`: those taken back (an
    erasure takes those recorded meanwhile too) · `texts_read_through`: the number of the last text that was
    committed before any was read (see ReasonStore.texts_through) · `erased`: the client that goes,
    with the routers it sent under (point-to-point) · `rewritten`: stored versions that keep their
    number · `texts`: next versions · `messages`: as they are from now on · `reduced_messages`: (router,
    version) of all messages that lose parts · `client_attributes`: what clients hold now · `holders`: attributes
    counted anew, 0: gone · `unmapped`: names that no longer stand for another one · `words`: what
    must not stay in a report of a failure."""

    kind: EntryKind
    refs: tuple[int, ...]
    interactions: Sequence[InteractionRow]
    texts_read_through: int = 0
    erased: int | None = None
    sent_under: tuple[int, ...] = ()
    promoted: Sequence[PromotedRepeat] = ()
    rewritten: Sequence[ClientText] = ()
    texts: Sequence[ClientText] = ()
    messages: Sequence[RouterVersion] = ()
    reduced_messages: Sequence[tuple[int, int]] = ()
    client_attributes: Mapping[int, Sequence[str]] = field(default_factory=dict)
    holders: Mapping[str, int] = field(default_factory=dict)
    unmapped: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class WithdrawalResult:
    """What a commit took back: its log entry's sequence, and how many interactions."""

    sequence: int
    interactions: int
