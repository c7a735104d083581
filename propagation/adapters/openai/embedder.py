"""Embeddings of an endpoint: batched, checked, and kept in the graph."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

import numpy as np
from cachetools import TTLCache

from propagation.adapters.openai.blob_cache import BlobCache
from propagation.adapters.openai.endpoint.endpoint import PLAIN_TEXT, Endpoint, EndpointAdapter
from propagation.adapters.openai.options import TEXTS_PER_CALL, EmbeddingOptions
from propagation.model import F32, IncompatibleSettings, ReasonerGaveUp, split_into_batches
from propagation.ports import GraphStore, normalize_rows

REFUSED_SECONDS = 900.0
MOST_REFUSED = 65_536
TEXT_CHARS = 8_000
log = logging.getLogger(__name__)


class OpenAIEmbedder(EndpointAdapter):
    """Embeds texts as unit vectors of a fixed dimension.

    A text that the server refused gets zeros, and is sent again after REFUSED_SECONDS, since a
    filter may have been wrong. Refusals are not stored, so other processes send the text at once.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        store: GraphStore,
        options: EmbeddingOptions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(endpoint, options.model)
        self._model = options.model
        self.dimension = options.dimension
        self._cache = BlobCache(store, "embedding", options.cached)
        # Hashes, so that the text of a client that is forgotten does not stay in memory.
        self._refused: TTLCache[int, bool] = TTLCache(MOST_REFUSED, REFUSED_SECONDS, clock)

    async def embed(self, texts: Sequence[str]) -> F32:
        """Embed texts.

        Returns:
            Unit vectors [len(texts), dimension]; zeros for a blank or refused text.

        Raises:
            ReasonerUnavailable: The endpoint answers no call now.
            ReasonerGaveUp: The server embeds nothing at all.
            IncompatibleSettings: The vectors have another length than the settings say.
        """
        # Requests are in UTF-8, which cannot hold lone surrogates.
        plain = [text[:TEXT_CHARS].encode("utf-8", "replace").decode() for text in texts]
        different = dict.fromkeys(plain)
        after_withdrawal = await self._cache.get_last_withdrawal()
        kept = await asyncio.gather(*map(self._look_up, different))
        vectors = dict(zip(different, kept, strict=True))
        missing = [text for text, vector in vectors.items() if vector is None]
        for part in split_into_batches(missing, TEXTS_PER_CALL):
            vectors.update(zip(part, await self._embed_call(part, after_withdrawal), strict=True))
        return np.array([vectors[text] for text in plain], np.float32).reshape(-1, self.dimension)

    async def _embed_call(self, part: Sequence[str], after_withdrawal: int) -> F32:
        """Embed one call's texts, and cache the vectors.

        If the server refuses the texts, their halves are sent, down to single texts. A text that is
        refused alone gets zeros.

        Args:
            after_withdrawal: As in `BlobCache.put`.

        Returns:
            Vectors [len(part), dimension].
        """
        try:
            found = await self._ask(part)
        except ReasonerGaveUp as error:
            try:
                await self._ask([PLAIN_TEXT])
            except ReasonerGaveUp:  # it embeds nothing at all
                raise error from None
            if len(part) > 1:
                middle = len(part) // 2
                return np.concatenate(
                    [
                        await self._embed_call(some, after_withdrawal)
                        for some in (part[:middle], part[middle:])
                    ]
                )
            log.warning(
                "the server does not embed a text of %d characters, which gets a zero vector: %s",
                len(part[0]),
                error,
            )
            self._refused[hash(part[0])] = True
            return np.zeros((1, self.dimension), np.float32)
        await asyncio.gather(
            *(
                self._cache.put(self._build_key(text), vector.tobytes(), after_withdrawal)
                for text, vector in zip(part, found, strict=True)
            )
        )
        return found

    async def _ask(self, part: Sequence[str]) -> F32:
        """Ask for the vectors of some texts and check them.

        Some servers send vectors of single tokens, of other lengths or in another order, or NaN.

        Returns:
            Unit vectors [len(part), dimension] in the order of the texts.
        """
        response = await self.endpoint.embeddings(part)
        by_place = {
            place if index is None else index: vector
            for place, (index, vector) in enumerate(response.vectors)
        }
        if len(response.vectors) != len(part) or by_place.keys() != set(range(len(part))):
            raise ReasonerGaveUp(
                f"the server sent {len(response.vectors)} embeddings for {len(part)} texts, or"
                " numbered them wrongly"
            )
        try:
            vectors = np.array([by_place[place] for place in range(len(part))], np.float64)
        except (TypeError, ValueError) as error:
            raise ReasonerGaveUp(f"the server sent unusable embeddings: {error}") from error
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ReasonerGaveUp(
                "the server sent unusable embeddings: each must be a flat list of finite numbers"
            )
        if vectors.shape[1] != self.dimension:
            raise IncompatibleSettings(
                f"{self._model} embeds in {vectors.shape[1]} dimensions, but"
                f" openai.embeddings.dimension is {self.dimension}: correct the setting; if there"
                " is data, then run `propagation init`, which also does what `propagation reindex`"
                " does"
            )
        return normalize_rows(vectors)

    async def _look_up(self, text: str) -> F32 | None:
        if not text.strip() or hash(text) in self._refused:
            return np.zeros(self.dimension, np.float32)
        blob = await self._cache.get(self._build_key(text))
        if blob is None or len(blob) != 4 * self.dimension:
            return None
        return np.frombuffer(blob, np.float32)

    def _build_key(self, text: str) -> bytes:
        return f"{self._model}\n{text}".encode()


def create_openai_embedder(endpoint: Endpoint, store: GraphStore) -> OpenAIEmbedder:
    """Build the embedder on the reasoner's endpoint.

    If embeddings have another address, the embedder gets an endpoint of its own, with the same
    budgets.
    """
    options = endpoint.options
    address = options.embeddings.base_url
    if address is not None and address != options.base_url:
        options = options.model_copy(update={"base_url": address})
        endpoint = Endpoint(options, endpoint.key, endpoint.ledger)
    return OpenAIEmbedder(endpoint, store, options.embeddings)
