"""The vector index of the production deployment (VectorIndex)."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import numpy as np
from qdrant_client import AsyncQdrantClient, models

from propagation.adapters.qdrant.server import (
    NAME,
    NAMED,
    VERSION,
    build_attribute_filter,
    check_version,
    compute_id,
    create_collection,
    delete_unused,
    list_collections_in_use,
    name_aliases,
    parse_point_key,
    put_in_use,
    read_model,
    translate_errors,
    upsert_operations,
)
from propagation.model import F32, IndexUnavailable, split_into_batches
from propagation.ports import Collection, Hit, Point, check_embedder, check_vector

POINTS_PER_CALL = 1_000
VERSIONS_PER_CALL = 10_000
FIRST_LIMIT = 1_024


class QdrantWriter:
    """Writes points into named collections (IndexWriter)."""

    def __init__(
        self, client: AsyncQdrantClient, names: Mapping[Collection, str], dimension: int
    ) -> None:
        self._client = client
        self._names = names
        self._dimension = dimension

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        name = self._build_name(collection)
        for point in points:
            check_vector(point.vector, self._dimension, f"{collection} {point.key!r}")
        with translate_errors():
            for batch in split_into_batches(points, POINTS_PER_CALL):
                await self._client.batch_update_points(name, upsert_operations(batch))

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None:
        with translate_errors():
            for batch in split_into_batches(keys, POINTS_PER_CALL):
                ids = [compute_id(key) for key in batch]
                await self._client.delete(
                    self._build_name(collection), models.PointIdsList(points=ids)
                )

    async def get_versions(self, collection: Collection) -> dict[int | str, int]:
        found: dict[int | str, int] = {}
        fields = [VERSION, NAME] if collection in NAMED else [VERSION]
        offset = None
        with translate_errors():
            while True:
                records, offset = await self._client.scroll(
                    self._build_name(collection),
                    limit=VERSIONS_PER_CALL,
                    offset=offset,
                    with_payload=fields,
                )
                found |= {
                    parse_point_key(record.id, record.payload): (record.payload or {})[VERSION]
                    for record in records
                }
                if offset is None:
                    return found

    def _build_name(self, collection: Collection) -> str:
        if collection not in self._names:
            raise IndexUnavailable(
                "the vector index on Qdrant was not found yet; the service keeps looking"
            )
        return self._names[collection]


class QdrantIndex(QdrantWriter):
    """Searches and maintains the collections of one deployment.

    The client is closed with the index. Several deployments may share a server under different
    prefixes.
    """

    def __init__(self, client: AsyncQdrantClient, prefix: str) -> None:
        super().__init__(client, {}, 0)
        self._prefix = prefix

    async def find_collections(self, embedder: str, dimension: int) -> bool:
        with translate_errors():
            await check_version(self._client)
            in_use = await list_collections_in_use(self._client, self._prefix)
            for name in in_use.values():
                check_embedder(await read_model(self._client, name), embedder, dimension)
        if len(in_use) < len(Collection):
            return False
        self._names, self._dimension = name_aliases(self._prefix, embedder, dimension), dimension
        return True

    async def find_nearest(self, collection: Collection, vector: F32, limit: int) -> Sequence[Hit]:
        """Find the nearest points.

        If several points tie for the last place, the server returns any of them. Then all points
        with at least this score are read, and the tied ones are taken by key.
        """
        if limit < 1:
            return []
        hits = await self._search(collection, vector, limit + 1)
        if len(hits) > limit and hits[limit - 1].score == hits[limit].score:
            below = float(np.nextafter(np.float32(hits[limit].score), np.float32(-np.inf)))
            hits = await self._search_all_above(collection, vector, below)
        return hits[:limit]

    async def search_above(
        self,
        collection: Collection,
        vector: F32,
        tau: float,
        sharing: frozenset[str],
    ) -> Sequence[Hit]:
        if not sharing:
            return []
        return await self._search_all_above(
            collection, vector, tau, build_attribute_filter(sharing)
        )

    async def _search_all_above(
        self,
        collection: Collection,
        vector: F32,
        tau: float,
        matching: models.Filter | None = None,
    ) -> list[Hit]:
        """Find every point with a cosine above tau, compared in 32 bits.

        An answer that is as long as its limit may be incomplete. Then all points that could match
        are counted, and the search is repeated with a limit above their number.
        """
        bound, limit = np.float32(tau), FIRST_LIMIT
        below = float(np.nextafter(bound, np.float32(-np.inf)))
        while True:
            hits = await self._search(collection, vector, limit, below, matching)
            if len(hits) < limit:
                return [hit for hit in hits if np.float32(hit.score) > bound]
            with translate_errors():
                counted = await self._client.count(
                    self._build_name(collection), matching, exact=True
                )
            limit = max(2 * limit, counted.count + FIRST_LIMIT)

    async def _search(
        self,
        collection: Collection,
        vector: F32,
        limit: int,
        threshold: float | None = None,
        matching: models.Filter | None = None,
    ) -> list[Hit]:
        """Search once and order the hits by (-score, key).

        The server orders ties arbitrarily.
        """
        name = self._build_name(collection)
        check_vector(vector, self._dimension, "the query")
        with translate_errors():
            answer = await self._client.query_points(
                name,
                query=vector.tolist(),
                query_filter=matching,
                search_params=models.SearchParams(exact=True),
                limit=limit,
                score_threshold=threshold,
                with_payload=[NAME] if collection in NAMED else False,
            )
        hits = [
            Hit(
                key=parse_point_key(point.id, point.payload), score=min(max(point.score, -1.0), 1.0)
            )
            for point in answer.points
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.key))

    async def get_vectors(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> dict[int | str, F32]:
        found: dict[int | str, F32] = {}
        by_id = {str(compute_id(key)): key for key in keys}
        with translate_errors():
            for batch in split_into_batches(keys, POINTS_PER_CALL):
                records = await self._client.retrieve(
                    self._build_name(collection),
                    [compute_id(key) for key in batch],
                    with_payload=False,
                    with_vectors=True,
                )
                found |= {
                    by_id[str(record.id)]: np.array(record.vector, np.float32) for record in records
                }
        return found

    @asynccontextmanager
    async def rebuild(self, embedder: str, dimension: int) -> AsyncIterator[QdrantWriter]:
        with translate_errors():
            await check_version(self._client)
            await delete_unused(self._client, self._prefix)
            names = {
                collection: await create_collection(
                    self._client, self._prefix, collection, embedder, dimension
                )
                for collection in Collection
            }
        yield QdrantWriter(self._client, names, dimension)
        aliases = name_aliases(self._prefix, embedder, dimension)
        with translate_errors():
            await put_in_use(self._client, self._prefix, names, aliases)
            self._names, self._dimension = aliases, dimension
            await delete_unused(self._client, self._prefix)

    async def close(self) -> None:
        await self._client.close()
