"""A Qdrant server: its connection, collections, aliases and points.

Each collection has two aliases, so that a new collection can replace it in one step. The plain
alias says which collection is in use. The other alias also names the model, and queries use it: a
process that still has the previous model finds no collection, instead of vectors that mean
something else.
"""

import re
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b

import grpc
import numpy as np
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

from propagation.adapters.shared.plain_secrets import is_plain_loopback, refuse_plain_secret
from propagation.model import IncompatibleSettings, IndexUnavailable, group_pairs
from propagation.ports import COLLECTIONS, Collection, Point, normalize_rows

OLDEST = (1, 16)
"""The first release whose upserts take a filter.

Without the filter, a late write could undo a newer one.
"""
RECONNECT = {"grpc.initial_reconnect_backoff_ms": 250, "grpc.max_reconnect_backoff_ms": 2_000}
"""How long gRPC waits between attempts to reconnect.

By default, it waits up to two minutes before it retries a server that was away for long.
"""
INVALID = frozenset({grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.ALREADY_EXISTS})
REFUSED = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})
NAMES = uuid.UUID("6f6f2f0e-6d0b-5a53-9f0e-9f4b1f6f3c55")
NAMED = frozenset({Collection.ATTRIBUTES})
ATTRIBUTES, VERSION, NAME = "attributes", "version", "name"


def connect(
    url: str, grpc_port: int, api_key: str | None, timeout_seconds: float, insecure: bool = False
) -> AsyncQdrantClient:
    """Create a client, which connects at its first call.

    The client reconnects by itself.

    Args:
        timeout_seconds: The longest that a call may take; rounded to whole seconds, at least 1.
        insecure: Send the key to other machines without TLS.

    Raises:
        PlainSecret: The key would be sent over a network unencrypted.
    """
    refuse_plain_secret("qdrant.api_key", api_key, url, "qdrant", insecure)
    with warnings.catch_warnings():
        # The client warns even of addresses on this machine, and of networks that are allowed.
        warnings.filterwarnings("ignore", "Api key is used with an insecure connection")
        return AsyncQdrantClient(
            url=url,
            grpc_port=grpc_port,
            prefer_grpc=True,
            api_key=api_key,
            timeout=max(round(timeout_seconds), 1),
            check_compatibility=False,  # see check_version; this one asks over HTTP in a thread
            grpc_options=RECONNECT | {"grpc.enable_http_proxy": int(not is_plain_loopback(url))},
        )


async def check_version(client: AsyncQdrantClient) -> None:
    """Check that the server is not too old.

    Raises:
        IncompatibleSettings: The server is older than OLDEST.
    """
    version = (await client.info()).version
    if tuple(int(part) for part in version.split("-")[0].split(".")[:2]) < OLDEST:
        raise IncompatibleSettings(
            f"qdrant.url: the server is Qdrant {version}; it must be at least"
            f" {OLDEST[0]}.{OLDEST[1]}, since older ones let a late write undo a newer one"
        )


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate the client's errors.

    Raises:
        IndexUnavailable: The server is away, overloaded, refuses the key or lost a collection.
        ValueError: The request was invalid.
    """
    try:
        yield
    except grpc.aio.AioRpcError as error:
        text = f"{error.code().name}: {error.details()}"
        if error.code() in INVALID:
            raise ValueError(f"Qdrant: {text}") from error
        advice = "check qdrant.api_key" if error.code() in REFUSED else "the call will be repeated"
        raise IndexUnavailable(
            f"the vector index on Qdrant does not answer ({text}); {advice}"
        ) from error
    except ResourceExhaustedResponse as error:
        raise IndexUnavailable(
            f"the vector index on Qdrant is overloaded ({error}); the call will be repeated"
        ) from error
    except (ValueError, KeyError) as error:
        if "not found" not in str(error):
            raise
        raise IndexUnavailable(
            f"the vector index on Qdrant has lost a collection ({error}); it will be rebuilt"
        ) from error


def compute_id(key: int | str) -> int | str:
    """Return the server's id of a key.

    A number stays as it is, and a name becomes a UUID.
    """
    return key if isinstance(key, int) else str(uuid.uuid5(NAMES, key))


def parse_point_key(id_: int | str | uuid.UUID, payload: dict[str, object] | None) -> int | str:
    """Return our key; the payload holds the name of a named point."""
    return id_ if isinstance(id_, int) else str((payload or {})[NAME])


def upsert_operations(points: Sequence[Point]) -> list[models.UpdateOperation]:
    """Build one operation for each version.

    An operation does not replace points of newer versions. Of points with equal keys and versions,
    the last one stays.
    """
    by_version = group_pairs((point.version, _build_struct(point)) for point in points)
    return [
        models.UpsertOperation(
            upsert=models.PointsList(
                points=structs,
                update_filter=models.Filter(
                    must=[models.FieldCondition(key=VERSION, range=models.Range(lte=version))]
                ),
            )
        )
        for version, structs in by_version.items()
    ]


def build_attribute_filter(names: Iterable[str]) -> models.Filter:
    """Return the filter for clients that share an attribute.

    Source: RecNet eq. 4.
    """
    return models.Filter(
        must=[models.FieldCondition(key=ATTRIBUTES, match=models.MatchAny(any=sorted(names)))]
    )


def _build_struct(point: Point) -> models.PointStruct:
    payload: dict[str, object] = {VERSION: point.version, ATTRIBUTES: sorted(point.attributes)}
    if isinstance(point.key, str):
        payload[NAME] = point.key
    [unit] = normalize_rows(point.vector[None].astype(np.float64))
    return models.PointStruct(id=compute_id(point.key), vector=unit.tolist(), payload=payload)


def name_aliases(prefix: str, embedder: str, dimension: int) -> dict[Collection, str]:
    """Return the aliases that queries for this model use."""
    model = blake2b(f"{embedder} {dimension}".encode(), digest_size=4).hexdigest()
    return {collection: f"{prefix}-{collection}-for-{model}" for collection in Collection}


async def list_collections_in_use(client: AsyncQdrantClient, prefix: str) -> dict[Collection, str]:
    """Find the names of the collections in use by their plain aliases."""
    aliases = {
        found.alias_name: found.collection_name for found in (await client.get_aliases()).aliases
    }
    return {
        collection: aliases[plain]
        for collection in Collection
        if (plain := f"{prefix}-{collection}") in aliases
    }


async def read_model(client: AsyncQdrantClient, name: str) -> tuple[str, int]:
    """Read the embedder and the dimension that a collection was made for."""
    about = (await client.get_collection(name)).config.metadata or {}
    return str(about.get("embedder", "something else")), int(about.get("dimension", 0))


async def create_collection(
    client: AsyncQdrantClient, prefix: str, collection: Collection, embedder: str, dimension: int
) -> str:
    """Create an empty collection without an alias; return its name.

    The collection has no search graph (m=0), so every search is exact: a filtered search over such
    a graph loses most of its results. There is also no graph to build.
    """
    name = f"{prefix}-{collection}-{uuid.uuid4().hex}"
    await client.create_collection(
        name,
        vectors_config=models.VectorParams(size=dimension, distance=models.Distance.COSINE),
        hnsw_config=models.HnswConfigDiff(m=0),
        metadata={"embedder": embedder, "dimension": dimension},
    )
    await client.create_payload_index(name, VERSION, models.PayloadSchemaType.INTEGER)
    if collection in COLLECTIONS.values():  # collections of clients: eq. 4 filters by attribute
        await client.create_payload_index(name, ATTRIBUTES, models.PayloadSchemaType.KEYWORD)
    return name


async def put_in_use(
    client: AsyncQdrantClient,
    prefix: str,
    names: Mapping[Collection, str],
    aliases: Mapping[Collection, str],
) -> None:
    """Point the aliases to these collections in one step.

    The collections that were in use lose their aliases.

    Raises:
        IncompatibleSettings: The server has collections of other applications with this prefix.
    """
    in_use = await list_collections_in_use(client, prefix)
    steps: list[models.AliasOperations] = [
        models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=found.alias_name))
        for found in (await client.get_aliases()).aliases
        if found.collection_name in in_use.values()
    ]
    steps += [
        models.CreateAliasOperation(
            create_alias=models.CreateAlias(collection_name=name, alias_name=alias)
        )
        for collection, name in names.items()
        for alias in (f"{prefix}-{collection}", aliases[collection])
    ]
    try:
        with translate_errors():
            await client.update_collection_aliases(steps)
    except ValueError as error:
        raise IncompatibleSettings(
            f"qdrant.prefix is {prefix!r}, but another application has collections with this prefix"
            f" ({error}); choose another"
        ) from error


async def delete_unused(client: AsyncQdrantClient, prefix: str) -> None:
    """Delete our collections without an alias: replaced ones and unfinished ones."""
    kept = set((await list_collections_in_use(client, prefix)).values())
    ours = re.compile(rf"{re.escape(prefix)}-({'|'.join(Collection)})-[0-9a-f]{{32}}")
    for found in (await client.get_collections()).collections:
        if ours.fullmatch(found.name) and found.name not in kept:
            await client.delete_collection(found.name)
