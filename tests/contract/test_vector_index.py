"""What a vector index means. An adapter joins with a fixture that opens one, and opens it again
after a stop."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.local.persistence import CollectionPersistence

from propagation.adapters.neo4j.index.points import Neo4jPoints
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.qdrant.index import QdrantIndex
from propagation.adapters.qdrant.server import connect
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import IncompatibleSettings, IndexUnavailable
from propagation.ports import Collection, Point, VectorIndex
from services.runtime.process import SystemClock
from tests import qdrants
from tests.neo4j_server.shared import get_server

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]
Reopen = Callable[[], Awaitable[VectorIndex]]
DIMENSION = 4
SHARED = 3  # of PEP 249: threads may share connections


async def _open_numpy_on_sqlite(path, stack: AsyncExitStack) -> VectorIndex:
    store = SqliteStore(path / "graph.db", SystemClock())
    await store.open()
    stack.push_async_callback(store.close)
    return NumpyIndex(SqlitePoints(store.database))


# Two connections that the local mode never closes, of which Python warns since 3.13: that of a
# collection that is dropped, and one that asks whether SQLite may be shared by threads.
CollectionPersistence.__del__ = CollectionPersistence.close
CollectionPersistence.CHECK_SAME_THREAD = sqlite3.threadsafety != SHARED


async def _open_local_qdrant(path, stack: AsyncExitStack) -> VectorIndex:
    return QdrantIndex(AsyncQdrantClient(path=str(path / "qdrant")), "test")


async def _open_server_qdrant(path, stack: AsyncExitStack) -> VectorIndex:
    """Its collections are named after the test's folder, and dropped after the test."""
    return QdrantIndex(qdrants.connect_to_server(), qdrants.build_prefix(str(path)))


async def _open_numpy_on_neo4j(path, stack: AsyncExitStack) -> VectorIndex:
    store = Neo4jStore(get_server(path).settings)
    await store.open()
    stack.push_async_callback(store.close)
    return NumpyIndex(Neo4jPoints(store.database))


ADAPTERS = {
    "numpy on neo4j": _open_numpy_on_neo4j,
    "numpy on sqlite": _open_numpy_on_sqlite,
    "qdrant local": _open_local_qdrant,
}
if qdrants.THERE:
    ADAPTERS["qdrant server"] = _open_server_qdrant


MARKED = [
    pytest.param(name, marks=[pytest.mark.neo4j] if "neo4j" in name else [])
    for name in sorted(ADAPTERS)
]


@pytest.fixture(params=MARKED)
async def reopen(request, tmp_path) -> AsyncIterator[Reopen]:
    """Each call stops what the last one opened, and opens the same index anew; `ensure` is the
    caller's."""
    stack = AsyncExitStack()

    async def open_again() -> VectorIndex:
        await stack.aclose()
        index = await ADAPTERS[request.param](tmp_path, stack)
        stack.push_async_callback(index.close)
        return index

    yield open_again
    await stack.aclose()
    if request.param == "qdrant server":
        async with qdrants.open_client(qdrants.build_prefix(str(tmp_path))):
            """Dropped."""


@asynccontextmanager
async def _open_local_client(prefix: str) -> AsyncIterator[AsyncQdrantClient]:
    client = AsyncQdrantClient(":memory:")
    yield client
    await client.close()


QDRANTS = {
    "local": _open_local_client,
    **({"server": qdrants.open_client} if qdrants.THERE else {}),
}


@pytest.fixture(params=sorted(QDRANTS))
async def qdrant(request, tmp_path) -> AsyncIterator[tuple[AsyncQdrantClient, str]]:
    """A Qdrant that several indexes share, and a prefix of their own on it."""
    prefix = qdrants.build_prefix(str(tmp_path))
    async with QDRANTS[request.param](prefix) as client:
        yield client, prefix


@pytest.fixture
async def index(reopen) -> VectorIndex:
    opened = await reopen()
    assert not await opened.find_collections("model-a", DIMENSION), "nothing is made by looking"
    await qdrants.make_collections(opened, "model-a", DIMENSION)
    return opened


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def point(key, *values, version=1, attributes=()) -> Point:
    return Point(key=key, version=version, vector=vector(*values), attributes=frozenset(attributes))


async def find_keys(index, values, limit=10, collection=Collection.USERS):
    return [hit.key for hit in await index.find_nearest(collection, vector(*values), limit)]


async def test_nearest_by_cosine_whatever_the_length(index):
    await index.upsert(
        Collection.USERS, [point(2, 0, 9, 0, 0), point(4, 1, 1, 0, 0), point(6, 0.1, 0, 0, 0)]
    )
    hits = await index.find_nearest(Collection.USERS, vector(5, 0, 0, 0), 2)
    assert [hit.key for hit in hits] == [6, 4]
    np.testing.assert_allclose([hit.score for hit in hits], [1, 2**-0.5], atol=1e-6)


async def test_equal_scores_are_ordered_by_key_and_a_limit_is_a_prefix(index):
    await index.upsert(Collection.USERS, [point(key, 1, 0, 0, 0) for key in (8, 2, 6, 4, 12, 10)])
    assert await find_keys(index, (1, 0, 0, 0), 3) == [2, 4, 6]
    assert await find_keys(index, (1, 0, 0, 0), 10) == [2, 4, 6, 8, 10, 12]


async def test_collections_are_apart_and_keys_may_be_names(index):
    await index.upsert(Collection.ATTRIBUTES, [point("jazz", 1, 0, 0, 0), point("7", 0, 1, 0, 0)])
    await index.upsert(Collection.ROUTERS, [point(7, 0, 0, 1, 0)])
    assert await find_keys(index, (1, 0, 0, 0), 1, Collection.ATTRIBUTES) == ["jazz"]
    assert await index.get_versions(Collection.ROUTERS) == {7: 1}
    assert await index.get_versions(Collection.USERS) == {}


async def test_above_is_strict_and_shares_an_attribute(index):
    """Eq. 4: Score(R, c) = cos(e_R, e_c) * [A_R and A_c share an attribute] > tau."""
    await index.upsert(
        Collection.ITEMS,
        [
            point(1, 1, 0, 0, 0, attributes={"jazz", "soul"}),
            point(3, 1, 0, 0, 0, attributes={"opera"}),
            point(5, 0, 1, 0, 0, attributes={"jazz"}),
            point(7, 0.8, 0.6, 0, 0, attributes={"jazz"}),
            point(9, 1, 0, 0, 0),
        ],
    )
    query = vector(1, 0, 0, 0)
    assert [
        hit.key
        for hit in await index.search_above(Collection.ITEMS, query, 0.5, frozenset({"jazz"}))
    ] == [1, 7]
    assert [
        hit.key
        for hit in await index.search_above(
            Collection.ITEMS, query, 0.9, frozenset({"jazz", "opera"})
        )
    ] == [1, 3]
    assert [
        hit.key
        for hit in await index.search_above(Collection.ITEMS, query, 0.0, frozenset({"jazz"}))
    ] == [1, 7]
    assert await index.search_above(Collection.ITEMS, query, -1.0, frozenset()) == []


async def test_above_leaves_none_out_and_is_exact(index):
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((1_500, DIMENSION)).astype(np.float32)
    names = [("even" if row % 2 == 0 else "odd",) for row in range(1_500)]
    await index.upsert(
        Collection.USERS,
        [
            Point(key=2 * row, version=1, vector=vectors[row], attributes=frozenset(names[row]))
            for row in range(1_500)
        ],
    )
    query = rng.standard_normal(DIMENSION).astype(np.float32)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    expected = {2 * row for row in range(1_500) if cosines[row] > 0.25 and row % 2 == 0}
    hits = await index.search_above(Collection.USERS, query, 0.25, frozenset({"even"}))
    assert {hit.key for hit in hits} == expected
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.key))
    best = await index.find_nearest(Collection.USERS, query, 40)
    np.testing.assert_allclose([hit.score for hit in best], np.sort(cosines)[::-1][:40], atol=1e-5)


async def test_a_version_never_goes_back(index, reopen):
    await index.upsert(Collection.USERS, [point(2, 0, 1, 0, 0, version=5)])
    await index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0, version=4)])
    assert await index.get_versions(Collection.USERS) == {2: 5}
    np.testing.assert_allclose((await index.get_vectors(Collection.USERS, [2]))[2], [0, 1, 0, 0])
    await index.upsert(Collection.USERS, [point(2, 0, 0, 1, 0, version=5)])
    np.testing.assert_allclose((await index.get_vectors(Collection.USERS, [2]))[2], [0, 0, 1, 0])
    await index.upsert(
        Collection.USERS, [point(2, 1, 0, 0, 0, version=6), point(2, 0, 0, 0, 1, version=2)]
    )
    again = await reopen()
    await again.find_collections("model-a", DIMENSION)
    assert await again.get_versions(Collection.USERS) == {2: 6}
    np.testing.assert_allclose((await again.get_vectors(Collection.USERS, [2]))[2], [1, 0, 0, 0])


async def test_everything_is_there_after_a_stop(index, reopen):
    await index.upsert(
        Collection.ITEMS,
        [point(1, 3, 4, 0, 0, version=2, attributes={"jazz", "naïve “x”\n"}), point(3, 1, 0, 0, 0)],
    )
    await index.upsert(Collection.ATTRIBUTES, [point("naïve “x”\n", 1, 0, 0, 0)])
    await index.delete(Collection.ITEMS, [3])
    again = await reopen()
    assert await again.find_collections("model-a", DIMENSION), "there already"
    assert await again.get_versions(Collection.ITEMS) == {1: 2}
    assert await again.get_versions(Collection.ATTRIBUTES) == {"naïve “x”\n": 1}
    np.testing.assert_allclose(
        (await again.get_vectors(Collection.ITEMS, [1, 3]))[1], [0.6, 0.8, 0, 0], atol=1e-6
    )
    assert [
        hit.key
        for hit in await again.search_above(
            Collection.ITEMS, vector(3, 4, 0, 0), 0.9, frozenset({"jazz"})
        )
    ] == [1]


@pytest.mark.parametrize(
    "bad",
    [vector(np.nan, 0, 0, 0), vector(np.inf, 0, 0, 0), vector(1, 0, 0), vector(1, 0, 0, 0, 0)],
    ids=["nan", "infinite", "short", "long"],
)
async def test_a_bad_vector_writes_none_of_its_call(index, bad):
    """One vector that is not finite would come first everywhere, or empty every query that meets
    it."""
    await index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0)])
    with pytest.raises(ValueError, match=r"NaN or infinity|dimensions"):
        await index.upsert(
            Collection.USERS, [point(4, 0, 1, 0, 0), Point(key=6, version=1, vector=bad)]
        )
    assert await index.get_versions(Collection.USERS) == {2: 1}
    with pytest.raises(ValueError, match=r"NaN or infinity|dimensions"):
        await index.find_nearest(Collection.USERS, bad, 3)
    with pytest.raises(ValueError, match=r"NaN or infinity|dimensions"):
        await index.search_above(Collection.USERS, bad, 0.1, frozenset({"jazz"}))


async def test_zeros_are_kept_and_near_to_nothing(index):
    await index.upsert(
        Collection.USERS,
        [point(2, 0, 0, 0, 0, attributes={"jazz"}), point(4, 1, 0, 0, 0, attributes={"jazz"})],
    )
    assert [
        hit.key
        for hit in await index.search_above(
            Collection.USERS, vector(1, 0, 0, 0), 0.0, frozenset({"jazz"})
        )
    ] == [4]
    assert {
        hit.score for hit in await index.find_nearest(Collection.USERS, vector(0, 0, 0, 0), 5)
    } == {0.0}


async def test_delete_takes_what_is_named_and_no_more(index):
    await index.upsert(Collection.USERS, [point(key, key, 1, 0, 0) for key in (2, 4, 6, 8)])
    await index.delete(Collection.USERS, [])
    await index.delete(Collection.USERS, [2, 6, 100])
    assert await index.get_versions(Collection.USERS) == {4: 1, 8: 1}
    assert set(await find_keys(index, (1, 0, 0, 0))) == {4, 8}
    np.testing.assert_allclose(
        (await index.get_vectors(Collection.USERS, [8]))[8], vector(8, 1, 0, 0) / 65**0.5, atol=1e-6
    )


async def test_a_new_point_without_attributes_has_none_of_a_dropped_one(index):
    query = vector(1, 0, 0, 0)
    await index.upsert(Collection.ITEMS, [Point(1, 1, query, frozenset({"jazz"}))])
    await index.delete(Collection.ITEMS, [1])
    await index.upsert(Collection.ITEMS, [Point(2, 1, query)])
    assert await index.search_above(Collection.ITEMS, query, 0.5, frozenset({"jazz"})) == []


async def test_another_model_or_dimension_is_refused_and_names_the_command(index, reopen):
    for embedder, dimension in (("model-b", DIMENSION), ("model-a", 8)):
        again = await reopen()
        with pytest.raises(IncompatibleSettings, match="propagation reindex"):
            await again.find_collections(embedder, dimension)


async def test_a_new_index_is_not_seen_until_it_is_served_in_one_step(index, reopen):
    await index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0, attributes={"jazz"})])
    await index.upsert(Collection.ATTRIBUTES, [point("jazz", 1, 0, 0, 0)])
    async with index.rebuild("model-b", 2) as writer:
        await writer.upsert(
            Collection.USERS,
            [
                Point(key=4, version=3, vector=vector(1, 0)),
                Point(key=6, version=1, vector=vector(0, 1)),
            ],
        )
        await writer.delete(Collection.USERS, [6])
        assert await writer.get_versions(Collection.USERS) == {4: 3}
        await index.upsert(Collection.USERS, [point(8, 1, 0, 0, 0)])
        assert await index.get_versions(Collection.USERS) == {2: 1, 8: 1}
        assert await find_keys(index, (1, 0, 0, 0), 1) == [2]
    assert await index.get_versions(Collection.USERS) == {4: 3}
    assert await index.get_versions(Collection.ATTRIBUTES) == {}
    await index.upsert(Collection.USERS, [Point(key=8, version=1, vector=vector(0, 1))])
    again = await reopen()
    await again.find_collections("model-b", 2)
    assert await again.get_versions(Collection.USERS) == {4: 3, 8: 1}
    assert [hit.key for hit in await again.find_nearest(Collection.USERS, vector(1, 0), 1)] == [4]


async def test_a_new_index_that_was_never_finished_leaves_nothing(index, reopen):
    await index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0)])
    with pytest.raises(ValueError, match="dimensions"):
        await _rebuild_in_part(index)
    assert await index.get_versions(Collection.USERS) == {2: 1}
    again = await reopen()
    await again.find_collections("model-a", DIMENSION)
    assert await again.get_versions(Collection.USERS) == {2: 1}
    async with again.rebuild("model-a", DIMENSION) as writer:
        assert await writer.get_versions(Collection.USERS) == {}
    assert await again.get_versions(Collection.USERS) == {}


async def _rebuild_in_part(index):
    async with index.rebuild("model-b", DIMENSION) as writer:
        await writer.upsert(Collection.USERS, [point(4, 1, 0, 0, 0)])
        await writer.upsert(Collection.USERS, [Point(key=6, version=1, vector=vector(1, 0))])


async def test_a_new_index_takes_the_place_of_one_that_could_not_be_opened(index, reopen):
    await index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0)])
    again = await reopen()
    with pytest.raises(IncompatibleSettings):
        await again.find_collections("model-b", 2)
    async with again.rebuild("model-b", 2) as writer:
        await writer.upsert(Collection.USERS, [Point(key=4, version=1, vector=vector(1, 0))])
    assert [hit.key for hit in await again.find_nearest(Collection.USERS, vector(1, 0), 5)] == [4]


async def test_a_bad_vector_is_refused_by_a_new_index_too(index):
    bad = [point(2, 1, 0, 0, 0), point(4, np.nan, 0, 0, 0)]
    async with index.rebuild("model-a", DIMENSION) as writer:
        with pytest.raises(ValueError, match="NaN"):
            await writer.upsert(Collection.USERS, bad)
        assert await writer.get_versions(Collection.USERS) == {}


async def test_of_one_key_twice_in_a_call_the_newest_version_stays_then_the_later(index):
    await index.upsert(
        Collection.USERS,
        [
            point(2, 1, 0, 0, 0, version=3),
            point(2, 0, 1, 0, 0, version=2),
            point(4, 1, 0, 0, 0),
            point(4, 0, 1, 0, 0),
        ],
    )
    assert await index.get_versions(Collection.USERS) == {2: 3, 4: 1}
    found = await index.get_vectors(Collection.USERS, [2, 4])
    np.testing.assert_allclose([found[2], found[4]], [[1, 0, 0, 0], [0, 1, 0, 0]])


async def test_no_result_is_cut_where_there_are_more_than_any_default_limit(index):
    await index.upsert(
        Collection.USERS, [point(2 * key, 1, 0, 0, 0, attributes={"jazz"}) for key in range(1_500)]
    )
    hits = await index.search_above(Collection.USERS, vector(1, 0, 0, 0), 0.5, frozenset({"jazz"}))
    assert [hit.key for hit in hits] == [2 * key for key in range(1_500)]
    assert await find_keys(index, (1, 0, 0, 0), 3) == [0, 2, 4]


async def test_an_empty_index_answers_with_nothing(index):
    assert await index.find_nearest(Collection.USERS, vector(1, 0, 0, 0), 5) == []
    assert (
        await index.search_above(Collection.USERS, vector(1, 0, 0, 0), -1, frozenset({"jazz"}))
        == []
    )
    assert await index.get_vectors(Collection.USERS, [2]) == {}


async def test_nothing_answers_before_it_was_found(tmp_path):
    """A service goes on without its index, and looks for it again."""
    index = QdrantIndex(connect("http://127.0.0.1:1", 1, None, 1), "test")
    for call in (
        lambda: index.find_collections("model-a", DIMENSION),
        lambda: index.rebuild("model-a", DIMENSION).__aenter__(),
        lambda: index.find_nearest(Collection.USERS, vector(1, 0, 0, 0), 1),
        lambda: index.get_versions(Collection.USERS),
        lambda: index.upsert(Collection.USERS, [point(2, 1, 0, 0, 0)]),
    ):
        with pytest.raises(IndexUnavailable):
            await call()
    await index.close()


async def list_names(client, prefix):
    return {
        found.name
        for found in (await client.get_collections()).collections
        if found.name.startswith(prefix)
    }


async def test_names_of_other_programs_on_the_server_are_left_alone(qdrant):
    client, prefix = qdrant
    for name in (f"{prefix}-users", f"{prefix}-users-of-mine"):
        await client.create_collection(
            name, vectors_config=models.VectorParams(size=2, distance=models.Distance.DOT)
        )
    index = QdrantIndex(client, prefix)
    with pytest.raises(IncompatibleSettings, match=r"qdrant\.prefix"):
        await qdrants.rebuild(index, "model-a", DIMENSION)
    assert {f"{prefix}-users", f"{prefix}-users-of-mine"} <= await list_names(client, prefix)


async def test_a_process_that_still_has_another_model_finds_nothing(qdrant):
    """Vectors of two models are never mixed: what it would write or ask waits until it has followed
    the epoch."""
    client, prefix = qdrant
    behind, ahead = QdrantIndex(client, prefix), QdrantIndex(client, prefix)
    await qdrants.make_collections(behind, "model-a", DIMENSION)
    await qdrants.rebuild(ahead, "model-b", DIMENSION)
    for call in (
        lambda: behind.upsert(Collection.USERS, [point(2, 1, 0, 0, 0)]),
        lambda: behind.find_nearest(Collection.USERS, vector(1, 0, 0, 0), 1),
    ):
        with pytest.raises(IndexUnavailable):
            await call()
    assert await ahead.get_versions(Collection.USERS) == {}


async def test_a_reindex_by_another_process_is_followed_at_once(qdrant):
    client, prefix = qdrant
    serving, other = QdrantIndex(client, prefix), QdrantIndex(client, prefix)
    await qdrants.make_collections(serving, "model-a", DIMENSION)
    await serving.upsert(Collection.USERS, [point(2, 1, 0, 0, 0)])
    async with other.rebuild("model-a", DIMENSION) as writer:
        await writer.upsert(Collection.USERS, [point(2, 0, 1, 0, 0, version=2)])
    assert await serving.get_versions(Collection.USERS) == {2: 2}
    assert await find_keys(serving, (0, 1, 0, 0)) == [2]
    assert len(await list_names(client, prefix)) == len(Collection), (
        "what was served before is gone"
    )


@pytest.mark.slow
async def test_above_finds_all_of_many_where_most_share_an_attribute(qdrant):
    """Over a graph, a filter that matches more points than are searched one by one loses most
    results: 14,000 of 384 dimensions are twice that many."""
    count, dimension = 14_000, 384
    rng = np.random.default_rng(11)
    vectors = rng.standard_normal((count, dimension)).astype(np.float32)
    vectors[:, 0] += 4  # a few hundred to several thousand are near to the query
    shares = rng.random(count) < 0.8
    index = QdrantIndex(*qdrant)
    await qdrants.make_collections(index, "model-a", dimension)
    await index.upsert(
        Collection.USERS,
        [
            Point(
                key=2 * row,
                version=1,
                vector=vectors[row],
                attributes=frozenset({"jazz"} if shares[row] else {"opera"}),
            )
            for row in range(count)
        ],
    )
    assert len(await index.get_versions(Collection.USERS)) == count
    query = vector(*np.eye(dimension)[0])
    cosines = vectors[:, 0] / np.linalg.norm(vectors, axis=1)
    for tau in (0.28, 0.15):
        hits = await index.search_above(Collection.USERS, query, tau, frozenset({"jazz"}))
        sure = {2 * row for row in np.flatnonzero(shares & (cosines > tau + 1e-5))}
        possible = {2 * row for row in np.flatnonzero(shares & (cosines > tau - 1e-5))}
        found = {hit.key for hit in hits}
        assert len(sure) > 300
        assert sure <= found <= possible
        assert len(hits) == len(found)
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.key))
        np.testing.assert_allclose(
            [hit.score for hit in hits], [cosines[hit.key // 2] for hit in hits], atol=1e-5
        )


async def test_an_index_that_was_not_found_yet_is_unavailable(reopen):
    index, vector = await reopen(), np.ones(DIMENSION, np.float32)
    asked = (
        lambda: index.upsert(Collection.USERS, [Point(key=2, version=1, vector=vector)]),
        lambda: index.delete(Collection.USERS, [2]),
        lambda: index.find_nearest(Collection.USERS, vector, 1),
        lambda: index.search_above(Collection.USERS, vector, 0.5, frozenset({"a"})),
        lambda: index.get_vectors(Collection.USERS, [2]),
        lambda: index.get_versions(Collection.USERS),
    )
    for ask in asked:
        with pytest.raises(IndexUnavailable, match="not found yet"):
            await ask()
