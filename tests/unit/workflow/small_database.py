"""A small database with a history, and searches for words in it."""

import os
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import orjson
import pytest

from propagation.adapters.shared.text_bodies import decompress_body
from propagation.model import ClientChange, ClientKey, ClientKind, ClientText, NewInteraction
from propagation.ports import Collection
from propagation.workflow.engine import Engine
from propagation.workflow.learn.adoption_check import find_wrong_adoptions
from propagation.workflow.learn.rebuild import rebuild_view
from propagation.workflow.rounds.holder_check import find_wrong_holders
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings
from tests.neo4j_server.shared import get_server
from tests.unit.workflow.learn.comparison import find_differing_arrays

NODES = "MATCH (n:{0}) RETURN '{0}' AS kind, properties(n) AS held"
EDGES = "MATCH ()-[e]->() RETURN type(e) AS kind, properties(e) AS held"
"""Statements that read a whole graph, its nodes label by label.

One statement for all nodes takes two minutes; one for each label takes a second in all.
"""
STORES = ["sqlite", pytest.param("neo4j", marks=pytest.mark.neo4j)]
USERS, ITEMS = 12, 24
GENRES = ("jazz", "opera", "folk", "punk")
SMALL = {
    "session": BankSettings(k=4),
    "taste": BankSettings(k=4),
    "table_edges": 2,
    "update_size": 5,
    "auto_create": True,
}


def user_key(n: int) -> ClientKey:
    return ClientKey(kind=ClientKind.USER, id=f"person-{n:03}-ü")


def item_key(n: int) -> ClientKey:
    return ClientKey(kind=ClientKind.ITEM, id=f"record-{n:03}-é")


def build_title(n: int) -> str:
    return f"Quartet Nº {n * 7919} in the Rain"


def event(n: int, user: int, item: int, **fields: object) -> NewInteraction:
    return NewInteraction(
        **{
            "event_id": f"{user_key(user).id}/{n}/{item_key(item).id}",
            "user_id": user_key(user).id,
            "item_id": item_key(item).id,
            "time": n,
            "content_hash": f"c{n}",
            **fields,
        }
    )


def make_engine(folder: Path, store: str = "sqlite", **workflow: object) -> Engine:
    """Build an engine.

    Args:
        folder: The folder of the database; on Neo4j a new folder empties the server.
        store: "sqlite", or "neo4j" for the server that all tests of a run share.
    """
    server = {"neo4j": get_server(folder).settings} if store == "neo4j" else {}
    return build_engine(
        Settings(
            store=store,
            database=folder / "graph.db",
            reasoning_in="loop",
            workflow=WorkflowSettings(**{**SMALL, **workflow}),
            **server,
        )
    )


async def create_clients(engine: Engine) -> None:
    """Create and describe all items, and every third user.

    Every item has a title and a genre, and item 3 also has a word of its own. The users have a name
    and a genre.
    """
    items = [
        ClientChange(
            key=item_key(n),
            title=build_title(n),
            attributes=(GENRES[n % 4], *(("theremin 77",) if n == 3 else ())),
        )
        for n in range(ITEMS)
    ]
    users = [
        ClientChange(
            key=user_key(n), title=f"Dr. Longname the {n * 104729}th", attributes=(GENRES[n % 4],)
        )
        for n in range(0, USERS, 3)
    ]
    await engine.upsert_clients([*items, *users])
    await engine.drain()


@asynccontextmanager
async def open_engine(engine: Engine) -> AsyncIterator[Engine]:
    """Open an engine with the clients of `create_clients`."""
    await engine.open()
    await create_clients(engine)
    yield engine
    await engine.close()


async def record_history(engine: Engine, seed: int, count: int) -> list[NewInteraction]:
    """Record and process drawn events, with a round after every 30.

    Users mostly choose items of their genre. Some events have a negative; some repeat a choice.

    Args:
        seed: Decides the draws, and the numbers of the events (from 1,000 * seed on).
    """
    draw = np.random.default_rng(seed)
    events = []
    for n in range(count):
        user = int(draw.integers(USERS))
        item = (
            int(draw.integers(ITEMS // 4)) * 4 + user % 4
            if draw.random() < 0.8
            else int(draw.integers(ITEMS))
        )
        other = (
            item_key((item + 1 + int(draw.integers(ITEMS - 1))) % ITEMS).id
            if draw.random() < 0.3
            else None
        )
        events.append(
            event(
                1_000 * seed + n,
                user,
                item,
                negative_id=other,
                weight=float(draw.choice([1.0, 1.0, 0.5])),
            )
        )
    for start in range(0, count, 30):
        await engine.record(events[start : start + 30])
        await engine.drain()
        await engine.run_round()
    return events


async def read_texts(engine: Engine) -> dict[int, ClientText]:
    """Load the current text of every client that has one."""
    return await engine.store.load_texts(sorted(await engine.store.get_text_versions()))


async def assert_sound(engine: Engine) -> None:
    """Check that graph, numbers and index agree."""
    assert await engine.store.check() == []
    assert await find_wrong_holders(engine.store) == []
    assert await find_wrong_adoptions(engine.store) == []
    view = await rebuild_view(engine.store, engine.embedder, engine.data.create_first_view())
    assert find_differing_arrays(view.state, engine.numbers.view.state) == []
    assert await engine.index_maintenance.repair() == 0


async def find_strange_points(engine: Engine) -> list[str]:
    """Describe the points of the vector index that differ from the graph."""
    texts = await engine.store.load_texts(sorted(await engine.store.get_text_versions()))
    versions = await engine.store.get_router_versions(engine.vectors.routers)
    points = [
        *await engine.vectors.build_points_of_texts(texts.values()),
        *await engine.vectors.build_points_of_routers(versions),
    ]
    meant = (
        {int(point.key): point for point in points[: len(texts)]},
        {int(point.key): point for point in points[len(texts) :]},
    )
    found: list[str] = []
    for collection, wanted in (
        (Collection.USERS, meant[0]),
        (Collection.ITEMS, meant[0]),
        (Collection.ROUTERS, meant[1]),
    ):
        keys = list(await engine.index.get_versions(collection))
        for key, vector in (await engine.index.get_vectors(collection, keys)).items():
            if int(key) not in wanted:
                found += [f"{collection} {key} is no more"] * (
                    collection != Collection.ROUTERS
                )  # a router without a text has a point, too: its centre
            elif not np.allclose(vector, wanted[int(key)].vector, atol=1e-6):
                found.append(f"{collection} {key} is another")
    return found


def find_in_files(folder: Path, words: list[str]) -> list[str]:
    """Return the words in the bytes of the database or its log."""
    data = b"".join(
        (folder / name).read_bytes()
        for name in ("graph.db", "graph.db-wal")
        if os.path.exists(folder / name)
    )
    return [word for word in words if word.encode() in data]


def find_in_graph(folder: Path, words: list[str]) -> list[str]:
    """Return the words in properties of nodes and relationships, with places."""
    server = get_server(folder)
    labels = [label for (label,) in server.run("MATCH (n) UNWIND labels(n) AS l RETURN DISTINCT l")]
    held = defaultdict(list)
    for statement in (*map(NODES.format, labels), EDGES):
        for kind, properties in server.run(statement):
            for name, value in properties.items():
                plain = value if isinstance(value, bytes) else str(value).encode()
                held[f"{kind}.{name}"].append(plain)
    whole = {place: b"\n".join(values) for place, values in held.items()}
    return [
        f"{word} in {place}"
        for place, plain in whole.items()
        for word in words
        if word.encode() in plain
    ]


async def find_in_rows(engine: Engine, words: list[str]) -> list[str]:
    """Return the words in rows of tables, with places; at most nine.

    Profile versions are decompressed first.
    """

    def work(connection):
        found = []
        needles = {word: {word.encode(), orjson.dumps(word)[1:-1]} for word in words}
        for table in [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]:
            for row in connection.execute(f"SELECT * FROM {table}"):
                for value in row:
                    plain = _read_bytes(table, value)
                    found += [
                        f"{word} in {table}: {plain[:200]!r}"
                        for word, forms in needles.items()
                        if any(form in plain for form in forms)
                    ]
        return found[:9]

    return await engine.store.database.read(work)


def _read_bytes(table: str, value: object) -> bytes:
    if isinstance(value, bytes):
        return decompress_body(value) if table == "profile_version" else value
    return str(value).encode()
