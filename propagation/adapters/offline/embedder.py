"""The fitted embedder: hashed TF-IDF and SVD of the catalogue; before that, a seeded projection. No download."""

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

DIMENSION = 48
BUCKETS = 1 << 15
POWER_ROUNDS = 4
OVERSAMPLING = 16
TOKEN = re.compile(r"\w+")
STOP = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "in", "into", "is", "it", "its", "of", "on", "or",
    "that", "the", "their", "this", "to", "was", "who", "with"])


@lru_cache(maxsize=1 << 16)
def _bucket(token: str) -> int:
    return zlib.crc32(token.encode("utf-8", "surrogatepass")) % BUCKETS


def _counts(text: str) -> Counter[int]:
    return Counter(_bucket(token) for token in TOKEN.findall(text.casefold()) if token not in STOP)


class HashedEmbedder:
    """A text is the sum of its tokens' rows of `table` [2^15, 48], by sublinear frequency, normalised."""

    def __init__(self, seed: int = 0, dimension: int = DIMENSION) -> None:
        self._seed = seed
        self._dimension = dimension
        self.restore(None)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        out = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in enumerate(texts):
            counts = _counts(text)
            if counts:
                weights = 1 + np.log(np.fromiter(counts.values(), np.float32))
                out[row] = weights @ self._table[np.fromiter(counts, np.int64)]
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        return np.divide(out, norms, out=out, where=norms > 0)

    def fit(self, texts: Sequence[str], seed: int) -> bytes:
        """A new table from a catalogue: IDF-weighted right singular vectors of its TF-IDF, by randomised SVD."""
        counts = [_counts(text) for text in texts]
        starts = np.cumsum([0, *map(len, counts)])
        places = np.fromiter((bucket for one in counts for bucket in one), np.int64, starts[-1])
        values = 1 + np.log(np.fromiter((n for one in counts for n in one.values()), np.float64, starts[-1]))
        matrix = sparse.csr_array((values, places, starts), shape=(len(texts), BUCKETS))
        documents = np.bincount(places, minlength=BUCKETS)
        idf = np.where(documents > 0, np.log((1 + len(texts)) / (1 + documents)) + 1, 0.0)
        matrix = matrix @ sparse.diags_array(idf)
        norms = np.sqrt(matrix.multiply(matrix).sum(axis=1))
        matrix = sparse.diags_array(1 / np.maximum(norms, 1e-12)) @ matrix
        right = _right_singular(matrix, self._dimension, seed)
        return (idf[:, None] * right).astype(np.float32).tobytes()

    def restore(self, state: bytes | None) -> None:
        if state is None:
            rng = np.random.default_rng(self._seed)
            self._table = rng.standard_normal((BUCKETS, self._dimension), np.float32)
            self._name = f"hashed-projection-{self._dimension}-{self._seed}"
            return
        self._table = np.frombuffer(state, np.float32).reshape(BUCKETS, self._dimension)
        self._name = f"hashed-svd-{self._dimension}-{hashlib.blake2b(state, digest_size=4).hexdigest()}"


def _right_singular(matrix: sparse.csr_array, rank: int, seed: int) -> NDArray[np.float64]:
    """[columns, rank]: the leading right singular vectors; zero columns where the matrix has fewer."""
    rng = np.random.default_rng(seed)
    width = min(rank + OVERSAMPLING, *matrix.shape)
    basis = np.linalg.qr(matrix @ rng.standard_normal((matrix.shape[1], width)))[0]
    for _ in range(POWER_ROUNDS):
        basis = np.linalg.qr(matrix @ np.linalg.qr(matrix.T @ basis)[0])[0]
    _, _, right = np.linalg.svd((matrix.T @ basis).T, full_matrices=False)
    out = np.zeros((matrix.shape[1], rank))
    kept = min(rank, len(right))
    out[:, :kept] = right[:kept].T
    return out
