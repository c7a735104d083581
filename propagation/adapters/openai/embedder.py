"""Embeddings through the same client: batched, checked, kept in the graph by what was embedded."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from propagation.adapters.openai.endpoint import Endpoint
from propagation.model.errors import IncompatibleSettings, ReasonerGaveUp
from propagation.ports.blobs import BlobStore

TEXTS_A_CALL = 64
TEXT_CHARS = 8_000
DIGEST = 16


class OpenAIEmbedder:
    """Unit rows of a fixed dimension. `places`: how many vectors the graph keeps."""

    def __init__(self, endpoint: Endpoint, store: BlobStore, model: str, dimension: int, places: int) -> None:
        self._endpoint = endpoint
        self._store = store
        self._model = model
        self._dimension = dimension
        self._places = places

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    @property
    def dimension(self) -> int:
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the port says. Raises ReasonerUnavailable and ReasonerGaveUp; IncompatibleSettings for vectors of another length."""
        out = np.zeros((len(texts), self._dimension), np.float32)
        places: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            if text.strip():
                places.setdefault(text[:TEXT_CHARS], []).append(place)
        missing = []
        for text, rows in places.items():
            kept = await self._kept(text)
            if kept is None:
                missing.append(text)
            else:
                out[rows] = kept
        for start in range(0, len(missing), TEXTS_A_CALL):
            part = missing[start : start + TEXTS_A_CALL]
            found = self._checked(await self._endpoint.embeddings(self._model, part), len(part))
            for text, vector in zip(part, found, strict=True):
                out[places[text]] = vector
                await self._keep(text, vector)
        return out

    def _checked(self, answer: object, count: int) -> NDArray[np.float32]:
        """[count, D], in the order of `index`; servers give tokens' vectors, other lengths, other orders, and NaN."""
        data = sorted(getattr(answer, "data", None) or [], key=lambda one: one.index)
        if [one.index for one in data] != list(range(count)):
            raise ReasonerGaveUp(f"{len(data)} embeddings came for {count} texts")
        try:
            vectors = np.array([one.embedding for one in data], np.float64)
        except (TypeError, ValueError) as error:
            raise ReasonerGaveUp(f"these are no embeddings of texts: {error}") from error
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ReasonerGaveUp("these are no embeddings of texts: a flat list of finite numbers a text is wanted")
        if vectors.shape[1] != self._dimension:
            raise IncompatibleSettings(f"{self._model} embeds in {vectors.shape[1]} dimensions and the one told is "
                                       f"{self._dimension}: tell the right one, then run `propagation reindex`")
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
