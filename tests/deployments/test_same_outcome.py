"""One stream of events on both deployments: the same profiles, tables, numbers and
recommendations."""

import os
from pathlib import Path

import numpy as np
import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.datasets.load import load_dataset
from propagation.model import ClientChange, ClientKey, ClientKind, NewInteraction
from propagation.workflow.compose import compose
from propagation.workflow.learn.checkpoints import take_checkpoint
from propagation.workflow.read.recommend import RecommendRequest
from propagation.workflow.replay import replay
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.cli.research.datasets import check_events
from services.runtime.process import SystemClock
from tests.neo4j_server.shared import get_server

pytestmark = pytest.mark.neo4j
ML100K = Path(
    os.environ.get("ML100K") or Path(__file__).parents[3] / "shared" / "datasets" / "ml-100k"
)
SEED, EVENTS, LISTS = 7, 3_000, 100
GENRES = ("jazz", "opera", "folk", "punk", "soul", "ska")


def build_catalogue(items):
    return [
        ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
            title=f"Record {n}",
            categories=(GENRES[n % 6], GENRES[(n // 6) % 6]),
        )
        for n in range(items)
    ]


def draw_events(events, users, items):
    """Users of a genre each, who stray now and then."""
    draw = np.random.default_rng(11)
    for n in range(events):
        user = int(draw.integers(users))
        genre = user % 6 if draw.random() < 0.8 else int(draw.integers(6))
        item = int(draw.integers(items // 6)) * 6 + genre
        yield NewInteraction(
            event_id=f"e{n}", user_id=f"u{user}", item_id=f"i{item}", time=n, content_hash=f"e{n}"
        )


def make_stores(folder):
    return {
        "laptop": SqliteStore(folder / "graph.db", SystemClock()),
        "neo4j": Neo4jStore(get_server(folder).settings),
    }


async def replay_and_read(store, points, clients, events, workflow):
    """Every text, message, edge, number and list that a replay left."""
    engine = compose(
        store,
        HashedEmbedder(workflow.seed),
        NumpyIndex(points),
        OfflineReasoner(),
        workflow,
        "test",
    )
    await engine.open()
    try:
        report = await replay(engine, clients, iter(events), step=128)
        assert await store.check() == []
        refs = sorted(await store.get_text_versions())
        users = sorted({event.user_id for event in events})[:LISTS]
        lists = [
            (await engine.recommender.recommend(RecommendRequest(user, 10))).items for user in users
        ]
        return {
            "report": report,
            "texts": await store.load_texts(refs),
            "edges": await store.get_edges(refs),
            "messages": await store.get_router_versions(range(workflow.taste.k)),
            "attributes": await store.get_all_attributes(),
            "epochs": await store.get_epochs(),
            "lists": lists,
            "numbers": {
                name: array.tobytes()
                for name, array in take_checkpoint(
                    engine.numbers.view, barrier=False
                ).arrays.items()
            },
        }
    finally:
        await engine.close()


async def assert_same_on_both(folder, clients, events, workflow):
    outcomes = {}
    for name, store in make_stores(folder).items():
        kept = SqliteStore(folder / f"points-{name}.db", SystemClock())
        await kept.open()
        outcomes[name] = await replay_and_read(
            store, SqlitePoints(kept.database), clients, events, workflow
        )
        await kept.close()
    assert outcomes["laptop"]["report"].rounds > 2
    assert any(
        line.author == "reception"
        for text in outcomes["laptop"]["texts"].values()
        for line in text.profile.lines
    )
    for name, outcome in outcomes.items():
        for part, expected in outcomes["laptop"].items():
            assert outcome[part] == expected, f"{part} of {name}"


@pytest.mark.parametrize("policy", ["adoption", "semantic"])
async def test_five_hundred_events(tmp_path, policy):
    await assert_same_on_both(
        tmp_path,
        build_catalogue(60),
        list(draw_events(500, 25, 60)),
        WorkflowSettings(
            policy=policy,
            session=BankSettings(k=4),
            taste=BankSettings(k=6),
            table_edges=2,
            update_size=20,
            bootstrap_items=60,
            auto_create=True,
        ),
    )


@pytest.mark.slow
async def test_many_events(tmp_path):
    await assert_same_on_both(
        tmp_path,
        build_catalogue(600),
        list(draw_events(1_500, 100, 600)),
        WorkflowSettings(auto_create=True),
    )


@pytest.mark.slow
async def test_the_first_of_movielens(tmp_path):
    if not (ML100K / "u.data").exists():
        pytest.skip(f"MovieLens 100k is not in {ML100K}; ML100K names its folder")
    dataset = load_dataset(ML100K, SEED).first(EVENTS)
    await assert_same_on_both(
        tmp_path,
        list(dataset.clients),
        list(check_events(dataset.events)),
        WorkflowSettings(auto_create=True),
    )
