"""The vector index of the production deployment (VectorIndex)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient, models

from propagation.adapters.qdrant import collections, search
from propagation.adapters.qdrant.connection import check_version, translated_errors
from propagation.adapters.qdrant.points import (
    NAME,
    NAMED,
    VERSION,
    id_of,
    key_of,
    sharing_one_of,
    upsert_operations,
)
from propagation.model import IncompatibleSettings, IndexUnavailable
from propagation.ports import Collection, Hit, IndexSuccessor, Point, check_vector

POINTS_PER_CALL = 1_000
VERSIONS_PER_CALL = 10_000


class QdrantWriter:
    """Writes points into named collections (IndexWriter)."""

    def __init__(
        self, client: AsyncQdrantClient, names: Mapping[Collection, str], dimension: int
    ) -> None:
        self._client = client
        self._names = names
        self._dimension = dimension

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        name = self._name(collection)
        for point in points:
            check_vector(point.vector, self._dimension, f"{collection} {point.key!r}")
        with translated_errors():
            for start in range(0, len(points), POINTS_PER_CALL):
                await self._client.batch_update_points(
                    name, upsert_operations(points[start : start + POINTS_PER_CALL])
                )

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None:
        with translated_errors():
            for start in range(0, len(keys), POINTS_PER_CALL):
                ids = [id_of(key) for key in keys[start : start + POINTS_PER_CALL]]
                await self._client.delete(self._name(collection), models.PointIdsList(points=ids))

    async def versions(self, collection: Collection) -> dict[int | str, int]:
        found: dict[int | str, int] = {}
        fields, offset = [VERSION, NAME] if collection in NAMED else [VERSION], None
        with translated_errors():
            while True:
                records, offset = await self._client.scroll(
                    self._name(collection),
                    limit=VERSIONS_PER_CALL,
                    offset=offset,
                    with_payload=fields,
                )
                for record in records:
                    found[key_of(record.id, record.payload)] = (record.payload or {})[VERSION]
                if offset is None:
                    return found

    def _name(self, collection: Collection) -> str:
        if collection not in self._names:
            raise IndexUnavailable(
                "the vector index on Qdrant was not found yet; it is looked for again"
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

    async def ensure_collections(self, embedder: str, dimension: int) -> bool:
        with translated_errors():
            await check_version(self._client)
            standing = await collections.collections_in_use(self._client, self._prefix)
            for name in standing.values():
                await self._check_made_for(name, embedder, dimension)
            missing = {
                collection: await collections.create(
                    self._client, self._prefix, collection, embedder, dimension
                )
                for collection in Collection
                if collection not in standing
            }
            if missing:
                await collections.put_in_use(
                    self._client, self._prefix, missing, self._aliases(embedder, dimension)
                )
        self._ask(embedder, dimension)
        return bool(missing)

    def _aliases(self, embedder: str, dimension: int) -> Mapping[Collection, str]:
        return collections.aliases_of(self._prefix, embedder, dimension)

    def _ask(self, embedder: str, dimension: int) -> None:
        self._names, self._dimension = self._aliases(embedder, dimension), dimension

    async def _check_made_for(self, name: str, embedder: str, dimension: int) -> None:
        made = await collections.model_of(self._client, name)
        if made != (embedder, dimension):
            raise IncompatibleSettings(
                f"embedder: the vector index was made with {made[0]} ({made[1]} dimensions),"
                f" now it is {embedder} ({dimension});"
                " go back to that one, or run `propagation reindex`"
            )

    async def nearest(
        self, collection: Collection, vector: NDArray[np.float32], limit: int
    ) -> Sequence[Hit]:
        name = self._name(collection)
        check_vector(vector, self._dimension, "the query")
        with translated_errors():
            return await search.nearest(self._client, name, collection, vector, limit)

    async def search_above(
        self,
        collection: Collection,
        vector: NDArray[np.float32],
        tau: float,
        sharing: frozenset[str],
    ) -> Sequence[Hit]:
        name = self._name(collection)
        check_vector(vector, self._dimension, "the query")
        if not sharing:
            return []
        with translated_errors():
            return await search.all_above(
                self._client, name, collection, vector, tau, sharing_one_of(sharing)
            )

    async def vectors(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> dict[int | str, NDArray[np.float32]]:
        found: dict[int | str, NDArray[np.float32]] = {}
        ids = {id_of(key): key for key in keys}
        with translated_errors():
            for start in range(0, len(keys), POINTS_PER_CALL):
                records = await self._client.retrieve(
                    self._name(collection),
                    list(ids)[start : start + POINTS_PER_CALL],
                    with_payload=False,
                    with_vectors=True,
                )
                found |= {
                    ids[_plain(record.id)]: np.array(record.vector, np.float32)
                    for record in records
                }
        return found

    async def create_successor(self, embedder: str, dimension: int) -> IndexSuccessor:
        with translated_errors():
            await check_version(self._client)
            await collections.delete_unused(self._client, self._prefix)
            names = {
                collection: await collections.create(
                    self._client, self._prefix, collection, embedder, dimension
                )
                for collection in Collection
            }

        async def publish() -> None:
            with translated_errors():
                await collections.put_in_use(
                    self._client, self._prefix, names, self._aliases(embedder, dimension)
                )
                self._ask(embedder, dimension)
                await collections.delete_unused(self._client, self._prefix)

        return QdrantSuccessor(self._client, names, dimension, publish)

    async def close(self) -> None:
        await self._client.close()


class QdrantSuccessor(QdrantWriter):
    """Collections without an alias."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        names: Mapping[Collection, str],
        dimension: int,
        publish: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(client, names, dimension)
        self._publish = publish

    async def publish(self) -> None:
        await self._publish()


def _plain(id_: models.ExtendedPointId) -> int | str:
    return id_ if isinstance(id_, int) else str(id_)
