"""Counts the answered questions of each part of a run.

The estimate of a run that goes on needs them. The file of answers knows digests of questions, and
not whose they are.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping

import orjson

from propagation.adapters.openai.blob_cache import BlobCache
from propagation.laboratory.methods.asking.run_part import RunPart, current_part
from propagation.ports import GraphStore

PLACES = 1 << 60
"""Places of the cache of counts: so many that no two parts share one."""
SAVE_SECONDS = 0.5


class AnswerCounts:
    """Counts the answered questions of each part, by prompt.

    A part that goes on asks from its beginning, and is given its kept answers first. So its count
    is the most that it reached in any process. It is saved at most every SAVE_SECONDS: of a process
    that is killed, the last ones are not counted, and the next estimate is higher by as much.
    """

    def __init__(self, store: GraphStore) -> None:
        self._cache = BlobCache(store, "answered", PLACES)
        self._counts: defaultdict[RunPart, Counter[str]] = defaultdict(Counter)
        self._unsaved: set[RunPart] = set()
        self._saved_at = 0.0

    def note(self, label: str) -> None:
        """Count an answer to the current part's question, by its prompt."""
        part = current_part.get()
        if part is not None:
            self._counts[part][label] += 1
            self._unsaved.add(part)

    async def save(self, *, closing: bool = False) -> None:
        """Save the counts, unless they were saved just now.

        Args:
            closing: Save them in any case.

        Raises:
            StoreFull: There is no room. StoreCorrupt: The file of answers is damaged.
        """
        if not closing and time.monotonic() - self._saved_at < SAVE_SECONDS:
            return
        self._saved_at = time.monotonic()
        parts, self._unsaved = self._unsaved, set()
        for part in parts:
            most = Counter(await self.read(part)) | self._counts[part]
            await self._cache.put(_name(part), orjson.dumps(most), after_withdrawal=0)

    async def read(self, part: RunPart) -> Mapping[str, int]:
        """Return how many of a part's questions are answered, by prompt."""
        kept = await self._cache.get(_name(part))
        counts: Mapping[str, int] = orjson.loads(kept) if kept else {}
        return counts


def _name(part: RunPart) -> bytes:
    return "\n".join(map(str, part)).encode()
