"""Exact search that returns every result."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient, models

from propagation.adapters.qdrant.points import NAME, NAMED, key_of
from propagation.ports import Collection, Hit

FIRST_LIMIT = 1_024
EXACT = models.SearchParams(exact=True)


async def all_above(
    client: AsyncQdrantClient,
    alias: str,
    collection: Collection,
    vector: NDArray[np.float32],
    tau: float,
    matching: models.Filter | None,
) -> list[Hit]:
    """Find every point with a cosine above tau, compared in 32 bits.

    An answer as long as its limit may have been cut. Then all points that could match are counted,
    and the search is repeated with room for them.
    """
    bound, limit = np.float32(tau), FIRST_LIMIT
    below = float(np.nextafter(bound, np.float32(-np.inf)))
    while True:
        hits = await _search(client, alias, collection, vector, limit, below, matching)
        if len(hits) < limit:
            return [hit for hit in hits if np.float32(hit.score) > bound]
        limit = max(
            2 * limit, (await client.count(alias, matching, exact=True)).count + FIRST_LIMIT
        )


async def nearest(
    client: AsyncQdrantClient,
    alias: str,
    collection: Collection,
    vector: NDArray[np.float32],
    limit: int,
) -> list[Hit]:
    """Find the nearest points.

    Of points with equal scores at the last place the server returns any. Then all points with this
    score are read, to take the first ones by key.
    """
    if limit < 1:
        return []
    hits = await _search(client, alias, collection, vector, limit + 1, None, None)
    if len(hits) > limit and hits[limit - 1].score == hits[limit].score:
        below = float(np.nextafter(np.float32(hits[limit].score), np.float32(-np.inf)))
        hits = await all_above(client, alias, collection, vector, below, None)
    return hits[:limit]


async def _search(
    client: AsyncQdrantClient,
    alias: str,
    collection: Collection,
    vector: NDArray[np.float32],
    limit: int,
    threshold: float | None,
    matching: models.Filter | None,
) -> list[Hit]:
    """Search once and order by (-score, key), because the server orders ties arbitrarily."""
    answer = await client.query_points(
        alias,
        query=vector.tolist(),
        query_filter=matching,
        search_params=EXACT,
        limit=limit,
        score_threshold=threshold,
        with_payload=[NAME] if collection in NAMED else False,
    )
    return _ordered(answer.points)


def _ordered(points: Sequence[models.ScoredPoint]) -> list[Hit]:
    hits = [
        Hit(key=key_of(point.id, point.payload), score=min(max(point.score, -1.0), 1.0))
        for point in points
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.key))
