"""Answers to equal inputs, kept in the graph: as many places as told, the newer answer in the place
of the older."""

import asyncio
import logging
from hashlib import blake2b
from typing import Any

import orjson

from propagation.ports.graph.leases import BlobStore

DIGEST = 16
log = logging.getLogger(__name__)


class AnswerCache:
    """`places` 0: none are kept. A place holds the digest of what was asked, so that another
    question never gets its answer."""

    def __init__(self, store: BlobStore, places: int) -> None:
        self._store = store
        self._places = places
        self._putting: set[asyncio.Task[None]] = set()

    async def get(self, asked: bytes) -> dict[str, Any] | None:
        if not self._places:
            return None
        digest, place = self._place(asked)
        blob = await self._store.get_blob(place)
        if blob is None or blob[:DIGEST] != digest:
            return None
        value: dict[str, Any] = orjson.loads(blob[DIGEST:])
        return value

    def put(self, asked: bytes, answer: dict[str, Any]) -> None:
        """Soon: nobody waits for it, and a crash before it costs a call."""
        if self._places:
            digest, place = self._place(asked)
            task = asyncio.ensure_future(self._store.put_blob(place, digest + orjson.dumps(answer)))
            self._putting.add(task)
            task.add_done_callback(self._put)

    async def close(self) -> None:
        """What was put is kept."""
        await asyncio.gather(*self._putting, return_exceptions=True)

    def _put(self, task: "asyncio.Task[None]") -> None:
        self._putting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("an answer is not kept: %s", error)

    def _place(self, asked: bytes) -> tuple[bytes, str]:
        digest = blake2b(asked, digest_size=DIGEST).digest()
        return digest, f"answer:{int.from_bytes(digest[:8]) % self._places}"
