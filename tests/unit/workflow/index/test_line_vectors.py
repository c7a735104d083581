"""The bounded cache of line vectors, which serves concurrent callers."""

import asyncio

import numpy as np

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.workflow.index import embedding as vectors
from propagation.workflow.index.embedding import LineVectors, embed_profiles
from propagation.workflow.index.text_cache import IndexedText

ROOM, LINES = 8, 6


class Slow(HashedEmbedder):
    """Waits like an endpoint, so that other callers run meanwhile."""

    async def embed(self, texts):
        await asyncio.sleep(0.001)
        return await super().embed(texts)


def indexed_text(ref, *lines):
    return IndexedText(
        ref=ref,
        version=1,
        lines=lines,
        weights=(1.0,) * len(lines),
        attributes={},
        catalogue=frozenset(),
    )


async def embed_texts(cache, embedder, *texts):
    return embed_profiles(texts, await cache.embed(texts), embedder.dimension)


async def test_callers_that_put_out_each_others_lines_all_end_with_their_own(monkeypatch):
    monkeypatch.setattr(vectors, "LINES_KEPT", ROOM)
    embedder = Slow(1)
    kept = LineVectors(embedder)
    first = indexed_text(0, *(f"line 0 {m}" for m in range(LINES)))
    texts = [indexed_text(2 * n, *(f"line {n} {m}" for m in range(LINES))) for n in range(1, 4)]
    texts.append(indexed_text(8, "line 0 0", "one that is new"))
    await kept.embed([first])
    texts += [
        indexed_text(2 * n, "line 0 1", *(f"line {n} {m}" for m in range(LINES)))
        for n in range(5, 9)
    ]
    found = await asyncio.gather(*(embed_texts(kept, embedder, text) for text in texts))
    alone = [await embed_texts(LineVectors(embedder), embedder, text) for text in texts]
    assert np.allclose(np.concatenate(found), np.concatenate(alone))
    assert len(kept._vectors._values) <= ROOM


async def test_no_text_of_a_line_is_kept():
    embedder = HashedEmbedder(1)
    kept = LineVectors(embedder)
    await kept.embed([indexed_text(0, "likes cats")])
    assert "cats" not in str(list(kept._vectors._values))
