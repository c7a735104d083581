"""A cache of what an endpoint answered, kept in the graph.

The cache has a fixed number of places; a newer answer takes the place of an older one. A withdrawal
empties the cache.
"""

from hashlib import blake2b

from propagation.ports import CACHED, GraphStore, read_after

DIGEST = 16


class BlobCache:
    """Answers by question; with 0 places the cache holds none.

    Each answer is stored with a digest of its question, so that another question never gets it.
    """

    def __init__(self, store: GraphStore, kind: str, places: int) -> None:
        self._store = store
        self._kind = kind
        self._places = places

    async def get(self, asked: bytes) -> bytes | None:
        """Return the answer to an equal question, if it is kept."""
        if not self._places:
            return None
        digest, place = self._find_place(asked)
        blob = await self._store.get_blob(place)
        return blob[DIGEST:] if blob is not None and blob[:DIGEST] == digest else None

    async def get_last_withdrawal(self) -> int:
        """Return the last withdrawal before a question's texts were read.

        Call this before the question is asked, and pass the sequence to `put`.
        """
        known = read_after.get()
        if known is None:
            known = await self._store.get_last_withdrawal() if self._places else 0
        return known

    async def put(self, asked: bytes, answer: bytes, after_withdrawal: int) -> None:
        """Keep an answer, unless something was withdrawn since its texts were read.

        Args:
            after_withdrawal: The sequence from `get_last_withdrawal`.
        """
        if self._places:
            digest, place = self._find_place(asked)
            await self._store.put_cached(place, digest + answer, after_withdrawal)

    def _find_place(self, asked: bytes) -> tuple[bytes, str]:
        digest = blake2b(asked, digest_size=DIGEST).digest()
        return digest, f"{CACHED}{self._kind}:{int.from_bytes(digest[:8]) % self._places}"
