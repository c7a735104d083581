"""Request of a withdrawal, and the changes of stored texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from propagation.graph_rules import OwnWords
from propagation.model import (
    Attribute,
    Client,
    ClientKind,
    ClientText,
    EvolutionRun,
    InteractionRow,
    LearnedWeights,
    RouterVersion,
    StoredText,
    compute_ref,
    normalize_name,
)
from propagation.routing import list_catalogue_attributes
from propagation.workflow.forget.redaction import Key


@dataclass(frozen=True)
class ErasedClient:
    """A client that is erased.

    Attributes:
        names: Attributes of its own text, now and earlier.
        own_words: Its titles, and those of `names` that no other client's own text holds.
        orphans: Items that go with it, because only its events named them. They have no text.
    """

    client: Client
    names: frozenset[str]
    own_words: OwnWords
    orphans: Sequence[Client] = ()

    @property
    def erased_refs(self) -> tuple[int, ...]:
        """Refs of the client and the orphans."""
        return (self.client.ref, *(client.ref for client in self.orphans))


def list_own_names(contents: Iterable[Client], texts: Iterable[ClientText]) -> frozenset[str]:
    """Return the normalized attributes of a client's own texts.

    These are its attributes and categories, and those found in its catalogue lines; also those
    that it had before.
    """
    names = {
        normalize_name(name)
        for content in contents
        for name in (*content.attributes, *content.categories)
    }
    return frozenset(names.union(*map(list_catalogue_attributes, texts)) - {""})


@dataclass
class TextChanges:
    """Changes of stored texts that a withdrawal makes.

    See Withdrawal for the fields.

    Attributes:
        versions: Changed versions by (ref, version).
        lines_dropped: Lines that current profiles lose.
        reports: Evolution runs without the reasons that held words that go.
        postponed: The arrivals that still wait, packed; None: none are stored.
        hidden: Words that no text about others may hold any more.
    """

    versions: dict[Key, StoredText] = field(default_factory=dict)
    messages: list[RouterVersion] = field(default_factory=list)
    reduced_messages: dict[Key, frozenset[str]] = field(default_factory=dict)
    client_attributes: dict[int, Sequence[str]] = field(default_factory=dict)
    recounted: dict[str, Attribute] = field(default_factory=dict)
    reports: list[EvolutionRun] = field(default_factory=list)
    postponed: bytes | None = None
    hidden: frozenset[str] = frozenset()
    lines_dropped: int = 0
    texts_read_through: int = 0

    @property
    def rewritten(self) -> list[ClientText]:
        """Changed versions, under their own numbers."""
        return [stored.text for stored in self.versions.values()]

    @property
    def next_texts(self) -> list[ClientText]:
        """Changed current texts, each as its next version.

        A commit that builds on the old version then clashes.
        """
        current = [stored.text for stored in self.versions.values() if stored.current]
        return [
            replace(text, profile=replace(text.profile, version=text.profile.version + 1))
            for text in current
        ]

    @property
    def unheld(self) -> frozenset[str]:
        """Attributes that no client holds any more."""
        return frozenset(name for name, one in self.recounted.items() if one.holders <= 0)


@dataclass(frozen=True)
class WithdrawalRequest:
    """A request to withdraw interactions.

    Attributes:
        rows: The interactions; for an erasure, all of the client's.
        weights: What the interactions wrote when they were learned.
        erased: The client that goes with them; None for a retraction.
        unquotable: Items (refs) whose titles no message may quote any more: without the users of
            the interactions, too few users chose them.
    """

    rows: Sequence[InteractionRow]
    weights: LearnedWeights
    erased: ErasedClient | None
    unquotable: Sequence[int] = ()

    @property
    def erased_refs(self) -> frozenset[int]:
        """Refs of the erased client, and of items that go too."""
        return frozenset() if self.erased is None else frozenset(self.erased.erased_refs)

    @property
    def own_words(self) -> OwnWords:
        """Words of the erased client that no other client has."""
        return OwnWords() if self.erased is None else self.erased.own_words

    @property
    def clients(self) -> dict[int, list[int]]:
        """Refs of each interaction's user, item and first negative, by sequence."""
        drawn = zip(self.weights.sequence.tolist(), self.weights.negative.tolist(), strict=True)
        negatives = {
            sequence: [compute_ref(ClientKind.ITEM, item)] for sequence, item in drawn if item >= 0
        }
        return {
            row.sequence: [row.user, row.item, *negatives.get(row.sequence, ())]
            for row in self.rows
        }

    @property
    def refs(self) -> list[int]:
        """Refs of all clients in `clients`, and of those that are erased."""
        return sorted(self.erased_refs.union(*self.clients.values()))

    @property
    def senders(self) -> list[int]:
        """Refs of the erased clients, or of the users who lose interactions."""
        return sorted(self.erased_refs or {row.user for row in self.rows})
