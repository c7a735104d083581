"""The embedder of a sentence model: its identity, its errors, its end, and that it is alone."""

import asyncio
import shutil
import socket
import sys
import time

import numpy as np
import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.sentences import embedder as module
from propagation.adapters.sentences.embedder import SentenceEmbedder, create_sentence_embedder
from propagation.adapters.sentences.model import SentenceModel
from propagation.adapters.sentences.options import SentenceOptions
from propagation.model import IncompatibleSettings, ReasonerStopping
from services.assembly import build_engine
from services.config.settings import Settings
from services.runtime.errors import NotInstalled
from tests.sentence_model import link_sentence_model

TEXTS = [f"{style} record {n}" for n in range(8) for style in ("jazz", "opera", "punk")]


@pytest.fixture
def folder(tmp_path):
    return link_sentence_model(tmp_path / "model")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = link_sentence_model(tmp_path_factory.mktemp("model"))
    return SentenceModel(SentenceOptions(folder=folder))


@pytest.fixture
def sentences(model):
    return SentenceEmbedder(model, 48, seed=3)


def create(folder, **more):
    return create_sentence_embedder(SentenceOptions(folder=folder, **more), seed=3)


async def test_texts_of_one_meaning_are_near_without_a_common_word(sentences):
    def fit(unfitted):
        return unfitted.with_state(unfitted.fit([*TEXTS, *texts], seed=1))

    texts = ("a movie about astronauts", "space travel film", "recipes for vegetable soup")
    near, far = {}, {}
    for embedder in (fit(sentences), fit(HashedEmbedder(seed=3))):
        one, other, unlike = await embedder.embed(texts)
        near[type(embedder)], far[type(embedder)] = one @ other, one @ unlike
    assert near[SentenceEmbedder] > far[SentenceEmbedder] + 0.3
    assert near[HashedEmbedder] < near[SentenceEmbedder]


async def test_it_opens_no_connection(folder, monkeypatch):
    def refuse(*_):
        raise AssertionError("it asks a server")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    embedder = create(folder)
    assert (await embedder.with_state(embedder.fit(TEXTS, 1)).embed(["jazz"])).any()


async def test_two_of_the_same_files_are_one_embedder(folder, tmp_path):
    twin = create(link_sentence_model(tmp_path / "elsewhere"))
    assert twin.name == create(folder).name
    assert twin.fit(TEXTS, 1) == create(folder).fit(TEXTS, 1)


def test_another_model_pooling_or_length_is_another_embedder(folder, tmp_path):
    changed = tmp_path / "changed"
    shutil.copytree(folder, changed)
    tokenizer = changed / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text() + "\n")
    names = {
        create(folder).name,
        create(changed).name,
        create(folder, pooling="first").name,
        create(folder, max_tokens=8).name,
        create(folder, dimension=32).name,
    }
    assert len(names) == 5


async def test_a_long_text_is_cut(folder):
    embedder = create(folder, max_tokens=8)
    short, long = await embedder.embed(["jazz " * 6, "jazz " * 6 + "and opera"])
    np.testing.assert_array_equal(short, long)


def test_without_a_folder_it_says_what_to_set():
    with pytest.raises(IncompatibleSettings, match=r"needs sentences\.folder: set it to a folder"):
        create(None)


@pytest.mark.parametrize(
    ("removed", "said"),
    [
        (["model.onnx"], "has no model.onnx; name the folder"),
        (["tokenizer.json"], "has no tokenizer.json; name"),
        (["model.onnx", "tokenizer.json"], "has no model.onnx and no tokenizer.json"),
    ],
)
def test_a_missing_file_is_named(folder, removed, said):
    for name in removed:
        (folder / name).unlink()
    with pytest.raises(IncompatibleSettings, match=f"sentences.folder: .* {said}"):
        create(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_broken_file_is_no_model(folder, name):
    (folder / name).unlink()
    (folder / name).write_text("{}")
    with pytest.raises(IncompatibleSettings, match=r"sentences\.folder: .* holds no usable model"):
        create(folder)


def test_more_dimensions_than_the_model_has_are_refused(folder):
    with pytest.raises(IncompatibleSettings, match=r"sentences\.dimension: 385 .* at most 384"):
        create(folder, dimension=385)


def test_the_onnx_folder_of_a_published_model_is_found(folder):
    name = create(folder).name
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert create(folder).name == name


async def test_a_setting_chooses_it(folder, tmp_path):
    engine = build_engine(
        Settings(database=tmp_path / "graph.db", embedder="sentences", sentences={"folder": folder})
    )
    assert engine.embedder.name.startswith("sentences-48-")


def test_without_the_extra_it_says_what_to_install(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    for name in ("embedder", "model"):
        monkeypatch.delitem(sys.modules, f"propagation.adapters.sentences.{name}", raising=False)
    settings = Settings(
        database=tmp_path / "graph.db", embedder="sentences", sentences={"folder": folder}
    )
    with pytest.raises(
        NotInstalled, match=r"run pip install 'preference-propagation\[sentences\]'"
    ):
        build_engine(settings)


async def test_an_abandoned_call_ends_with_its_text(sentences, monkeypatch):
    started = []

    def compute(text):
        started.append(text)
        time.sleep(0.05)
        return np.ones(384, np.float32)

    monkeypatch.setattr(sentences._vectors.model, "compute_vector", compute)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(sentences.embed(TEXTS), 0.1)
    await asyncio.sleep(0.2)
    count = len(started)
    await asyncio.sleep(0.2)
    assert len(started) == count < len(TEXTS)


async def test_it_stops_when_the_service_stops(sentences, monkeypatch):
    monkeypatch.setattr(sentences._vectors.model, "compute_vector", lambda text: time.sleep(0.05))
    running = asyncio.create_task(sentences.embed(TEXTS))
    await asyncio.sleep(0.1)
    sentences.stop_within(0.1)
    with pytest.raises(ReasonerStopping):
        await sentences.embed(["jazz"])
    with pytest.raises(ReasonerStopping):
        await asyncio.wait_for(running, 2)


async def test_a_stop_lets_short_calls_end(sentences, monkeypatch):
    monkeypatch.setattr(
        sentences._vectors.model, "compute_vector", lambda text: time.sleep(0.2) or np.ones(384)
    )
    running = asyncio.create_task(sentences.embed(["jazz", "opera"]))
    await asyncio.sleep(0.1)
    sentences.stop_within(10)
    assert (await running).any()


async def test_a_text_is_computed_once(sentences, monkeypatch):
    computed = []
    compute = sentences._vectors.model.compute_vector
    monkeypatch.setattr(
        sentences._vectors.model,
        "compute_vector",
        lambda text: computed.append(text) or compute(text),
    )
    fitted = sentences.with_state(sentences.fit(TEXTS, 1))
    await fitted.embed(TEXTS)
    assert sorted(computed) == sorted(TEXTS)


async def test_of_a_large_catalogue_a_seeded_sample_is_fitted(sentences, monkeypatch):
    monkeypatch.setattr(module, "TEXTS_FITTED", 10)
    assert sentences.fit(TEXTS, 1) == sentences.fit(TEXTS, 1)
    assert sentences.fit(TEXTS, 1) != sentences.fit(TEXTS, 2)
