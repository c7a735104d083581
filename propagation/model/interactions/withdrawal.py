"""Withdrawal: retracted interactions, or everything of a client that is erased.

Source: docs/erasure.md, and docs/design.md, State.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.attribute import Attribute
from propagation.model.clients.profile import ClientText
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.interactions.log import EntryKind
from propagation.model.routers.evolution import EvolutionRun
from propagation.model.routers.router import IntegratedAttribute, RouterVersion


class EventStatus(StrEnum):
    """Status of an event id before a retraction."""

    RECORDED = "recorded"
    RETRACTED = "retracted"
    FORGOTTEN = "forgotten"
    UNKNOWN = "unknown"


class EventState(NamedTuple):
    """State of an event id before a retraction.

    Attributes:
        status: Status of the event id before the retraction.
        interaction: The interaction, while it is recorded.
    """

    status: EventStatus
    interaction: InteractionRow | None = None


@dataclass(frozen=True)
class LearnedWeights:
    """Weights that n learned interactions wrote, in sequence order.

    Attributes:
        sequence: [n] i64.
        since: [n] i64, how many interactions were learned from this one on, itself included.
        negative: [n] i64 item row of the first negative; -1 for none.
        routers: [n,2,16] u16 as stored (see LearnedBlock), of the epoch they were written in.
        weights: [n,2,16] f32.
    """

    sequence: NDArray[np.int64]
    since: NDArray[np.int64]
    negative: NDArray[np.int64]
    routers: NDArray[np.uint16]
    weights: NDArray[np.float32]


@dataclass(frozen=True)
class UserChoices:
    """n interactions of some users, by user, then in sequence order.

    Attributes:
        user: [n] i64 refs.
        sequence: [n] i64.
        item: [n] i64 refs.
        weight: [n] f64.
        changed: [n] i64, sequence of the last change of the item's own text.
    """

    user: NDArray[np.int64]
    sequence: NDArray[np.int64]
    item: NDArray[np.int64]
    weight: NDArray[np.float64]
    changed: NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[float]]) -> "UserChoices":
        """Make the columns from rows of [user, sequence, item, weight, changed]."""
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
    """A repeat that takes the place of a withdrawn first adoption.

    Attributes:
        routers: [2,16] u16, which it is now stored to have written to.
        weights: [2,16] f32.
    """

    sequence: int
    routers: NDArray[np.uint16]
    weights: NDArray[np.float32]


@dataclass(frozen=True)
class Citations:
    """Sources that a stored text may rest on.

    Attributes:
        sequences: Interactions.
        messages: By (router, version), attributes of which a line holds one; None: any line.
        words: Words anywhere in the text; all words are found in either case of letters.
        message_words: Words in lines that cite one of the messages.
        rule_words: Words in filter rules.
        router_words: By router, words in filter rules on it.
    """

    sequences: frozenset[int] = frozenset()
    messages: Mapping[tuple[int, int], frozenset[str] | None] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    message_words: frozenset[str] = frozenset()
    rule_words: frozenset[str] = frozenset()
    router_words: Mapping[int, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class CitationSearch:
    """A search for citations in one client's stored texts.

    With neither `at_sequence` nor `from_version` every version is searched.

    Attributes:
        citations: None: every version matches.
        at_sequence: Search from the versions written at this sequence for as long as they cite: a
            citation that left a text does not come back. A version that a withdrawal rewrote ends
            no search: it may have lost a citation that later versions have. If the interaction was
            reasoned late, every version is searched. If retention dropped versions of the client,
            those before the first after the last gap are searched, too.
        from_version: Search from this version on, likewise.
    """

    ref: int
    citations: Citations | None
    at_sequence: int | None = None
    from_version: int | None = None


@dataclass(frozen=True)
class StoredText:
    """A stored version of a client's text.

    Attributes:
        current: No later version is stored.
    """

    text: ClientText
    current: bool


@dataclass(frozen=True)
class AffectedMessage:
    """A message that a withdrawal affects.

    It rests on the withdrawal, or may name an erased client.

    Attributes:
        lost_parts: Parts that go.
        remaining: Who sent the parts that stay, by attribute that loses a part or that was searched
            for: (ref, sequence), the catalogue's first, as many as were asked for.
    """

    message: RouterVersion
    lost_parts: Sequence[IntegratedAttribute] = ()
    remaining: Mapping[str, frozenset[tuple[int, int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Withdrawal:
    """Everything that one retraction or erasure changes at once.

    Attributes:
        refs: Clients whose numbers change.
        interactions: Those withdrawn; an erasure also takes those recorded meanwhile.
        texts_read_through: ReasonStore.get_texts_through before any text was read.
        erased: The client that is erased; None for a retraction.
        promoted: Repeats that take the place of withdrawn first adoptions.
        rewritten: Stored versions that change under their own numbers.
        texts: Next versions of changed current texts.
        messages: Messages as they are from now on.
        reduced_messages: Messages that lose parts, by (router, version): the attributes of which
            they lose all parts.
        client_attributes: Attributes of changed clients, by ref.
        recounted: Attributes with new counts of their holders; one without holders goes.
        postponed: The blob POSTPONED_ARRIVALS from now on; None: as it is.
        reports: Evolution runs whose reasons change.
        unmapped: Names that are no longer mapped to another attribute.
        words: Words that may not stay in the reason of a dead letter, in either case of letters.
    """

    kind: EntryKind
    refs: tuple[int, ...]
    interactions: Sequence[InteractionRow]
    texts_read_through: int = 0
    erased: int | None = None
    promoted: Sequence[PromotedRepeat] = ()
    rewritten: Sequence[ClientText] = ()
    texts: Sequence[ClientText] = ()
    messages: Sequence[RouterVersion] = ()
    reduced_messages: Mapping[tuple[int, int], frozenset[str]] = field(default_factory=dict)
    client_attributes: Mapping[int, Sequence[str]] = field(default_factory=dict)
    recounted: Sequence[Attribute] = ()
    postponed: bytes | None = None
    reports: Sequence[EvolutionRun] = ()
    unmapped: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class WithdrawalResult:
    """Result of a withdrawal.

    Attributes:
        sequence: Of the log entry.
        interactions: How many were withdrawn.
    """

    sequence: int
    interactions: int
