"""One stream of events on both deployments: the same profiles, tables, numbers and recommendations."""

import numpy as np
import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model.client import ClientChange, ClientKey, ClientKind
from propagation.model.interaction import NewInteraction
from propagation.workflow.checkpointing import snapshot
from propagation.workflow.engine import Engine
from propagation.workflow.recommend import Wish
from propagation.workflow.replay import replay
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.clock import SystemClock
from tests.neo4j_server.shared import server_for

pytestmark = pytest.mark.neo4j
GENRES = ("jazz", "opera", "folk", "punk", "soul", "ska")


def catalogue(items):
    return [ClientChange(key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"), title=f"Record {n}",
                         categories=(GENRES[n % 6], GENRES[(n // 6) % 6])) for n in range(items)]


def stream(events, users, items):
    """Users of a genre each, who stray now and then."""
    draw = np.random.default_rng(11)
    for n in range(events):
        user = int(draw.integers(users))
        genre = user % 6 if draw.random() < 0.8 else int(draw.integers(6))
        item = int(draw.integers(items // 6)) * 6 + genre
        yield NewInteraction(event_id=f"e{n}", user_id=f"u{user}", item_id=f"i{item}", time=n, content_hash=f"e{n}")


def stores(folder):
    return {"laptop": SqliteStore(folder / "graph.db", SystemClock()), "neo4j": Neo4jStore(server_for(folder).settings)}


async def outcome_of(store, points, events, users, items, workflow):
    """Every text, message, edge, number and list that a replay left."""
    engine = Engine(store, HashedEmbedder(workflow.seed), NumpyIndex(points), OfflineReasoner(), workflow, "test")
    await engine.open()
    try:
        report = await replay(engine, catalogue(items), stream(events, users, items), step=128)
        assert await store.check() == []
        refs = sorted(await store.text_versions())
        lists = [(await engine.recommender.recommend(Wish(f"u{n}", 10))).items for n in range(users)]
        return {"report": report, "texts": await store.load_texts(refs), "edges": await store.edges_of(refs),
                "messages": await store.router_versions(range(workflow.taste.k)), "attributes": await store.all_attributes(),
                "epochs": await store.epochs(), "lists": lists,
                "numbers": {name: array.tobytes() for name, array in snapshot(engine.numbers.view, barrier=False).arrays.items()}}
    finally:
        await engine.close()


async def same_on_both(folder, events, users, items, workflow):
    outcomes = {}
    for name, store in stores(folder).items():
        kept = SqliteStore(folder / f"points-{name}.db", SystemClock())
        await kept.open()
        outcomes[name] = await outcome_of(store, SqlitePoints(kept.database), events, users, items, workflow)
        await kept.close()
    assert outcomes["laptop"]["report"].rounds > 2
    assert any(line.author == "reception" for text in outcomes["laptop"]["texts"].values() for line in text.profile.lines)
    for part, expected in outcomes["laptop"].items():
        assert outcomes["neo4j"][part] == expected, part


@pytest.mark.parametrize("policy", ["adoption", "semantic"])
async def test_five_hundred_events(tmp_path, policy):
    await same_on_both(tmp_path, 500, 25, 60, WorkflowSettings(
        policy=policy, session=BankSettings(k=4), taste=BankSettings(k=6), table_edges=2, update_size=20, bootstrap_items=60,
        auto_create=True))


@pytest.mark.slow
async def test_many_events(tmp_path):
    """Issue: 5,000 of ML-100k. Neo4j reasons too slowly for that on a test machine yet."""
    await same_on_both(tmp_path, 1_500, 100, 600, WorkflowSettings(auto_create=True))
