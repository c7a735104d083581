"""The catalogue in memory: items with their attributes and categories."""

from array import array
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import lru_cache

import numpy as np

from propagation.model import (
    I64,
    Client,
    ClientKey,
    ClientKind,
    NotFound,
    get_kind,
    index_of,
    normalize_name,
)
from propagation.ports import ClientStore

Label = tuple[str, str]


async def scan_items(store: ClientStore) -> AsyncIterator[Sequence[Client]]:
    """Read every item of the store, by ref, some at a time."""
    after = -1
    while items := await store.scan_clients(ClientKind.ITEM, after, 10_000):
        yield items
        after = items[-1].ref


async def find_ref(store: ClientStore, key: ClientKey) -> int:
    """Return a client's number.

    Raises:
        NotFound: There is no such client.
    """
    (ref,) = await store.find_refs([key])
    if ref is None:
        raise NotFound(key.kind.name.lower(), key.id)
    return ref


async def load_client(store: ClientStore, ref: int, as_of: int | None = None) -> Client:
    """Load a client.

    Args:
        as_of: As it was at this sequence; None means now.

    Raises:
        NotFound: The client was erased since its ref was found.
    """
    found = await store.get_clients([ref], as_of)
    if not found:
        raise NotFound("client", str(ref))
    return found[0]


class Catalogue:
    """Items by row, and inverted lists by normalised attribute and category.

    The catalogue is used on one thread only.

    Attributes:
        ids: Item ids by row; empty for erased items.
        titles: Titles by row; empty for erased items.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.titles: list[str] = []
        self._labels: list[tuple[Label, ...]] = []
        self._rows: defaultdict[Label, array[int]] = defaultdict(lambda: array("q"))
        self._hidden: set[int] = set()
        self._pending_hidden: dict[int, int] = {}
        self._sequences = array("q")

    async def load(self, store: ClientStore) -> None:
        """Load every item of the store."""
        async for items in scan_items(store):
            self.take(items)

    def take(self, clients: Iterable[Client]) -> None:
        """Apply new items and new texts.

        Skip users, and texts older than the present ones.
        """
        for client in clients:
            if get_kind(client.ref) == ClientKind.ITEM:
                self._take(index_of(client.ref), client)

    def forget(self, row: int) -> None:
        """Remove an item that was erased."""
        if row < len(self.ids):
            self._relabel(row, ())
            self.ids[row] = self.titles[row] = ""
            self._hidden.add(row)
            self._pending_hidden.pop(row, None)

    def _take(self, row: int, client: Client) -> None:
        missing = row + 1 - len(self.ids)
        if missing > 0:
            self.ids.extend([""] * missing)
            self.titles.extend([""] * missing)
            self._labels.extend([()] * missing)
            self._sequences.extend([-1] * missing)
        if client.sequence < self._sequences[row]:
            return
        self._sequences[row] = client.sequence
        self.ids[row], self.titles[row] = client.key.id, client.title
        (self._hidden.add if client.hidden else self._hidden.discard)(row)
        labels = _list_labels(client)
        if labels != self._labels[row]:
            self._relabel(row, labels)

    def _relabel(self, row: int, labels: tuple[Label, ...]) -> None:
        before = self._labels[row]
        for label in before:
            if label not in labels:
                self._rows[label].remove(row)
        for label in labels:
            if label not in before:
                self._rows[label].append(row)
        self._labels[row] = labels

    def is_hidden(self, row: int) -> bool:
        """Return whether an item is hidden."""
        return row in self._hidden or row in self._pending_hidden

    def hide(self, row: int, sequence: int | None) -> None:
        """Hide an item at once, before the numbers have learned it.

        Args:
            row: The item's row.
            sequence: The commit that hid the item; None: drop a pending hiding.
        """
        if sequence is None:
            self._pending_hidden.pop(row, None)
        else:
            self._pending_hidden[row] = sequence

    def note_learned(self, clients: Iterable[Client]) -> None:
        """Drop pending hiding of items that the numbers have learned.

        Args:
            clients: Items as learned. An item that was hidden after this version stays hidden.
        """
        for client in clients:
            row = index_of(client.ref)
            if self._pending_hidden.get(row, client.sequence + 1) <= client.sequence:
                del self._pending_hidden[row]

    @property
    def pending_hidden(self) -> list[int]:
        """Return the rows of items whose hiding is not learned yet."""
        return list(self._pending_hidden)

    def find_rows_with(self, attributes: Sequence[str], categories: Sequence[str]) -> I64 | None:
        """Find items with any of the attributes and any of the categories.

        An empty list sets no condition.

        Returns:
            Rows, ascending; None if both lists are empty.
        """
        found: I64 | None = None
        for kind, names in (("attribute", attributes), ("category", categories)):
            if names:
                rows = self._find_any_of(kind, names)
                found = rows if found is None else np.intersect1d(found, rows, assume_unique=True)
        return found

    def _find_any_of(self, kind: str, names: Sequence[str]) -> I64:
        lists = [
            np.array(self._rows[label], np.int64)
            for name in names
            if (label := (kind, normalize_name(name))) in self._rows
        ]
        return np.unique(np.concatenate(lists)) if lists else np.empty(0, np.int64)


@lru_cache(maxsize=1 << 16)
def _write_label(kind: str, name: str) -> Label:
    return kind, normalize_name(name)


def _list_labels(client: Client) -> tuple[Label, ...]:
    labels = [
        *(_write_label("attribute", name) for name in client.attributes),
        *(_write_label("category", name) for name in client.categories),
    ]
    return tuple(dict.fromkeys(label for label in labels if label[1]))
