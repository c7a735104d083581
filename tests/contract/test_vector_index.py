"""What a vector index means. An adapter joins with a fixture that opens one, and opens it again after a stop."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import numpy as np
import pytest

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.sqlite.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model.errors import IncompatibleSettings
from propagation.ports.vector_index import Collection, Point, VectorIndex
from services.clock import SystemClock

Reopen = Callable[[], Awaitable[VectorIndex]]
DIMENSION = 4


async def _numpy_on_sqlite(path, stack: AsyncExitStack) -> VectorIndex:
    store = SqliteStore(path / "graph.db", SystemClock())
    await store.open()
    stack.push_async_callback(store.close)
    return NumpyIndex(SqlitePoints(store.database))


ADAPTERS = {"numpy on sqlite": _numpy_on_sqlite}


@pytest.fixture(params=sorted(ADAPTERS))
async def reopen(request, tmp_path) -> AsyncIterator[Reopen]:
    """Each call stops what the last one opened, and opens the same index anew; `ensure` is the caller's."""
    stack = AsyncExitStack()

    async def again() -> VectorIndex:
        await stack.aclose()
        return await ADAPTERS[request.param](tmp_path, stack)

    yield again
    await stack.aclose()


@pytest.fixture
async def index(reopen) -> VectorIndex:
    opened = await reopen()
    await opened.ensure("model-a", DIMENSION)
    return opened


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def point(key, *values, version=1, attributes=()) -> Point:
    return Point(key=key, version=version, vector=vector(*values), attributes=frozenset(attributes))


async def keys_near(index, values, limit=10, collection=Collection.USERS):
    return [hit.key for hit in await index.nearest(collection, vector(*values), limit)]


async def test_nearest_by_cosine_whatever_the_length(index):
    await index.upsert(Collection.USERS, [point(2, 0, 9, 0, 0), point(4, 1, 1, 0, 0), point(6, 0.1, 0, 0, 0)])
    hits = await index.nearest(Collection.USERS, vector(5, 0, 0, 0), 2)
    assert [hit.key for hit in hits] == [6, 4]
    np.testing.assert_allclose([hit.score for hit in hits], [1, 2**-0.5], atol=1e-6)


async def test_equal_scores_are_ordered_by_key_and_a_limit_is_a_prefix(index):
    await index.upsert(Collection.USERS, [point(key, 1, 0, 0, 0) for key in (8, 2, 6, 4, 12, 10)])
    assert await keys_near(index, (1, 0, 0, 0), 3) == [2, 4, 6]
    assert await keys_near(index, (1, 0, 0, 0), 10) == [2, 4, 6, 8, 10, 12]


async def test_collections_are_apart_and_keys_may_be_names(index):
    await index.upsert(Collection.ATTRIBUTES, [point("jazz", 1, 0, 0, 0), point("7", 0, 1, 0, 0)])
    await index.upsert(Collection.ROUTERS, [point(7, 0, 0, 1, 0)])
    assert await keys_near(index, (1, 0, 0, 0), 1, Collection.ATTRIBUTES) == ["jazz"]
    assert await index.versions(Collection.ROUTERS) == {7: 1}
    assert await index.versions(Collection.USERS) == {}


async def test_above_is_strict_and_shares_an_attribute(index):
    """Eq. 4: Score(R, c) = cos(e_R, e_c) * [A_R and A_c share an attribute] > tau."""
    await index.upsert(Collection.ITEMS, [
        point(1, 1, 0, 0, 0, attributes={"jazz", "soul"}), point(3, 1, 0, 0, 0, attributes={"opera"}),
        point(5, 0, 1, 0, 0, attributes={"jazz"}), point(7, 0.8, 0.6, 0, 0, attributes={"jazz"}), point(9, 1, 0, 0, 0)])
    query = vector(1, 0, 0, 0)
    assert [hit.key for hit in await index.above(Collection.ITEMS, query, 0.5, frozenset({"jazz"}))] == [1, 7]
    assert [hit.key for hit in await index.above(Collection.ITEMS, query, 0.9, frozenset({"jazz", "opera"}))] == [1, 3]
    assert [hit.key for hit in await index.above(Collection.ITEMS, query, 0.0, frozenset({"jazz"}))] == [1, 7]
    assert await index.above(Collection.ITEMS, query, -1.0, frozenset()) == []


async def test_above_leaves_none_out_and_is_exact(index):
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((3_000, DIMENSION)).astype(np.float32)
    names = [("even" if row % 2 == 0 else "odd",) for row in range(3_000)]
    await index.upsert(Collection.USERS, [
        Point(key=2 * row, version=1, vector=vectors[row], attributes=frozenset(names[row])) for row in range(3_000)])
    query = rng.standard_normal(DIMENSION).astype(np.float32)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    expected = {2 * row for row in range(3_000) if cosines[row] > 0.25 and row % 2 == 0}
    hits = await index.above(Collection.USERS, query, 0.25, frozenset({"even"}))
    assert {hit.key for hit in hits} == expected
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.key))
    best = await index.nearest(Collection.USERS, query, 40)
    np.testing.assert_allclose([hit.score for hit in best], np.sort(cosines)[::-1][:40], atol=1e-5)


async def test_a_version_never_goes_back(index, reopen):
    await index.upsert(Collection.USERS, [point(2, 0, 1, 0, 0, version=5)])
    await index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0, version=4)])
    assert await index.versions(Collection.USERS) == {2: 5}
    np.testing.assert_allclose((await index.vectors(Collection.USERS, [2]))[2], [0, 1, 0, 0])
    await index.upsert(Collection.USERS, [point(2, 0, 0, 1, 0, version=5)])
    np.testing.assert_allclose((await index.vectors(Collection.USERS, [2]))[2], [0, 0, 1, 0])
    await index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0, version=6), point(2, 0, 0, 0, 1, version=2)])
    again = await reopen()
    await again.ensure("model-a", DIMENSION)
    assert await again.versions(Collection.USERS) == {2: 6}
    np.testing.assert_allclose((await again.vectors(Collection.USERS, [2]))[2], [1, 0, 0, 0])


async def test_everything_is_there_after_a_stop(index, reopen):
    await index.upsert(Collection.ITEMS, [point(1, 3, 4, 0, 0, version=2, attributes={"jazz", "naïve “x”\n"}),
                                          point(3, 1, 0, 0, 0)])
    await index.upsert(Collection.ATTRIBUTES, [point("naïve “x”\n", 1, 0, 0, 0)])
    await index.delete(Collection.ITEMS, [3])
    again = await reopen()
    await again.ensure("model-a", DIMENSION)
    assert await again.versions(Collection.ITEMS) == {1: 2}
    assert await again.versions(Collection.ATTRIBUTES) == {"naïve “x”\n": 1}
    np.testing.assert_allclose((await again.vectors(Collection.ITEMS, [1, 3]))[1], [0.6, 0.8, 0, 0], atol=1e-6)
    assert [hit.key for hit in await again.above(Collection.ITEMS, vector(3, 4, 0, 0), 0.9, frozenset({"jazz"}))] == [1]


@pytest.mark.parametrize("bad", [vector(np.nan, 0, 0, 0), vector(np.inf, 0, 0, 0), vector(1, 0, 0), vector(1, 0, 0, 0, 0)],
                         ids=["nan", "infinite", "short", "long"])
async def test_a_bad_vector_writes_none_of_its_call(index, bad):
    """One vector that is not finite would come first everywhere, or empty every query that meets it."""
    await index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0)])
    with pytest.raises(ValueError, match=r"NaN or infinity|dimensions"):
        await index.upsert(Collection.USERS, [point(4, 0, 1, 0, 0), Point(key=6, version=1, vector=bad)])
    assert await index.versions(Collection.USERS) == {2: 1}
    with pytest.raises(ValueError, match=r"NaN or infinity|dimensions"):
        await index.nearest(Collection.USERS, bad, 3)
    with pytest.raises(ValueError, match=r"NaN or infinity|dimensions"):
        await index.above(Collection.USERS, bad, 0.1, frozenset({"jazz"}))


async def test_zeros_are_kept_and_near_to_nothing(index):
    await index.upsert(Collection.USERS, [point(2, 0, 0, 0, 0, attributes={"jazz"}), point(4, 1, 0, 0, 0, attributes={"jazz"})])
    assert [hit.key for hit in await index.above(Collection.USERS, vector(1, 0, 0, 0), 0.0, frozenset({"jazz"}))] == [4]
    assert {hit.score for hit in await index.nearest(Collection.USERS, vector(0, 0, 0, 0), 5)} == {0.0}


async def test_delete_takes_what_is_named_and_no_more(index):
    await index.upsert(Collection.USERS, [point(key, key, 1, 0, 0) for key in (2, 4, 6, 8)])
    await index.delete(Collection.USERS, [])
    await index.delete(Collection.USERS, [2, 6, 100])
    assert await index.versions(Collection.USERS) == {4: 1, 8: 1}
    assert set(await keys_near(index, (1, 0, 0, 0))) == {4, 8}
    np.testing.assert_allclose((await index.vectors(Collection.USERS, [8]))[8], vector(8, 1, 0, 0) / 65**0.5, atol=1e-6)


async def test_another_model_or_dimension_is_refused_and_names_the_command(index, reopen):
    for embedder, dimension in (("model-b", DIMENSION), ("model-a", 8)):
        again = await reopen()
        with pytest.raises(IncompatibleSettings, match="propagation reindex"):
            await again.ensure(embedder, dimension)


async def test_drop_empties_it_for_another_model(index, reopen):
    await index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0)])
    await index.drop("model-b", 2)
    assert await index.versions(Collection.USERS) == {}
    await index.upsert(Collection.USERS, [Point(key=4, version=1, vector=vector(1, 0))])
    again = await reopen()
    await again.ensure("model-b", 2)
    assert await again.versions(Collection.USERS) == {4: 1}


async def test_an_empty_index_answers_with_nothing(index):
    assert await index.nearest(Collection.USERS, vector(1, 0, 0, 0), 5) == []
    assert await index.above(Collection.USERS, vector(1, 0, 0, 0), -1, frozenset({"jazz"})) == []
    assert await index.vectors(Collection.USERS, [2]) == {}
