"""The collections on the server, the aliases that name them, and the points in them.

Each collection has two aliases, so that another one can replace it in one step. The plain one says
which collection is in use. The other one also names the model, and queries use it: a process that
still has the previous model finds no collection, instead of vectors that mean something else.
"""

import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np
from qdrant_client import AsyncQdrantClient, models

from propagation.adapters.qdrant.connection import translated_errors
from propagation.model import IncompatibleSettings
from propagation.ports import Collection, Point

NAMES = uuid.UUID("6f6f2f0e-6d0b-5a53-9f0e-9f4b1f6f3c55")
NAMED = frozenset({Collection.ATTRIBUTES})
ATTRIBUTES, VERSION, NAME = "attributes", "version", "name"


def id_of(key: int | str) -> int | str:
    """Return the server's id of a key: a number as it is, a name as a UUID."""
    return key if isinstance(key, int) else str(uuid.uuid5(NAMES, key))


def key_of(id_: int | str | uuid.UUID, payload: dict[str, object] | None) -> int | str:
    """Return our key; the payload holds the name of a named point."""
    return id_ if isinstance(id_, int) else str((payload or {})[NAME])


def upsert_operations(points: Sequence[Point]) -> list[models.UpdateOperation]:
    """Build one operation for each version; it writes only where nothing newer is stored.

    Of points with equal keys and versions the last one stays.
    """
    by_version: dict[int, list[models.PointStruct]] = defaultdict(list)
    for point in points:
        by_version[point.version].append(_struct(point))
    return [
        models.UpsertOperation(
            upsert=models.PointsList(points=structs, update_filter=_not_newer_than(version))
        )
        for version, structs in by_version.items()
    ]


def sharing_one_of(names: Iterable[str]) -> models.Filter:
    """Eq. 4's test: shares an attribute."""
    return models.Filter(
        must=[models.FieldCondition(key=ATTRIBUTES, match=models.MatchAny(any=sorted(names)))]
    )


def _not_newer_than(version: int) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key=VERSION, range=models.Range(lte=version))])


def _struct(point: Point) -> models.PointStruct:
    payload: dict[str, object] = {VERSION: point.version, ATTRIBUTES: sorted(point.attributes)}
    if isinstance(point.key, str):
        payload[NAME] = point.key
    norm = float(np.linalg.norm(point.vector.astype(np.float64)))
    unit = point.vector / norm if norm > 0 else np.zeros_like(point.vector)
    return models.PointStruct(id=id_of(point.key), vector=unit.tolist(), payload=payload)


KEYWORDS = frozenset({Collection.USERS, Collection.ITEMS})
Names = Mapping[Collection, str]


def aliases_of(prefix: str, embedder: str, dimension: int) -> dict[Collection, str]:
    """Return the aliases that queries for this model use."""
    model = blake2b(f"{embedder} {dimension}".encode(), digest_size=4).hexdigest()
    return {collection: f"{prefix}-{collection}-for-{model}" for collection in Collection}


async def collections_in_use(client: AsyncQdrantClient, prefix: str) -> dict[Collection, str]:
    """Find the collections in use."""
    aliases = {
        found.alias_name: found.collection_name for found in (await client.get_aliases()).aliases
    }
    return {
        collection: aliases[plain]
        for collection in Collection
        if (plain := f"{prefix}-{collection}") in aliases
    }


async def model_of(client: AsyncQdrantClient, name: str) -> tuple[str, int]:
    """Read the embedder and the dimension that a collection was made for."""
    about = (await client.get_collection(name)).config.metadata or {}
    return str(about.get("embedder", "something else")), int(about.get("dimension", 0))


async def create_collection(
    client: AsyncQdrantClient, prefix: str, collection: Collection, embedder: str, dimension: int
) -> str:
    """Create an empty collection without an alias; return its name.

    It has no graph (m=0), so every search is exact: a filtered search over a graph loses most of
    its results. There is also nothing to build.
    """
    name = f"{prefix}-{collection}-{uuid.uuid4().hex}"
    await client.create_collection(
        name,
        vectors_config=models.VectorParams(size=dimension, distance=models.Distance.COSINE),
        hnsw_config=models.HnswConfigDiff(m=0),
        metadata={"embedder": embedder, "dimension": dimension},
    )
    await client.create_payload_index(name, VERSION, models.PayloadSchemaType.INTEGER)
    if collection in KEYWORDS:
        await client.create_payload_index(name, ATTRIBUTES, models.PayloadSchemaType.KEYWORD)
    return name


async def put_in_use(client: AsyncQdrantClient, prefix: str, names: Names, aliases: Names) -> None:
    """Put these collections behind their aliases in one step, in place of those in use.

    Raises:
        IncompatibleSettings: The server has collections of other applications with this prefix.
    """
    standing = await collections_in_use(client, prefix)
    replaced = {standing[collection] for collection in names if collection in standing}
    steps: list[models.AliasOperations] = [
        models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=found.alias_name))
        for found in (await client.get_aliases()).aliases
        if found.collection_name in replaced
    ]
    for collection, name in names.items():
        steps += [
            models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name=name, alias_name=alias)
            )
            for alias in (f"{prefix}-{collection}", aliases[collection])
        ]
    try:
        with translated_errors():
            await client.update_collection_aliases(steps)
    except ValueError as error:
        raise IncompatibleSettings(
            f"qdrant.prefix is {prefix!r}, and the server has collections of that name that"
            " are not ours"
            f" ({error}); give another prefix"
        ) from error


async def delete_unused(client: AsyncQdrantClient, prefix: str) -> None:
    """Delete our collections without an alias: replaced ones and unfinished ones."""
    kept = set((await collections_in_use(client, prefix)).values())
    ours = re.compile(rf"{re.escape(prefix)}-({'|'.join(Collection)})-[0-9a-f]{{32}}")
    for found in (await client.get_collections()).collections:
        if ours.fullmatch(found.name) and found.name not in kept:
            await client.delete_collection(found.name)
