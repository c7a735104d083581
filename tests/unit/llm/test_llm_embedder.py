"""Embeddings through the endpoint: in order, unit rows, kept; what is none is refused by name."""

import numpy as np
import pytest

from propagation.adapters.openai.build import openai_embedder
from propagation.model.errors import IncompatibleSettings, ReasonerGaveUp

TEXTS = ["jazz trumpet", "opera", "", "jazz trumpet", "jazz piano"]


def embedder(asked):
    return openai_embedder(asked.reasoner, asked.store, "scripted", 16)


@pytest.fixture
def embedding(asking):
    return lambda habits=(): asking(habits=habits)


@pytest.mark.parametrize("habits", [(), ("unordered_embeddings",)])
async def test_rows_come_in_order_as_unit_vectors_and_nothing_for_nothing(embedding, habits):
    async with embedding(habits) as asked:
        found = await embedder(asked).embed(TEXTS)
        assert np.allclose(np.linalg.norm(found, axis=1), [1, 1, 0, 1, 1], atol=1e-6)
        assert np.array_equal(found[0], found[3])
        assert found[0] @ found[4] > found[0] @ found[1], "texts that share a word are nearer"
        assert asked.server.seen.calls["embeddings"] == 1


async def test_what_was_embedded_once_is_kept(embedding):
    async with embedding() as asked:
        first = await embedder(asked).embed(TEXTS)
        again = await embedder(asked).embed(TEXTS)
        assert np.array_equal(first, again)
        assert asked.server.seen.calls["embeddings"] == 1


@pytest.mark.parametrize(("habit", "error", "words"), [
    ("short_embeddings", IncompatibleSettings, "8 dimensions .*propagation reindex"),
    ("token_embeddings", ReasonerGaveUp, "no embeddings of texts"), ("no_embeddings", ReasonerGaveUp, "501")])
async def test_what_is_no_embedding_is_refused(embedding, habit, error, words):
    async with embedding((habit,)) as asked:
        with pytest.raises(error, match=words):
            await embedder(asked).embed(TEXTS)


async def test_a_catalogue_is_embedded_in_batches(embedding):
    async with embedding() as asked:
        await embedder(asked).embed([f"record {n}" for n in range(150)])
        assert asked.server.seen.calls["embeddings"] == 3
