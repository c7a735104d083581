"""Show items and histories in prompts, by titles and genres."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from propagation.adapters.openai.prompting import TITLE_CHARS, quote_as_data
from propagation.arrays import I64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.history import History
from propagation.model import ClientChange, InvalidInput

GENRES, LATEST = 4, 20
UNTITLED = "an item without a title"


class ShownItems:
    """The texts of a dataset's items.

    An id is not shown: ids can be in the order in which items were listed.

    Raises:
        InvalidInput: Most items have no title, so a model cannot know them.
    """

    def __init__(self, dataset: Dataset) -> None:
        check_titled(dataset)
        self._texts = [_show(item) for item in dataset.items]
        self._newest: tuple[History, Sequence[Sequence[str]]] | None = None

    def show(self, item: int) -> str:
        """Return the text of an item."""
        return self._texts[item]

    def number(self, items: I64) -> Mapping[str, str]:
        """Return the items' texts [C] by number from 1."""
        return {str(place): self._texts[item] for place, item in enumerate(items.tolist(), 1)}

    def list_histories(self, history: History) -> Sequence[Sequence[str]]:
        """List each user's LATEST items, the newest first.

        A small context cuts lists at their end, so what is old goes first. Methods of a run share
        the lists of its history.
        """
        if self._newest is None or self._newest[0] is not history:
            self._newest = history, self._list(history)
        return self._newest[1]

    def _list(self, history: History) -> Sequence[Sequence[str]]:
        texts: list[list[str]] = [[] for _ in range(history.users)]
        order = history.event.argsort()
        for user, item in zip(
            history.user[order].tolist(), history.item[order].tolist(), strict=True
        ):
            texts[user].append(self._texts[item])
        return [some[: -LATEST - 1 : -1] for some in texts]

    def follow_histories(self, history: History, user: I64, known: I64) -> Iterator[Sequence[str]]:
        """Yield a user's LATEST items at each moment, the newest first.

        Args:
            user: [Q] rows.
            known: [Q] how many of the history's earliest interactions are known, ascending.
        """
        texts: dict[int, deque[str]] = {}
        for one, pairs in zip(user.tolist(), history.walk_pairs(known), strict=True):
            for other, item in pairs:
                texts.setdefault(other, deque(maxlen=LATEST)).appendleft(self._texts[item])
            yield list(texts.get(one, ()))


def check_titled(dataset: Dataset) -> None:
    """Check that a model can know most items.

    Raises:
        InvalidInput: Most items have no title, nor a description in its place.
    """
    items = len(dataset.items)
    untitled = sum(_show(item) == UNTITLED for item in dataset.items)
    if 2 * untitled > items:
        raise InvalidInput(
            "items",
            f"{untitled:,} of the {items:,} items of {dataset.name} have no title, and a language"
            " model knows items by their titles: add a catalogue (docs/data.md), or leave out the"
            " methods that ask a model",
        )


def _show(item: ClientChange) -> str:
    title = item.title or item.description
    if not title:
        return UNTITLED
    names = dict.fromkeys((*(item.attributes or ()), *(item.categories or ())))
    genres = ", ".join(quote_as_data(name, TITLE_CHARS) for name in list(names)[:GENRES])
    shown = quote_as_data(title, TITLE_CHARS)
    return f"{shown}: {genres}" if genres else shown
