"""Attributes that mean the same are mapped to one; those that only occur together are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import normalize_name
from propagation.ports import Collection, Point
from propagation.routing import find_canonical_names, measure_words_likeness
from services.runtime.process import SystemClock
from tests import qdrants

LEAST = 0.92
CATALOGUE = (
    [f"a record {n} of new age and new wave" for n in range(9)]
    + [f"chicago blues {n} night" for n in range(9)]
    + [f"jazz {n} jazz music" for n in range(9)]
    + [f"opera {n} arias" for n in range(9)]
)


@pytest.fixture
async def index(tmp_path):
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    await store.open()
    opened = NumpyIndex(SqlitePoints(store.database))
    await qdrants.make_collections(opened, "fitted", HashedEmbedder().dimension)
    yield opened
    await store.close()


def make_fitted_embedder():
    plain = HashedEmbedder()
    return plain.with_state(plain.fit(CATALOGUE, seed=1))


APART = [("new wave", "new age"), ("blues", "chicago blues")]
TOGETHER = [
    ("jazz", "jazz music"),
    ("jazz music", "jazz"),
    ("rock and roll", "rock & roll"),
    ("hip hop", "hip-hop"),
]


@pytest.mark.parametrize(("older", "newer"), APART)
async def test_names_that_keep_the_same_company_stay_apart(index, older, newer):
    vectors = make_fitted_embedder().compute_vectors([older, newer])
    assert vectors[0] @ vectors[1] > LEAST  # the fitted space alone would make them one
    assert await find_canonical_names(
        index, [older, newer], vectors, LEAST, measure_words_likeness
    ) == {
        older: older,
        newer: newer,
    }
    await index.upsert(Collection.ATTRIBUTES, [Point(key=older, version=1, vector=vectors[0])])
    assert await find_canonical_names(
        index, [newer], vectors[1:], LEAST, measure_words_likeness
    ) == {newer: newer}


@pytest.mark.parametrize(
    "embedder", [HashedEmbedder(), make_fitted_embedder()], ids=["before bootstrap", "after it"]
)
async def test_jazz_and_jazz_music_meet_in_either_space(index, embedder):
    names = [normalize_name("Jazz"), normalize_name("jazz  MUSIC"), "opera"]
    found = await find_canonical_names(
        index, names, embedder.compute_vectors(names), LEAST, measure_words_likeness
    )
    assert found == {"jazz": "jazz", "jazz music": "jazz", "opera": "opera"}
    await index.upsert(
        Collection.ATTRIBUTES,
        [Point(key="jazz", version=1, vector=embedder.compute_vectors(["jazz"])[0])],
    )
    assert await find_canonical_names(
        index, names[1:2], embedder.compute_vectors(names[1:2]), LEAST, measure_words_likeness
    ) == {"jazz music": "jazz"}


@pytest.mark.parametrize(("one", "other"), TOGETHER)
def test_one_attribute_in_two_spellings(one, other):
    assert measure_words_likeness(one, other) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *APART,
        ("texas blues", "memphis blues"),
        ("music", "film"),
        ("c", "c++"),
        ("non-fiction", "fiction"),
    ],
)
def test_two_attributes(one, other):
    assert measure_words_likeness(one, other) < LEAST


@given(st.text(max_size=20), st.text(max_size=20))
def test_likeness_of_any_names_is_symmetric_and_within_bounds(one, other):
    assert measure_words_likeness(one, one) == 1
    assert measure_words_likeness(one, other) == measure_words_likeness(other, one)
    assert 0 <= measure_words_likeness(one, other) <= 1


async def test_a_crowd_of_fresh_names_still_meets(index):
    """There are more names than likeness is computed for: it is computed for the nearest."""
    names = [*(f"style {n}" for n in range(99)), "jazz", "jazz music"]
    found = await find_canonical_names(
        index, names, HashedEmbedder().compute_vectors(names), LEAST, measure_words_likeness
    )
    assert found["jazz music"] == "jazz"
    assert len(set(found.values())) == 100


async def test_a_name_without_a_vector_is_itself(index):
    vectors = np.zeros((2, HashedEmbedder().dimension), np.float32)
    assert await find_canonical_names(
        index, ["…", "???"], vectors, LEAST, measure_words_likeness
    ) == {
        "…": "…",
        "???": "???",
    }
