"""Converts points to the server's structures, and back."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from qdrant_client import models

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


def newest_points(points: Sequence[Point]) -> list[Point]:
    """Keep one point per key: the newest version, and of equal versions the last."""
    kept: dict[int | str, Point] = {}
    for point in points:
        other = kept.get(point.key)
        if other is None or point.version >= other.version:
            kept[point.key] = point
    return list(kept.values())


def upsert_operations(points: Sequence[Point]) -> list[models.UpdateOperation]:
    """Build one operation for each version; it writes only where nothing newer is stored."""
    by_version: dict[int, list[models.PointStruct]] = defaultdict(list)
    for point in newest_points(points):
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
