"""Embeddings through the same client: batched, checked, kept in the graph by what was embedded."""

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propagation.adapters.openai.endpoint import Endpoint
from propagation.adapters.openai.options import EmbeddingOptions
from propagation.model.errors import IncompatibleSettings, ReasonerGaveUp
from propagation.ports.blobs import BlobStore

TEXTS_A_CALL = 64
TEXT_CHARS = 8_000
DIGEST = 16


class OpenAIEmbedder:
    """Unit rows of a fixed dimension."""

    def __init__(self, endpoint: Endpoint, store: BlobStore, options: EmbeddingOptions) -> None:
        self._endpoint = endpoint
        self._store = store
        self._model = options.model
        self._dimension = options.dimension
        self._places = options.cached

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    @property
    def dimension(self) -> int:
        return self._dimension

    async def close(self) -> None:
        """Let go of connections; what was spent is written down."""
        await self._endpoint.close()
        await self._endpoint.spending.save(closing=True)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the port says. Raises ReasonerUnavailable and ReasonerGaveUp; IncompatibleSettings for vectors of another length."""
        out = np.zeros((len(texts), self._dimension), np.float32)
        places: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            if text.strip():
                plain = text[:TEXT_CHARS].encode("utf-8", "replace").decode()  # a lone surrogate is no text on the wire
                places.setdefault(plain, []).append(place)
        missing = []
        kept = await asyncio.gather(*map(self._kept, places))
        for (text, rows), vector in zip(places.items(), kept, strict=True):
            if vector is None:
                missing.append(text)
            else:
                out[rows] = vector
        for start in range(0, len(missing), TEXTS_A_CALL):
            part = missing[start : start + TEXTS_A_CALL]
            found = self._checked(await self._endpoint.embeddings(self._model, part), len(part))
            for text, vector in zip(part, found, strict=True):
                out[places[text]] = vector
            await asyncio.gather(*map(self._keep, part, found))
        return out

    def _checked(self, answer: Mapping[str, Any], count: int) -> NDArray[np.float32]:
        """[count, D], in the order of `index`; servers give tokens' vectors, other lengths, other orders, and NaN."""
        by_place = {one.get("index"): one.get("embedding") for one in answer["data"] if isinstance(one, Mapping)}
        if len(answer["data"]) != count or by_place.keys() != set(range(count)):
            raise ReasonerGaveUp(f"{len(answer['data'])} embeddings came for {count} texts")
        try:
            vectors = np.array([by_place[place] for place in range(count)], np.float64)
        except (TypeError, ValueError) as error:
            raise ReasonerGaveUp(f"these are no embeddings of texts: {error}") from error
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ReasonerGaveUp("these are no embeddings of texts: a flat list of finite numbers a text is wanted")
        if vectors.shape[1] != self._dimension:
            raise IncompatibleSettings(
                f"{self._model} embeds in {vectors.shape[1]} dimensions and openai.embeddings.dimension is {self._dimension}: set"
                " the right one, then run `propagation init` where there is data, which does what `propagation reindex` does, too")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32)

    async def _kept(self, text: str) -> NDArray[np.float32] | None:
        digest, place = self._place(text)
        blob = await self._store.get_blob(place) if self._places else None
        if blob is None or blob[:DIGEST] != digest or len(blob) != DIGEST + 4 * self._dimension:
            return None
        return np.frombuffer(blob[DIGEST:], np.float32)

    async def _keep(self, text: str, vector: NDArray[np.float32]) -> None:
        if self._places:
            digest, place = self._place(text)
            await self._store.put_blob(place, digest + vector.tobytes())

    def _place(self, text: str) -> tuple[bytes, str]:
        digest = blake2b(f"{self._model}\n{text}".encode("utf-8", "replace"), digest_size=DIGEST).digest()
        return digest, f"embedding:{int.from_bytes(digest[:8]) % max(self._places, 1)}"
