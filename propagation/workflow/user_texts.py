"""Users' filter memories (and the rest of their text) for reading: a small bounded cache before the store."""

import time
from collections import OrderedDict
from collections.abc import Iterable

from propagation.model.text import ClientText
from propagation.ports.reason import ReasonStore

CAPACITY = 4_096
FRESH_SECONDS = 1.0


class UserTexts:
    """At most 4,096 texts, none used for more than a second: the filter rules of an answer are that young."""

    def __init__(self, store: ReasonStore) -> None:
        self._store = store
        self._texts: OrderedDict[int, tuple[float, ClientText]] = OrderedDict()

    def forget(self, refs: Iterable[int]) -> None:
        """These were written by somebody else."""
        for ref in refs:
            self._texts.pop(ref, None)

    async def get(self, ref: int) -> ClientText:
        """The text of a client; an empty one where it has none."""
        known = self._texts.get(ref)
        now = time.monotonic()
        if known is not None and now - known[0] < FRESH_SECONDS:
            return known[1]
        text = (await self._store.load_texts([ref]))[ref]
        self._texts[ref] = (now, text)
        self._texts.move_to_end(ref)
        if len(self._texts) > CAPACITY:
            self._texts.popitem(last=False)
        return text
