"""Users' filter memories (and the rest of their text) for reading: a small bounded cache before the
store."""

import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from propagation.model.clients.client_text import ClientText
from propagation.ports.graph.reason import ReasonStore

CAPACITY = 4_096
FRESH_SECONDS = 1.0


@dataclass(frozen=True)
class _Known:
    """A text, when it was so, and what had surely been taken back by then: that changes texts and
    keeps their versions."""

    text: ClientText
    at: float
    taken_back: int


class UserTexts:
    """At most 4,096 texts, none used for more than a second unless its version is still the newest:
    the filter rules of an answer are that young."""

    def __init__(self, store: ReasonStore) -> None:
        self._store = store
        self._texts: OrderedDict[int, _Known] = OrderedDict()
        self._taken_back = 0

    def forget(self, refs: Iterable[int]) -> None:
        """These were written by somebody else."""
        for ref in refs:
            self._texts.pop(ref, None)

    async def get(self, ref: int) -> ClientText:
        """The text of a client; an empty one where it has none."""
        known, now = self._texts.get(ref), time.monotonic()
        if known is not None and now - known.at < FRESH_SECONDS:
            return known.text
        if known is None or not await self._is_current(known):
            known = _Known((await self._store.load_texts([ref]))[ref], now, self._taken_back)
        self._texts[ref] = replace(known, at=now)
        self._texts.move_to_end(ref)
        if len(self._texts) > CAPACITY:
            self._texts.popitem(last=False)
        return known.text

    async def _is_current(self, known: _Known) -> bool:
        self._taken_back = await self._store.last_withdrawal()
        if known.taken_back != self._taken_back:
            return False
        ref = known.text.profile.ref
        return (await self._store.text_versions([ref])).get(ref, 0) == known.text.profile.version
