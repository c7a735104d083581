"""The fitted embedder: hashed TF-IDF and SVD of the catalogue.

Before it is fitted, it is a seeded projection. It downloads nothing.
"""

import asyncio
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from propagation.model import F32, F64, I64, NO_EXPENSES, IncompatibleSettings
from propagation.ports import normalize_rows

if TYPE_CHECKING:
    from scipy import sparse

DIMENSION = 48
BUCKETS = 1 << 15
POWER_ROUNDS = 4
OVERSAMPLING = 16
ROUNDING = 1e-12
AT_ONCE = 64
TEXTS_A_PART = 2_048
TOKEN = re.compile(r"\w+")
STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "has",
        "in",
        "into",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "that",
        "the",
        "their",
        "this",
        "to",
        "was",
        "who",
        "with",
    ]
)


@lru_cache(maxsize=1)
def _draw_projection(seed: int, dimension: int) -> F32:
    """Draw the table of an unfitted embedder at its first use."""
    return np.random.default_rng(seed).standard_normal((BUCKETS, dimension), np.float32)


@lru_cache(maxsize=1 << 16)
def _hash_token(token: str) -> int:
    return zlib.crc32(token.encode("utf-8", "surrogatepass")) % BUCKETS


def _count_frequencies(
    texts: Sequence[str],
) -> tuple[F64, I64, I64]:
    """Count the tokens of each text.

    Returns:
        The data, indices and row starts of a CSR matrix [len(texts), 2^15]: 1 + ln(count) of each
        bucket that a text has, these buckets, and [len(texts) + 1] the places where texts begin.
    """
    counts = [
        Counter(_hash_token(token) for token in TOKEN.findall(text.casefold()) if token not in STOP)
        for text in texts
    ]
    starts = np.cumsum([0, *map(len, counts)])
    places = np.array([bucket for one in counts for bucket in one], np.int64)
    values = 1 + np.log(np.array([n for one in counts for n in one.values()], np.float64))
    return values, places, starts


class HashedEmbedder:
    """Embeds a text as the sum of its tokens' table rows.

    The table is [2^15, dimension]. A row is weighted by 1 + ln(count), and the sum is normalised.
    """

    expenses = NO_EXPENSES

    def __init__(self, seed: int = 0, dimension: int = DIMENSION) -> None:
        self._seed = seed
        self.dimension = dimension
        self.restore(None)

    def stop_within(self, seconds: float) -> None:
        """Do nothing: no call is under way."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    async def embed(self, texts: Sequence[str]) -> F32:
        return (
            self.compute_vectors(texts)
            if len(texts) <= AT_ONCE
            else await asyncio.to_thread(self.compute_vectors, texts)
        )

    def compute_vectors(self, texts: Sequence[str]) -> F32:
        out = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), TEXTS_A_PART):
            values, places, starts = _count_frequencies(texts[start : start + TEXTS_A_PART])
            worded = np.flatnonzero(np.diff(starts))
            if len(worded):
                rows = (
                    _draw_projection(self._seed, self.dimension)
                    if self._table is None
                    else self._table
                )
                weighted = rows[places] * values.astype(np.float32)[:, None]
                out[start + worded] = np.add.reduceat(weighted, starts[worded])
        return normalize_rows(out)

    def fit(self, texts: Sequence[str], seed: int) -> bytes:
        """Fit a table: IDF-weighted right singular vectors of the catalogue's TF-IDF."""
        from scipy import sparse  # a service need not wait for it when it starts

        matrix = sparse.csr_array(_count_frequencies(texts), shape=(len(texts), BUCKETS))
        used = np.unique(matrix.indices)
        matrix = matrix[:, used]
        idf = np.log((1 + len(texts)) / (1 + np.bincount(matrix.indices, minlength=len(used)))) + 1
        matrix = matrix @ sparse.diags_array(idf)
        norms = np.sqrt(matrix.multiply(matrix).sum(axis=1))
        matrix = sparse.diags_array(1 / np.maximum(norms, 1e-12)) @ matrix
        table = np.zeros((BUCKETS, self.dimension), np.float32)
        if len(used):
            table[used] = idf[:, None] * _compute_right_singular_vectors(
                matrix, self.dimension, seed
            )
        return table.tobytes()

    def with_state(self, state: bytes | None) -> Self:
        other = copy(self)
        other.restore(state)
        return other

    def restore(self, state: bytes | None) -> None:
        if state is None:
            self._table: F32 | None = None
            self.name = f"hashed-projection-{self.dimension}-{self._seed}"
            return
        if len(state) != BUCKETS * self.dimension * 4:
            raise IncompatibleSettings(
                f"embedder: the stored state has {len(state)} bytes, but {BUCKETS} buckets of"
                f" {self.dimension} dimensions take {BUCKETS * self.dimension * 4}; run"
                " `propagation init` to fit it again"
            )
        self._table = np.frombuffer(state, np.float32).reshape(BUCKETS, self.dimension)
        self.name = (
            f"hashed-svd-{self.dimension}-{hashlib.blake2b(state, digest_size=4).hexdigest()}"
        )


def _compute_right_singular_vectors(matrix: "sparse.csr_array", rank: int, seed: int) -> F64:
    """Compute right singular vectors by randomised SVD, from the second one on.

    The first, which is kept only if it is the only one, is what all texts share. Without it, texts
    and users differ more (N@10 with propagation off, ML-100k: .803 with it, .821 without).

    Returns:
        Vectors [columns of the matrix, rank], padded with zeros if there are fewer.
    """
    rng = np.random.default_rng(seed)
    width = min(rank + 1 + OVERSAMPLING, *matrix.shape)
    basis = _compute_singular_vectors(matrix @ rng.standard_normal((matrix.shape[1], width)))
    for _ in range(POWER_ROUNDS):
        basis = _compute_singular_vectors(matrix @ _compute_singular_vectors(matrix.T @ basis))
    right = _compute_singular_vectors(matrix.T @ basis)
    out = np.zeros((matrix.shape[1], rank))
    kept = right[:, 1 : rank + 1] if right.shape[1] > 1 else right
    out[:, : kept.shape[1]] = kept
    return out


def _compute_singular_vectors(columns: F64) -> F64:
    """Compute the left singular vectors of a tall matrix, largest first.

    A fit calls this ten times, and a QR of 64,000 rows would take half a second each time; so the
    vectors come from the small Gram matrix. Directions that are lost in rounding are left out.
    """
    squares, eigenvectors = np.linalg.eigh(columns.T @ columns)
    kept = np.flatnonzero(squares > squares[-1] * ROUNDING)[::-1]
    scaled: F64 = columns @ (eigenvectors[:, kept] / np.sqrt(squares[kept]))
    return scaled
