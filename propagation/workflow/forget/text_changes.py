"""Request of a withdrawal, and the changes of stored texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from propagation.graph_rules.name_matching import OwnWords
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
        titles: Its title, and those that it had before.
        names: Attributes of its own text, also of earlier ones.
        own_names: Those of them that are in no other client's own text.
    """

    client: Client
    titles: frozenset[str]
    names: frozenset[str]
    own_names: frozenset[str]


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
        reports: Evolution runs, without reasons that hold what goes.
        postponed: The arrivals that still wait, packed; None: no blob.
        hidden: Words of which a text about others may hold none any more.
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

        Writers of the old version then clash.
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
        rows: For an erasure, all interactions of the client.
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
    def erased_ref(self) -> int | None:
        """Ref of the client that is erased."""
        return None if self.erased is None else self.erased.client.ref

    @property
    def own_words(self) -> OwnWords:
        """Words of the erased client that no other client has."""
        return (
            OwnWords()
            if self.erased is None
            else OwnWords(self.erased.titles, self.erased.own_names)
        )

    @property
    def clients(self) -> dict[int, list[int]]:
        """Refs of each interaction's user, item and first negative, by sequence."""
        found = {row.sequence: [row.user, row.item] for row in self.rows}
        for sequence, item in zip(self.weights.sequence, self.weights.negative, strict=True):
            if item >= 0:
                found[int(sequence)].append(compute_ref(ClientKind.ITEM, int(item)))
        return found

    @property
    def refs(self) -> list[int]:
        """Refs of all these, and of the erased client."""
        refs = {ref for found in self.clients.values() for ref in found}
        return sorted(refs if self.erased is None else {*refs, self.erased.client.ref})

    @property
    def senders(self) -> list[int]:
        """Refs of the erased client, or of the users who lose interactions."""
        return (
            [self.erased.client.ref]
            if self.erased is not None
            else sorted({row.user for row in self.rows})
        )
