"""Texts for the embedder, embedding under a deadline, and vectors of profiles."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np

from propagation.model import F32, Client, ReasonerFailed, normalize_name, split_into_batches
from propagation.ports import Embedder, normalize_rows
from propagation.workflow.index.text_cache import IndexedText, LruCache

READ_DEADLINE_SECONDS = 1.0
log = logging.getLogger(__name__)


async def embed_within_deadline(
    embedder: Embedder, texts: Sequence[str], purpose: str
) -> F32 | None:
    """Embed texts for a read request; give up after READ_DEADLINE_SECONDS.

    Args:
        purpose: Names the missing part in the log, e.g. "messages of an explanation".

    Returns:
        Vectors [len(texts), D], or None if the embedder failed or was too slow.
    """
    try:
        async with asyncio.timeout(READ_DEADLINE_SECONDS):
            return await embedder.embed(texts)
    except ReasonerFailed as error:
        log.warning("left out %s: %s", purpose, error)
    except TimeoutError:
        log.warning(
            "left out %s: the embedder took longer than %g s", purpose, READ_DEADLINE_SECONDS
        )
    return None


def write_content_text(client: Client) -> str:
    """Join everything that the catalogue says of a client."""
    return " ".join(
        (client.title, *client.attributes, *client.categories, client.description)
    ).strip()


def write_attribute_text(client: Client) -> str:
    """Join a client's attributes and categories, each in its normal form."""
    return " ".join(normalize_name(name) for name in (*client.attributes, *client.categories))


LINES_KEPT, LINES_A_CALL = 65_536, 2_048


class LineVectors:
    """Embeds the lines of profiles, and keeps their vectors.

    This saves calls, because one interaction changes few lines. Vectors are kept by a digest of
    model and line, so that no line of an erased client stays in memory.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: LruCache[bytes, F32] = LruCache(LINES_KEPT)

    async def embed(self, texts: Sequence[IndexedText]) -> Mapping[str, F32]:
        """Embed all lines of these texts.

        New lines take as few calls as possible.

        Returns:
            Vectors [D] by line.
        """
        lines = list(dict.fromkeys(line for text in texts for line in text.lines))
        found: dict[str, F32] = {}
        model = self._embedder.name
        for batch in split_into_batches(lines, LINES_A_CALL):
            found |= await self._embed_lines(batch)
        # If the embedder was fitted again meanwhile, it makes other vectors: start again.
        return found if model == self._embedder.name else await self.embed(texts)

    async def _embed_lines(self, lines: Sequence[str]) -> dict[str, F32]:
        model = self._embedder.name
        keys = {
            line: blake2b(f"{model}\n{line}".encode(), digest_size=16).digest() for line in lines
        }
        known = self._vectors.find(keys.values())
        found = {line: known[key] for line, key in keys.items() if key in known}
        new = sorted(line for line in lines if line not in found)
        if new:
            vectors = await self._embedder.embed(new)
            for line, vector in zip(new, vectors, strict=True):
                found[line] = vector.copy()
                if model == self._embedder.name:
                    self._vectors.put(keys[line], found[line])
        return found


def embed_profiles(texts: Sequence[IndexedText], lines: Mapping[str, F32], dimension: int) -> F32:
    """Sum each profile's lines by weight, scaled to unit length.

    Args:
        lines: Vectors [D] of all lines of these texts.
        dimension: D.

    Returns:
        Rows [len(texts), D]; zeros for an empty profile.
    """
    counts = np.array([len(text.lines) for text in texts], np.int64)
    out = np.zeros((len(texts), dimension), np.float32)
    written = counts > 0
    if written.any():
        vectors = np.array([lines[line] for text in texts for line in text.lines])
        weights = np.array([weight for text in texts for weight in text.weights], np.float32)
        starts = (np.cumsum(counts) - counts)[written]
        out[written] = np.add.reduceat(vectors * weights[:, None], starts)
    return normalize_rows(out)
