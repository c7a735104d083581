"""Which collections there are. Each is served under two aliases, so that another one can take its
place in one step: a plain one, which says what is served, and one that names the model too, by
which it is asked: a process that still has the model of before finds nothing under its name, in
place of vectors that mean something else."""

import re
import uuid
from collections.abc import Mapping
from hashlib import blake2b

from qdrant_client import AsyncQdrantClient, models

from propagation.adapters.qdrant.connection import translated_errors
from propagation.adapters.qdrant.points import ATTRIBUTES, VERSION
from propagation.model.errors import IncompatibleSettings
from propagation.ports.vector_index import Collection

KEYWORDS = frozenset({Collection.USERS, Collection.ITEMS})
Names = Mapping[Collection, str]


def aliases_of(prefix: str, embedder: str, dimension: int) -> dict[Collection, str]:
    """By which the collections of this model are asked."""
    model = blake2b(f"{embedder} {dimension}".encode(), digest_size=4).hexdigest()
    return {collection: f"{prefix}-{collection}-for-{model}" for collection in Collection}


async def served(client: AsyncQdrantClient, prefix: str) -> dict[Collection, str]:
    """The collections that are served, by what they hold."""
    aliases = {
        found.alias_name: found.collection_name for found in (await client.get_aliases()).aliases
    }
    return {
        collection: aliases[plain]
        for collection in Collection
        if (plain := f"{prefix}-{collection}") in aliases
    }


async def made_for(client: AsyncQdrantClient, name: str) -> tuple[str, int]:
    """(embedder, dimension) that a collection was made for."""
    about = (await client.get_collection(name)).config.metadata or {}
    return str(about.get("embedder", "something else")), int(about.get("dimension", 0))


async def create(
    client: AsyncQdrantClient, prefix: str, collection: Collection, embedder: str, dimension: int
) -> str:
    """An empty collection without an alias. Its name. No graph (m=0): every search is exact, where
    a filtered search over a graph loses most of what it should find, and nothing has to be built.
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


async def serve(client: AsyncQdrantClient, prefix: str, names: Names, aliases: Names) -> None:
    """Put these behind their aliases in place of those that are, all in one step."""
    standing = await served(client, prefix)
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
            f"qdrant.prefix is {prefix!r}, and the server has collections of that name that are not ours"
            f" ({error}); give another prefix"
        ) from error


async def drop_unserved(client: AsyncQdrantClient, prefix: str) -> None:
    """Collections of ours without an alias: those of before, and of a reindex that did not come to
    its end."""
    kept = set((await served(client, prefix)).values())
    ours = re.compile(rf"{re.escape(prefix)}-({'|'.join(Collection)})-[0-9a-f]{{32}}")
    for found in (await client.get_collections()).collections:
        if ours.fullmatch(found.name) and found.name not in kept:
            await client.delete_collection(found.name)
