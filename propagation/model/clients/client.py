"""A client: a user or an item (RecNet 2.1)."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import IntEnum

from propagation.model.base import Term, value

ID_MAX_BYTES = 256
TEXT_MAX_CHARS = 8_000
LIST_MAX = 64


class ClientKind(IntEnum):
    """Users and items.

    Their ids are separate: user "7" and item "7" are two clients.
    """

    USER = 0
    ITEM = 1


@value
class ClientKey:
    """The name of a client as callers give it."""

    kind: ClientKind
    id: str


def compute_ref(kind: ClientKind, index: int) -> int:
    """Return the graph-wide number (ref) of a client.

    Args:
        index: Dense number of the client within its kind, from 0.

    Returns:
        index * 2 + kind.
    """
    return index << 1 | kind


# Indexing a tuple is four times as fast as calling the enum, and an answer does it a hundred times.
_KINDS = (ClientKind.USER, ClientKind.ITEM)


def get_kind(ref: int) -> ClientKind:
    """Return the kind of a client (ref)."""
    return _KINDS[ref & 1]


def index_of(ref: int) -> int:
    """Return a client's row in the arrays of its kind."""
    return ref >> 1


@value
class Client:
    """A client as the graph holds it.

    Attributes:
        hidden: Whether this item is never recommended.
        metadata: The caller's own data.
        sequence: Sequence of its last change.
        only_in_events: Whether an event created the client and no upsert ever named it.
    """

    ref: int
    key: ClientKey
    title: str = ""
    description: str = ""
    attributes: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    hidden: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    sequence: int = 0
    only_in_events: bool = False

    @property
    def has_text(self) -> bool:
        """Whether the client has a text of its own."""
        return bool(self.title or self.description or self.attributes or self.categories)


class ClientChange(Term):
    """A change of a client.

    A field that is None keeps its value; for a new client it gets the default.
    """

    key: ClientKey
    title: str | None = None
    description: str | None = None
    attributes: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    hidden: bool | None = None
    metadata: Mapping[str, str] | None = None

    def apply_to(self, before: Client) -> Client:
        """Return the client after this change; an equal one if nothing differs.

        A client that only events named changes with its first upsert, even an empty one.
        """
        changed = {name: value for name, value in self if name != "key" and value is not None}
        return replace(before, only_in_events=False, **changed)


@value
class ClientOutcome:
    """Outcome of one change in an upsert.

    Attributes:
        sequence: Sequence of the commit; of the client's last change if nothing changed.
    """

    ref: int
    sequence: int
    created: bool
    changed: bool
