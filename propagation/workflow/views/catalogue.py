"""The catalogue in memory: what an answer names of an item, and which items hold an attribute or a
category."""

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.attribute import normalize_name
from propagation.model.clients.client import Client, ClientKind, index_of, kind_of
from propagation.ports.graph.record import ClientStore

SCAN = 10_000
LABELS_KEPT = 1 << 16
Label = tuple[str, str]


class Catalogue:
    """Items by row: id, title, hidden; and inverted lists by normalised attribute and category. One
    thread's."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._titles: list[str] = []
        self._labels: list[tuple[Label, ...]] = []
        self._rows: dict[Label, array[int]] = {}
        self._hidden: set[int] = set()
        self._hiding: dict[int, int] = {}
        self._sequences = array("q")

    async def load(self, store: ClientStore) -> None:
        """Everything the store has."""
        after = -1
        while clients := await store.scan_clients(ClientKind.ITEM, after, SCAN):
            self.take(clients)
            after = clients[-1].ref

    def take(self, clients: Iterable[Client]) -> None:
        """New items, or their new texts; users are passed over, and so is what is older than what
        is here."""
        for client in clients:
            if kind_of(client.ref) == ClientKind.ITEM:
                self._take(index_of(client.ref), client)

    def forget(self, row: int) -> None:
        """The item is no more: nothing names it."""
        if row < len(self._ids):
            self._relabel(row, ())
            self._ids[row] = self._titles[row] = ""
            self._hidden.add(row)
            self._hiding.pop(row, None)

    def _take(self, row: int, client: Client) -> None:
        missing = row + 1 - len(self._ids)
        if missing > 0:
            self._ids.extend([""] * missing)
            self._titles.extend([""] * missing)
            self._labels.extend([()] * missing)
            self._sequences.extend([-1] * missing)
        if client.sequence < self._sequences[row]:
            return
        self._sequences[row] = client.sequence
        self._ids[row], self._titles[row] = client.key.id, client.title
        if self._hiding.get(row, client.sequence + 1) <= client.sequence:
            del self._hiding[row]
        (self._hidden.add if client.hidden else self._hidden.discard)(row)
        labels = _labels_of(client)
        if labels != self._labels[row]:
            self._relabel(row, labels)

    def _relabel(self, row: int, labels: tuple[Label, ...]) -> None:
        before = self._labels[row]
        for label in before:
            if label not in labels:
                self._rows[label].remove(row)
        for label in labels:
            if label not in before:
                rows = self._rows.get(label)
                if rows is None:
                    rows = self._rows[label] = array("q")
                rows.append(row)
        self._labels[row] = labels

    def id_of(self, row: int) -> str:
        return self._ids[row]

    def title_of(self, row: int) -> str:
        return self._titles[row]

    def is_hidden(self, row: int) -> bool:
        return row in self._hidden or row in self._hiding

    def hide(self, row: int, sequence: int | None) -> None:
        """The item was hidden by the commit of this sequence, which is not learned yet; None: it is
        shown again."""
        if sequence is None:
            self._hiding.pop(row, None)
        else:
            self._hiding[row] = sequence

    @property
    def pending_hidden(self) -> list[int]:
        """Rows of items that were hidden, and are not learned to be."""
        return list(self._hiding)

    def rows_with(
        self, attributes: Sequence[str], categories: Sequence[str]
    ) -> NDArray[np.int64] | None:
        """Rows, ascending, of items that hold at least one of each list that is not empty; None
        where both are empty."""
        found: NDArray[np.int64] | None = None
        for kind, names in (("attribute", attributes), ("category", categories)):
            if names:
                rows = self._any_of(kind, names)
                found = rows if found is None else np.intersect1d(found, rows, assume_unique=True)
        return found

    def _any_of(self, kind: str, names: Sequence[str]) -> NDArray[np.int64]:
        lists = [
            np.array(self._rows[label], np.int64)
            for name in names
            if (label := (kind, normalize_name(name))) in self._rows
        ]
        return np.unique(np.concatenate(lists)) if lists else np.empty(0, np.int64)


@lru_cache(maxsize=LABELS_KEPT)
def _label(kind: str, name: str) -> Label:
    return kind, normalize_name(name)


def _labels_of(client: Client) -> tuple[Label, ...]:
    labels = [_label("attribute", name) for name in client.attributes]
    labels += [_label("category", name) for name in client.categories]
    return tuple(dict.fromkeys(label for label in labels if label[1]))
