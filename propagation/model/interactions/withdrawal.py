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
    """States of an event id, as the log knows it."""

    RECORDED = "recorded"
    RETRACTED = "retracted"
    FORGOTTEN = "forgotten"
    UNKNOWN = "unknown"


class EventState(NamedTuple):
    """The state of an event id, with its interaction.

    Attributes:
        interaction: The interaction while it is recorded, else None.
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
        routers: [n,2,16] u16 as in LearnedBlock, numbered as in the epoch of the write.
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
        time: [n] i64, when it happened, in milliseconds since 1970.
    """

    user: NDArray[np.int64]
    sequence: NDArray[np.int64]
    item: NDArray[np.int64]
    weight: NDArray[np.float64]
    changed: NDArray[np.int64]
    time: NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[float]]) -> "UserChoices":
        """Make the columns from rows of [user, sequence, item, weight, changed, time]."""
        columns = zip(*rows, strict=True) if rows else ((),) * 6
        user, sequence, item, weight, changed, time = columns
        return cls(
            np.array(user, np.int64),
            np.array(sequence, np.int64),
            np.array(item, np.int64),
            np.array(weight, np.float64),
            np.array(changed, np.int64),
            np.array(time, np.int64),
        )


@dataclass(frozen=True)
class PromotedRepeat:
    """A repeat that takes the place of a withdrawn first adoption.

    Attributes:
        routers: [2,16] u16 routers of the repeat's stored row from now on.
        weights: [2,16] f32 weights of that row.
    """

    sequence: int
    routers: NDArray[np.uint16]
    weights: NDArray[np.float32]


@dataclass(frozen=True)
class Citations:
    """Sources that a stored text may rest on.

    Attributes:
        sequences: Interactions.
        messages: By (router, version) of a message: a line that cites it counts if the line holds
            one of these attributes; None: every such line counts.
        words: Words anywhere in the text. All words are found in upper and lower case.
        message_words: Words in lines that cite one of the messages.
        rule_words: Words in filter rules.
        router_words: By router, words in the filter rules that name this router.
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
        at_sequence: Search from the versions written at this sequence on, up to the first that
            cites nothing: a citation that left a text does not come back. A version that a
            withdrawal rewrote does not end the search, because it may have lost a citation that
            later versions have. If the interaction was reasoned late, every version is searched.
            If retention dropped versions of the client, all versions up to the first one after the
            last gap are searched, too.
        from_version: Search from this version on, up to the first that cites nothing.
    """

    ref: int
    citations: Citations | None
    at_sequence: int | None = None
    from_version: int | None = None


@dataclass(frozen=True)
class StoredText:
    """A stored version of a client's text.

    Attributes:
        current: Whether this is the latest stored version.
    """

    text: ClientText
    current: bool


@dataclass(frozen=True)
class AffectedMessage:
    """A message that a withdrawal affects.

    It loses parts, or may stand for less after the withdrawal, or may name an erased client.

    Attributes:
        lost_parts: Parts that are withdrawn.
        remaining: Senders (ref, sequence) of the parts that stay, by attribute: for each attribute
            that loses a part or was searched for, at most as many as were asked for, the
            lowest sequences first (0: the client's own text).
    """

    message: RouterVersion
    lost_parts: Sequence[IntegratedAttribute] = ()
    remaining: Mapping[str, frozenset[tuple[int, int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Withdrawal:
    """Everything that one retraction or erasure changes at once.

    Attributes:
        refs: Clients whose numbers change.
        interactions: Interactions that are withdrawn. An erasure also withdraws those that are
            recorded before its commit.
        texts_read_through: Result of ReasonStore.get_texts_through before any text was read.
        erased: The client that is erased; None for a retraction.
        orphans: Items that go with it: result of ErasureStore.find_orphans.
        promoted: Repeats that take the place of withdrawn first adoptions.
        rewritten: Stored versions whose content changes; they keep their version numbers.
        texts: Next versions of changed current texts.
        messages: Changed messages, as they are from now on.
        reduced_messages: By (router, version) of each message that loses parts, the attributes that
            lose all their parts there.
        client_attributes: Attributes of changed clients, by ref.
        recounted: Attributes with new counts of their holders. An attribute without holders is
            removed.
        postponed: The new blob POSTPONED_ARRIVALS; None leaves the blob as it is.
        reports: Evolution runs whose reasons change.
        unmapped: Names that are no longer mapped to another attribute.
        words: Words that may not stay in the reason of a dead letter, in upper or lower case.
    """

    kind: EntryKind
    refs: tuple[int, ...]
    interactions: Sequence[InteractionRow]
    texts_read_through: int = 0
    erased: int | None = None
    orphans: tuple[int, ...] = ()
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

    @property
    def erased_refs(self) -> tuple[int, ...]:
        """Refs of the erased client and the orphans; none for a retraction."""
        return () if self.erased is None else (self.erased, *self.orphans)


@dataclass(frozen=True)
class WithdrawalResult:
    """Result of a withdrawal.

    Attributes:
        sequence: Sequence of the log entry.
        interactions: How many interactions were withdrawn.
    """

    sequence: int
    interactions: int
