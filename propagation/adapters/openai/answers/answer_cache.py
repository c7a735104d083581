"""A cache of answers to equal questions, kept in the graph.

It has a fixed number of places; a newer answer takes the place of an older one.
"""

import asyncio
import logging
from hashlib import blake2b
from typing import Any

import orjson

from propagation.ports import BlobStore

DIGEST = 16
log = logging.getLogger(__name__)


class AnswerCache:
    """Answers by question; with 0 places it holds none.

    A place holds the digest of its question, so that another question never gets its answer.
    """

    def __init__(self, store: BlobStore, places: int) -> None:
        self._store = store
        self._places = places
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(self, asked: bytes) -> dict[str, Any] | None:
        """Return the answer to an equal question, if it is kept."""
        if not self._places:
            return None
        digest, place = self._place(asked)
        blob = await self._store.get_blob(place)
        if blob is None or blob[:DIGEST] != digest:
            return None
        value: dict[str, Any] = orjson.loads(blob[DIGEST:])
        return value

    def put(self, asked: bytes, answer: dict[str, Any]) -> None:
        """Keep an answer, without waiting; a crash before it is stored costs one call."""
        if self._places:
            digest, place = self._place(asked)
            task = asyncio.ensure_future(self._store.put_blob(place, digest + orjson.dumps(answer)))
            self._tasks.add(task)
            task.add_done_callback(self._log_failure)

    async def close(self) -> None:
        """Wait until all answers are stored."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _log_failure(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("an answer is not kept: %s", error)

    def _place(self, asked: bytes) -> tuple[bytes, str]:
        digest = blake2b(asked, digest_size=DIGEST).digest()
        return digest, f"answer:{int.from_bytes(digest[:8]) % self._places}"
