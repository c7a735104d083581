"""A client: a user or an item (RecNet 2.1)."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import IntEnum

from propagation.model.base import Term, value

ID_MAX_BYTES = 256
TEXT_MAX_CHARS = 8_000
LIST_MAX = 64


class ClientKind(IntEnum):
    """Users and items have separate id spaces: user "7" and item "7" are two clients."""

    USER = 0
    ITEM = 1


@value
class ClientKey:
    """What a caller names a client by."""

    kind: ClientKind
    id: str


def ref_of(kind: ClientKind, index: int) -> int:
    """The graph-wide number of a client: its kind's dense index (>= 0) and its kind in the lowest
    bit."""
    return index << 1 | kind


_KINDS = (
    ClientKind.USER,
    ClientKind.ITEM,
)  # by value: called a hundred times an answer, and the enum takes four times as long


def kind_of(ref: int) -> ClientKind:
    return _KINDS[ref & 1]


def index_of(ref: int) -> int:
    """The row of the client in its kind's arrays."""
    return ref >> 1


@value
class Client:
    """A client as the graph holds it. `sequence` is that of its last change."""

    ref: int
    key: ClientKey
    title: str = ""
    description: str = ""
    attributes: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    hidden: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    sequence: int = 0

    @property
    def has_text(self) -> bool:
        return bool(self.title or self.description or self.attributes or self.categories)


class ClientChange(Term):
    """What an upsert asks for; a field that is None is kept as it was (new clients: the default)."""

    key: ClientKey
    title: str | None = None
    description: str | None = None
    attributes: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    hidden: bool | None = None
    metadata: Mapping[str, str] | None = None

    def apply_to(self, before: Client) -> Client:
        """The client after this change; equal to `before` when nothing differs."""
        given = {name: value for name, value in self if name != "key" and value is not None}
        return replace(before, **given)


class ClientOutcome(Term):
    """What became of one change. `sequence` is the commit's, or the last one's when nothing
    changed."""

    ref: int
    sequence: int
    created: bool
    changed: bool
