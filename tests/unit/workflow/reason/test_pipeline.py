"""Stage 1 with a slow reasoner.

Interactions run concurrently, in order where it matters, and none is lost.
"""

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from random import Random

import pytest

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    AddLine,
    ClientChange,
    ClientKey,
    ClientKind,
    LeaseLost,
    Line,
    NewInteraction,
    ReasonerUnavailable,
    ReplaceLine,
)
from propagation.ports import BackwardAnswer, OptimizeAnswer
from propagation.workflow.compose import compose
from propagation.workflow.reason.pipeline import count_successes
from propagation.workflow.replay import replay
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.runtime.process import SystemClock

STYLES = ("opera", "jazz", "folk", "dub")
SETTINGS = WorkflowSettings(
    session=BankSettings(k=4),
    taste=BankSettings(k=4),
    table_edges=2,
    auto_create=True,
    bootstrap_items=8,
    update_size=6,
    reason_backoff=0,
)
TABLES = (
    (
        "SELECT ref, version, sequence, next_id, body, watermark, dropped FROM profile_version"
        " ORDER BY 1, 2"
    ),
    (
        "SELECT sequence, module, owner, writer, reward, text, attributes FROM gradient ORDER BY 1,"
        " 2, 3"
    ),
    "SELECT router, version, round, name, text, attributes FROM router_version ORDER BY 1, 2",
    "SELECT sequence, user, reward FROM reasoned ORDER BY 1",
)


class Slow(OfflineReasoner):
    """Answers after a random pause, so that answers change their order."""

    def __init__(self, width, seed=1):
        super().__init__()
        self.concurrency = width
        self.running = self.most = 0
        self.down = False
        self._random = Random(seed)

    async def forward(self, *asked):
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.concurrency > 1:
                await asyncio.sleep(self._random.uniform(0, 0.01))
            if self.down:
                raise ReasonerUnavailable("the endpoint is down")
            return await super().forward(*asked)
        finally:
            self.running -= 1


class Keeper(Slow):
    """Notes for how many interactions it keeps room, and for how many at each question."""

    def __init__(self):
        super().__init__(4)
        self.kept = 0
        self.changes = []
        self.at_questions = []

    def keep_for(self, interactions):
        self.kept = interactions
        self.changes.append(interactions)

    async def forward(self, *asked):
        self.at_questions.append((self.kept, self.running + 1))
        return await super().forward(*asked)


class Scribe(Slow):
    """Writes into the item that two interactions share.

    Args:
        same_line: Both write the same line; otherwise each adds a line.
    """

    def __init__(self, *, same_line):
        super().__init__(8)
        self.same_line = same_line
        self.calls = 0

    async def backward(self, work, reward, user, positive, negative):
        self.calls += 1
        await asyncio.sleep(0.05)
        edits = [AddLine(line=Line(id=0, text=f"Chosen in {work.sequence}.", weight=5.0))]
        if self.same_line and positive.profile.lines:
            first = positive.profile.lines[0]
            edits = [
                ReplaceLine(
                    line=Line(id=first.id, text=f"{first.text} {work.sequence}", weight=9.0)
                )
            ]
        parts = [OptimizeAnswer(()), OptimizeAnswer(edits)]
        return BackwardAnswer((), parts if negative is None else [*parts, OptimizeAnswer(())])


@asynccontextmanager
async def open_engine(folder, reasoner, settings=SETTINGS):
    store = SqliteStore(folder / "graph.db", SystemClock())
    engine = compose(
        store,
        HashedEmbedder(settings.seed),
        NumpyIndex(SqlitePoints(store.database)),
        reasoner,
        settings,
        "test",
    )
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


def items(count=12):
    return [
        ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
            title=f"Record {n}",
            categories=(STYLES[n % 4],),
        )
        for n in range(count)
    ]


def events(count=60, seed=3):
    random = Random(seed)
    return [
        NewInteraction(
            event_id=f"e{n}",
            user_id=f"u{random.randrange(8)}",
            item_id=f"i{random.randrange(12)}",
            time=n,
            content_hash=f"e{n}",
        )
        for n in range(count)
    ]


def read_tables(path):
    with closing(sqlite3.connect(path)) as connection:
        return [connection.execute(query).fetchall() for query in TABLES]


async def test_in_a_replay_the_order_of_completion_changes_nothing(tmp_path):
    found = []
    for reasoner in (Slow(1), Slow(8)):
        folder = tmp_path / str(reasoner.concurrency)
        folder.mkdir()
        async with open_engine(folder, reasoner) as engine:
            await replay(engine, items(), events(30), step=15)
        found.append(read_tables(folder / "graph.db"))
        assert (reasoner.most > 1) == (reasoner.concurrency > 1)
    assert all(found[0])
    assert found[1] == found[0]


async def test_live_everything_is_reasoned_once_and_a_users_in_order(tmp_path):
    reasoner = Slow(8)
    async with open_engine(tmp_path, reasoner) as engine:
        await engine.upsert_clients(items())
        await engine.record(events())
        await engine.drain()
        assert await engine.store.get_dead_letters(10) == []
    assert 1 < reasoner.most <= 8
    versions, gradients, _, reasoned = read_tables(tmp_path / "graph.db")
    assert len(reasoned) == 60
    assert len({(row[0], row[1], row[2]) for row in gradients}) == len(gradients), "nothing twice"
    users = {}
    for ref, _, sequence, *_ in versions:
        users.setdefault(ref, []).append(sequence)
    assert all(found == sorted(found) for ref, found in users.items() if ref % 2 == ClientKind.USER)


async def share_item(tmp_path, reasoner):
    """Let two users choose one item at once.

    Returns:
        (the item's profile, how often work was redone).
    """
    async with open_engine(
        tmp_path,
        reasoner,
        SETTINGS.model_copy(update={"bootstrap_items": 1_000, "update_size": 1_000}),
    ) as engine:
        await engine.upsert_clients(items(1))
        await engine.record(
            [
                NewInteraction(event_id=name, user_id=name, item_id="i0", time=0, content_hash=name)
                for name in ("ann", "bob")
            ]
        )
        await engine.drain()
        [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.ITEM, id="i0")])
        return (await engine.store.load_texts([ref]))[ref].profile, engine.reasoning.pipeline.redone


async def test_edits_of_different_lines_need_no_second_call(tmp_path):
    reasoner = Scribe(same_line=False)
    profile, redone = await share_item(tmp_path, reasoner)
    assert sum(line.text.startswith("Chosen in") for line in profile.lines) == 2
    assert (redone, reasoner.calls) == (0, 2)


async def test_a_clash_on_one_line_is_redone_and_counted(tmp_path):
    reasoner = Scribe(same_line=True)
    profile, redone = await share_item(tmp_path, reasoner)
    written = max(profile.lines, key=lambda line: line.weight).text.split()
    assert len([word for word in written if word.isdigit()]) >= 2, (
        "the second was written on top of the first"
    )
    assert (redone, reasoner.calls) == (1, 3)


async def test_while_nobody_answers_the_work_waits_and_is_no_dead_letter(tmp_path):
    reasoner = Slow(4)
    async with open_engine(tmp_path, reasoner) as engine:
        await engine.upsert_clients(items())
        await engine.drain()
        reasoner.down = True
        await engine.record(events(12))
        await engine.learn()
        for _ in range(3):
            with pytest.raises(ReasonerUnavailable):
                await engine.drain()
        reasoner.down = False
        await engine.reasoning.pipeline.settle()
        await engine.drain()
        assert await engine.store.get_dead_letters(10) == []
    assert len(read_tables(tmp_path / "graph.db")[3]) == 12


async def test_a_failure_beside_a_success_is_logged(caplog):
    async def succeed():
        pass

    async def fail():
        raise ValueError("no such line")

    done = {asyncio.create_task(succeed()), asyncio.create_task(fail())}
    await asyncio.wait(done)
    assert count_successes(done) == 1
    assert "no such line" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 4])
async def test_a_claim_is_held_for_as_long_as_a_model_takes_and_not_after_its_process_died(
    tmp_path, width
):
    reasoner = Slow(width)
    answer, answered, others = reasoner.forward, asyncio.Event(), []

    async def answer_later(*asked):
        await answered.wait()
        return await answer(*asked)

    async with open_engine(tmp_path, reasoner) as engine:
        engine.leases.seconds = 0.3
        await engine.upsert_clients(items())
        await engine.drain()
        reasoner.forward = answer_later
        await engine.record(events(4))
        await engine.learn()
        reasoning = asyncio.create_task(engine.drain())
        for _ in range(10):
            await asyncio.sleep(0.1)
            others.append(await engine.store.claim_reason("another", 1, 1_000))
        answered.set()
        await reasoning
        assert others == [None] * 10
        await engine.record(
            [replace(event, event_id=f"again {n}") for n, event in enumerate(events(4))]
        )
        await engine.learn()
        dead = await engine.store.claim_reason("dead", 4, engine.leases.ttl_ms)
        await asyncio.sleep(0.3)
        assert await engine.store.claim_reason("another", 4, 1_000) is not None
        with pytest.raises(LeaseLost):
            await engine.store.commit_reasoned(dead, ())


async def test_closing_in_the_middle_is_as_if_it_had_not_begun(tmp_path):
    async with open_engine(tmp_path, Scribe(same_line=False)) as engine:
        await engine.upsert_clients(items())
        await engine.drain()
        await engine.record(events(12))
        await engine.learn()
        await engine.reason()
    async with open_engine(tmp_path, Slow(4)) as engine:
        await engine.drain()
    _, gradients, _, reasoned = read_tables(tmp_path / "graph.db")
    assert len(reasoned) == 12
    assert len({(row[0], row[1], row[2]) for row in gradients}) == len(gradients)


@pytest.mark.parametrize("users", [1, 3, 8])
async def test_the_reasoner_keeps_room_while_interactions_are_under_way_or_follow(tmp_path, users):
    """Between two interactions of one user nothing is under way for a moment."""
    reasoner = Keeper()
    async with open_engine(tmp_path, reasoner) as engine:
        await engine.upsert_clients(items())
        await engine.drain()
        recorded = [
            replace(event, user_id=f"u{n % users}") for n, event in enumerate(events(12 * users))
        ]
        await engine.record(recorded)
        reasoner.changes.clear()
        await engine.drain()
    assert all(kept >= running for kept, running in reasoner.at_questions)
    assert reasoner.changes[-1] == 0
    assert 0 not in reasoner.changes[:-1], "they are reasoned one after another"
    # One that has ended may be counted together with its successor for a moment.
    assert min(users, 4) <= max(reasoner.changes) <= min(users + 1, 4)
