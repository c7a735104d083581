"""Users' filter memories (and the rest of their text) for reading: a small bounded cache before the store."""

import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from propagation.model.text import ClientText
from propagation.ports.reason import ReasonStore

CAPACITY = 4_096
FRESH_SECONDS = 1.0


@dataclass(frozen=True)
class _Known:
    """A text, when it was so, and what had been taken back by then: that changes texts and keeps their versions."""

    text: ClientText
    at: float
    taken_back: int


class UserTexts:
    """At most 4,096 texts, none used for more than a second unless its version is still the newest: the filter rules of an answer
    are that young."""

    def __init__(self, store: ReasonStore) -> None:
        self._store = store
        self._texts: OrderedDict[int, _Known] = OrderedDict()
        self._taken_back = (0, -FRESH_SECONDS)

    def forget(self, refs: Iterable[int]) -> None:
        """These were written by somebody else."""
        for ref in refs:
            self._texts.pop(ref, None)

    async def get(self, ref: int) -> ClientText:
        """The text of a client; an empty one where it has none."""
        known, now = self._texts.get(ref), time.monotonic()
        if known is not None and now - known.at < FRESH_SECONDS:
            return known.text
        taken_back = await self._withdrawn(now)
        if known is None or known.taken_back != taken_back or not await self._is_newest(known.text):
            known = _Known((await self._store.load_texts([ref]))[ref], now, taken_back)
        self._texts[ref] = _Known(known.text, now, taken_back)
        self._texts.move_to_end(ref)
        if len(self._texts) > CAPACITY:
            self._texts.popitem(last=False)
        return known.text

    async def _is_newest(self, text: ClientText) -> bool:
        versions = await self._store.text_versions([text.profile.ref])
        return versions.get(text.profile.ref, 0) == text.profile.version

    async def _withdrawn(self, now: float) -> int:
        """Through which entry of the log everything is taken back; as it was a second ago at most."""
        through, at = self._taken_back
        if now - at >= FRESH_SECONDS:
            through = await self._store.taken_back_through()
            self._taken_back = through, now
        return through
