"""Points as Qdrant has them: a number stays the id it is, a name becomes a UUID; ours is kept
beside it."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from qdrant_client import models

from propagation.ports.vector_index import Collection, Point

NAMES = uuid.UUID("6f6f2f0e-6d0b-5a53-9f0e-9f4b1f6f3c55")
NAMED = frozenset({Collection.ATTRIBUTES})
ATTRIBUTES, VERSION, NAME = "attributes", "version", "name"


def id_of(key: int | str) -> int | str:
    """7 and "7" stay two."""
    return key if isinstance(key, int) else str(uuid.uuid5(NAMES, key))


def key_of(id_: int | str | uuid.UUID, payload: dict[str, object] | None) -> int | str:
    """Ours, from an id and a payload that holds the name where there is one."""
    return id_ if isinstance(id_, int) else str((payload or {})[NAME])


def newest(points: Sequence[Point]) -> list[Point]:
    """One a key: of several in a call the newest version, and of equal ones the later."""
    kept: dict[int | str, Point] = {}
    for point in points:
        other = kept.get(point.key)
        if other is None or point.version >= other.version:
            kept[point.key] = point
    return list(kept.values())


def upserts(points: Sequence[Point]) -> list[models.UpdateOperation]:
    """One operation for each version among these points: each writes where nothing newer is stored."""
    by_version: dict[int, list[models.PointStruct]] = defaultdict(list)
    for point in newest(points):
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
