"""Cache of users' filter memories (and the rest of their text) for reads."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from cachetools import LRUCache

from propagation.model import ClientText
from propagation.ports import ReasonStore

CAPACITY = 4_096
FRESH_SECONDS = 1.0


@dataclass
class _CachedText:
    """A text, when it was last confirmed, and the last withdrawal known then.

    A withdrawal changes texts without changing their versions.
    """

    text: ClientText
    confirmed: float
    last_withdrawal: int


class FilterMemoryCache:
    """At most 4,096 texts, each confirmed against the store once it is a second old.

    The filter rules behind an answer are therefore at most one second old.
    """

    def __init__(self, store: ReasonStore) -> None:
        self._store = store
        self._texts: LRUCache[int, _CachedText] = LRUCache(CAPACITY)
        self._last_withdrawal = 0

    def forget(self, refs: Iterable[int]) -> None:
        """Drop the texts of these clients: another process changed them."""
        for ref in refs:
            self._texts.pop(ref, None)

    async def get(self, ref: int) -> ClientText:
        """Return the text of a client; an empty one if it has none."""
        cached, now = self._texts.get(ref), time.monotonic()
        if cached is not None and now - cached.confirmed < FRESH_SECONDS:
            return cached.text
        if cached is None or not await self._is_current(cached):
            text = (await self._store.load_texts([ref]))[ref]
            cached = _CachedText(text, now, self._last_withdrawal)
        cached.confirmed = now
        self._texts[ref] = cached
        return cached.text

    async def _is_current(self, cached: _CachedText) -> bool:
        self._last_withdrawal = await self._store.last_withdrawal()
        if cached.last_withdrawal != self._last_withdrawal:
            return False
        ref, version = cached.text.profile.ref, cached.text.profile.version
        return (await self._store.text_versions([ref])).get(ref, 0) == version
