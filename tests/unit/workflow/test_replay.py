"""Two replays of one stream leave the same texts, tables and numbers."""

import numpy as np
import pytest

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ClientChange, ClientKey, ClientKind, NewInteraction, RecordStatus
from propagation.workflow.compose import compose
from propagation.workflow.learn.checkpoints import take_checkpoint
from propagation.workflow.replay import replay
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.runtime.process import SystemClock

GENRES = ("jazz", "opera", "folk", "punk")
USERS, ITEMS, EVENTS = 12, 40, 150


def build_catalogue():
    return [
        ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
            title=f"Record {n}",
            categories=(GENRES[n % 4], GENRES[(n // 4) % 4]),
        )
        for n in range(ITEMS)
    ]


def draw_events():
    draw = np.random.default_rng(11)
    for n in range(EVENTS):
        user = int(draw.integers(USERS))
        item = (int(draw.integers(ITEMS // 4)) * 4 + user) % ITEMS
        yield NewInteraction(
            event_id=f"e{n}", user_id=f"u{user}", item_id=f"i{item}", time=n, content_hash=f"e{n}"
        )


def make_engine(path):
    settings = WorkflowSettings(
        session=BankSettings(k=4),
        taste=BankSettings(k=6),
        table_edges=2,
        update_size=8,
        auto_create=True,
    )
    store = SqliteStore(path, SystemClock())
    return compose(
        store,
        HashedEmbedder(settings.seed),
        NumpyIndex(SqlitePoints(store.database)),
        OfflineReasoner(),
        settings,
        "test",
    )


async def replay_and_read(path, step):
    """Replay a stream, and return the resulting state.

    Returns:
        (report, texts, edges, router versions, numbers).
    """
    engine = make_engine(path)
    await engine.open()
    try:
        report = await replay(engine, build_catalogue(), draw_events(), step=step)
        refs = [n << 1 | kind for n in range(ITEMS) for kind in (0, 1)]
        texts = await engine.store.load_texts(refs)
        edges = await engine.store.get_edges(refs)
        versions = await engine.store.get_router_versions(range(6))
        numbers = take_checkpoint(engine.numbers.view, barrier=False).arrays
        return report, texts, edges, versions, numbers
    finally:
        await engine.close()


async def test_two_replays_are_bit_equal(tmp_path):
    first = await replay_and_read(tmp_path / "first.db", 32)
    second = await replay_and_read(tmp_path / "second.db", 32)
    assert first[0] == second[0]
    assert first[0].rounds > 2
    assert first[1:4] == second[1:4]
    assert any(
        line.author == "reception" for text in first[1].values() for line in text.profile.lines
    )
    assert first[4].keys() == second[4].keys()
    for name, array in first[4].items():
        assert array.tobytes() == second[4][name].tobytes(), name


async def test_progress_is_reported_and_a_second_replay_adds_nothing(tmp_path):
    engine = make_engine(tmp_path / "graph.db")
    await engine.open()
    try:
        seen: list[int] = []
        report = await replay(
            engine, build_catalogue(), draw_events(), step=64, progress=seen.append
        )
        assert seen == [*range(64, EVENTS, 64), EVENTS]
        assert (report.clients, report.events) == (ITEMS, EVENTS)
        assert report.outcomes == {RecordStatus.ACCEPTED: EVENTS}
        again = await replay(engine, [], draw_events(), step=64)
        assert again.outcomes == {RecordStatus.DUPLICATE: EVENTS}
        assert again.rounds == 0
    finally:
        await engine.close()


async def test_a_step_below_one_is_refused(tmp_path):
    with pytest.raises(ValueError, match="step is 0"):
        await replay(make_engine(tmp_path / "graph.db"), [], [], step=0)
