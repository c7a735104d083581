"""The embedder of a sentence model, fitted on the catalogue.

Fitting finds the main directions in which the catalogue's vectors differ. Without that, all vectors
share much, and the numbers would be eight times as large.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from copy import copy
from hashlib import blake2b
from typing import Self

import numpy as np
from cachetools import LRUCache

from propagation.adapters.sentences.model import SentenceModel
from propagation.adapters.sentences.options import SentenceOptions
from propagation.model import F32, NO_EXPENSES, IncompatibleSettings, ReasonerStopping
from propagation.ports import normalize_rows

VECTORS_KEPT = 1 << 14
TEXTS_FITTED = 1 << 12
STOPPING = "the service is stopping"


class ModelVectors:
    """Computes the model's vectors, and keeps the newest.

    They are kept by a digest, so that no text of a forgotten client stays in memory.
    """

    def __init__(self, model: SentenceModel) -> None:
        self.model = model
        self._kept: LRUCache[bytes, F32] = LRUCache(VECTORS_KEPT)
        self._lock = threading.Lock()
        self._stop_at = float("inf")

    def stop_within(self, seconds: float) -> None:
        self._stop_at = min(self._stop_at, time.monotonic() + seconds)

    def check_running(self) -> None:
        """Raise ReasonerStopping if the process stops."""
        if self._stop_at < float("inf"):
            raise ReasonerStopping(STOPPING)

    def compute(self, texts: Sequence[str], abandoned: threading.Event | None = None) -> F32:
        """Compute the vectors of texts.

        Args:
            abandoned: Nobody waits for the result any more.

        Returns:
            Vectors [len(texts), the model's dimension] of length 1; zeros for a text without words.

        Raises:
            ReasonerStopping: The process stops.
        """
        out = np.zeros((len(texts), self.model.dimension), np.float32)
        for place, text in enumerate(texts):
            if time.monotonic() >= self._stop_at or (abandoned and abandoned.is_set()):
                raise ReasonerStopping(STOPPING)
            out[place] = self._find(text)
        return out

    def _find(self, text: str) -> F32:
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            kept: F32 | None = self._kept.get(key)
        if kept is not None:
            return kept
        vector = self.model.compute_vector(text)
        blank = np.zeros(self.model.dimension, np.float32)
        found: F32 = normalize_rows((blank if vector is None else vector)[None])[0]
        with self._lock:
            self._kept[key] = found
        return found


class SentenceEmbedder:
    """Embeds a text along the catalogue's main directions."""

    expenses = NO_EXPENSES

    def __init__(self, model: SentenceModel, dimension: int, seed: int = 0) -> None:
        self.dimension = dimension
        self._vectors = ModelVectors(model)
        self._seed = seed
        self.restore(None)

    def stop_within(self, seconds: float) -> None:
        self._vectors.stop_within(seconds)

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    async def embed(self, texts: Sequence[str]) -> F32:
        self._vectors.check_running()
        abandoned = threading.Event()
        mean, directions = self._mean, self._directions
        try:
            found = await asyncio.to_thread(self._vectors.compute, texts, abandoned)
        finally:
            abandoned.set()
        worded = found.any(axis=1, keepdims=True)
        return normalize_rows(((found - mean) @ directions * worded).astype(np.float32))

    def fit(self, texts: Sequence[str], seed: int) -> bytes:
        """Find the mean and the main directions of the catalogue's vectors.

        Of a large catalogue a sample is read.
        """
        if len(texts) > TEXTS_FITTED:
            chosen = np.random.default_rng(seed).choice(len(texts), TEXTS_FITTED, replace=False)
            texts = [texts[place] for place in np.sort(chosen)]
        found = self._vectors.compute(texts)
        worded = found[found.any(axis=1)].astype(np.float64)
        mean = worded.mean(axis=0) if len(worded) else np.zeros(self._vectors.model.dimension)
        _, directions = np.linalg.eigh((worded - mean).T @ (worded - mean))
        main = directions[:, ::-1][:, : self.dimension]
        return np.concatenate([mean[None], main.T]).astype(np.float32).tobytes()

    def with_state(self, state: bytes | None) -> Self:
        other = copy(self)
        other.restore(state)
        return other

    def restore(self, state: bytes | None) -> None:
        model = self._vectors.model
        name = f"sentences-{self.dimension}-{model.digest}"
        if state is None:
            self._mean, self._directions = self._draw_directions()
            self.name = f"{name}-{self._seed}"
            return
        rows = self.dimension + 1
        if len(state) != rows * model.dimension * 4:
            raise IncompatibleSettings(
                f"embedder: the stored state has {len(state)} bytes, but {rows} vectors of"
                f" {model.dimension} numbers take {rows * model.dimension * 4}; run `propagation"
                " init` to fit it again"
            )
        vectors = np.frombuffer(state, np.float32).reshape(rows, model.dimension)
        self._mean, self._directions = vectors[0], vectors[1:].T
        self.name = f"{name}-{blake2b(state, digest_size=4).hexdigest()}"

    def _draw_directions(self) -> tuple[F32, F32]:
        """Draw seeded directions, for the time before a fit."""
        size = self._vectors.model.dimension
        drawn = np.random.default_rng(self._seed).standard_normal((size, self.dimension))
        return np.zeros(size, np.float32), np.linalg.qr(drawn)[0].astype(np.float32)


def create_sentence_embedder(options: SentenceOptions, seed: int) -> SentenceEmbedder:
    """Build the embedder of a folder's model, not fitted.

    Raises:
        IncompatibleSettings: The folder holds no model that can be used.
    """
    return SentenceEmbedder(SentenceModel(options), options.dimension, seed)
