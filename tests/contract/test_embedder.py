"""What an embedder means; and one that is fitted on the catalogue. An adapter joins with a line in
ADAPTERS."""

import numpy as np
import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.openai.embedder import create_openai_embedder
from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint
from propagation.adapters.openai.options import EmbeddingOptions, OpenAIOptions
from propagation.adapters.sentences.embedder import create_sentence_embedder
from propagation.adapters.sentences.options import SentenceOptions
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import IncompatibleSettings
from propagation.ports import FittableEmbedder
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.runtime.process import SystemClock
from tests.sentence_model import link_sentence_model

CATALOGUE = [
    f"{kind} record {number} by {name}"
    for number in range(20)
    for kind, name in (("jazz quartet", "Coltrane"), ("opera aria", "Callas"), ("punk", "Ramones"))
]


def _make_hashed(sentences):
    return HashedEmbedder(seed=3)


def _make_sentences(sentences):
    return sentences.with_state(None)


def _fit(make):
    def make_fitted(sentences):
        unfitted = make(sentences)
        return unfitted.with_state(unfitted.fit(CATALOGUE, seed=3))

    return make_fitted


ADAPTERS = {
    "hashed projection": _make_hashed,
    "hashed and fitted on the catalogue": _fit(_make_hashed),
    "sentence model": _make_sentences,
    "sentence model fitted on the catalogue": _fit(_make_sentences),
}
ENDPOINT = "behind an endpoint"
FITTABLE = {"hashed": _make_hashed, "sentence model": _make_sentences}


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    """One for all cases, as it keeps the vectors of the catalogue."""
    folder = link_sentence_model(tmp_path_factory.mktemp("model"))
    return create_sentence_embedder(SentenceOptions(folder=folder), seed=3)


@pytest.fixture(params=sorted((*ADAPTERS, ENDPOINT)))
async def embedder(request, tmp_path, sentences):
    if request.param != ENDPOINT:
        yield ADAPTERS[request.param](sentences)
        return
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    await store.open()
    async with fake_llm(Script(dimension=256)) as server:
        options = OpenAIOptions(
            base_url=server.base_url, embeddings=EmbeddingOptions(model="scripted", dimension=256)
        )
        opened = create_openai_embedder(create_openai_endpoint(options, None, store, "test"), store)
        yield opened
        await opened.close()
    await store.close()


@pytest.fixture(params=sorted(FITTABLE))
def fittable_embedder(request, sentences):
    return FITTABLE[request.param](sentences)


async def test_one_unit_row_a_text_in_order(embedder):
    vectors = await embedder.embed(["jazz quartet", "opera aria", "jazz quartet"])
    assert vectors.shape == (3, embedder.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[2])
    assert vectors[0] @ vectors[1] < 0.9


async def test_the_company_a_text_keeps_does_not_change_it(embedder):
    together = await embedder.embed(CATALOGUE)
    alone = np.concatenate([await embedder.embed([text]) for text in CATALOGUE[:3]])
    np.testing.assert_allclose(together[:3], alone, atol=1e-6)


@pytest.mark.parametrize(
    "text", ["", "   ", "…!?", "\ud800", "\x00", "naïve 日本語 🎷", "a" * 100_000, "the of and"]
)
async def test_any_text_is_finite_and_of_length_one_or_zero(embedder, text):
    (vector,) = await embedder.embed([text])
    assert np.isfinite(vector).all()
    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5) or not vector.any()


async def test_nothing_in_nothing_out(embedder):
    assert (await embedder.embed([])).shape == (0, embedder.dimension)
    assert not (await embedder.embed([""])).any()


async def test_like_is_nearer_than_unlike(embedder):
    query, like, unlike = await embedder.embed(
        ["jazz quartet record", "a record of a jazz quartet", "opera aria by Callas"]
    )
    assert query @ like > query @ unlike + 0.3


async def test_fitting_is_deterministic_and_leaves_it_as_it_was(fittable_embedder):
    assert isinstance(fittable_embedder, FittableEmbedder)
    before, name = await fittable_embedder.embed(CATALOGUE), fittable_embedder.name
    state = fittable_embedder.fit(CATALOGUE, seed=1)
    assert state == fittable_embedder.fit(CATALOGUE, seed=1)
    assert fittable_embedder.name == name
    np.testing.assert_array_equal(await fittable_embedder.embed(CATALOGUE), before)


async def test_a_twin_and_a_restored_one_are_the_same(fittable_embedder):
    state = fittable_embedder.fit(CATALOGUE, seed=1)
    twin = fittable_embedder.with_state(state)
    assert twin.name != fittable_embedder.name
    assert twin.dimension == fittable_embedder.dimension
    fittable_embedder.restore(state)
    assert twin.name == fittable_embedder.name
    np.testing.assert_array_equal(
        await twin.embed(CATALOGUE), await fittable_embedder.embed(CATALOGUE)
    )
    fittable_embedder.restore(None)
    assert fittable_embedder.name != twin.name


async def test_it_is_fitted_on_few_texts_and_on_none(fittable_embedder):
    for texts in ([], [""], ["jazz"], ["jazz", "opera"]):
        vectors = await fittable_embedder.with_state(fittable_embedder.fit(texts, seed=1)).embed(
            ["jazz", "opera", "punk"]
        )
        assert np.isfinite(vectors).all()


async def test_a_state_of_another_form_is_refused(fittable_embedder):
    with pytest.raises(IncompatibleSettings, match="propagation init"):
        fittable_embedder.restore(b"not a state")
