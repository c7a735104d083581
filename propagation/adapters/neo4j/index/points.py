"""Points of the NumPy index, kept in the graph (see adapters/numpy/index.py).

Points are derived from texts and have their versions, so that a start embeds only texts that
changed.
"""

from collections.abc import Sequence

import numpy as np
import orjson

from propagation.adapters.neo4j.connection import StorePart, Transaction
from propagation.ports import Point

DESCRIPTION = "vector_index"


class Neo4jPoints(StorePart):
    """Stores points as nodes `(:Point)`.

    Keys are JSON, so that 7 and "7" differ. Several processes with the same embedder may share the
    points: the vector of a point follows from its version.
    """

    async def get_description(self) -> bytes | None:
        kept = await self._database.value("connection/load_fact", name=DESCRIPTION)
        return None if kept is None else bytes(kept)

    async def describe(self, description: bytes, shelves: Sequence[str]) -> None:
        async def work(transaction: Transaction) -> None:
            await transaction.execute(
                "index/points/delete_other_collections", shelves=list(shelves)
            )
            await transaction.execute("connection/store_fact", name=DESCRIPTION, value=description)

        await self._database.write(work)

    async def load_points(self, shelf: str) -> Sequence[Point]:
        points: list[Point] = []
        last = ""
        while rows := await self._database.table(
            "index/points/load_points", shelf=shelf, after=last, limit=5_000
        ):
            points += [
                Point(
                    key=orjson.loads(key),
                    version=version,
                    vector=np.frombuffer(bytes(vector), np.float32),
                    attributes=frozenset(attributes),
                )
                for _, key, version, vector, attributes in rows
            ]
            last = rows[-1][0]
        return points

    async def put_points(self, shelf: str, points: Sequence[Point]) -> None:
        rows = sorted(
            (
                [
                    _build_id(shelf, point.key),
                    orjson.dumps(point.key).decode(),
                    point.version,
                    point.vector.astype(np.float32).tobytes(),
                    sorted(point.attributes),
                ]
                for point in points
            ),
            key=lambda row: str(row[0]),
        )
        await self._database.execute("index/points/store_points", shelf=shelf, rows=rows)

    async def drop_points(self, shelf: str, keys: Sequence[int | str]) -> None:
        await self._database.execute(
            "index/points/delete_points", ids=sorted(_build_id(shelf, key) for key in keys)
        )


def _build_id(shelf: str, key: int | str) -> str:
    return f"{shelf}/{orjson.dumps(key).decode()}"
