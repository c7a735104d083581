"""A process of its own drafts what the loop would: the same texts, whatever happens to it."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.model import AddLine, Author, ClientText, Line, PropagationError, StoreCorrupt
from propagation.numbers import mix_seed
from propagation.optimization.prediction import choose_word
from propagation.ports import Collection
from propagation.workflow.reason.interaction import list_clients_of_all
from propagation.workflow.settings import WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings
from services.reasoning import process_drafter as drafter_module
from tests.unit.workflow.small_database import (
    SMALL,
    create_clients,
    event,
    read_texts,
    record_history,
)

WORDS = st.integers(0, (1 << 64) - 1)


def make_engine(folder: Path, where: str):
    return build_engine(
        Settings(
            database=folder / f"{where}.db", reasoning_in=where, workflow=WorkflowSettings(**SMALL)
        )
    )


@pytest.fixture
async def engine(tmp_path):
    made = make_engine(tmp_path, "process")
    await made.open()
    await create_clients(made)
    yield made
    await made.close()


async def push(engine, first, count):
    await engine.record([event(first + n, n % 12, (5 * n + first) % 24) for n in range(count)])
    while await engine.learn():
        pass


async def is_all_reasoned(engine):
    through = await engine.store.get_recorded_through()
    await engine.drain()
    return (
        await engine.store.get_reasoned_through() >= through
        and await engine.store.get_dead_letters(10) == []
    )


@settings(deadline=None)  # the kernel is loaded on its first call
@given(WORDS, WORDS)
def test_the_order_of_candidates_is_drawn_from_the_same_words_as_everything_else(value, seed):
    assert choose_word(value, seed) == int(mix_seed(np.uint64(value), np.uint64(seed)))


@pytest.mark.slow
def test_the_process_needs_no_compiler():
    seen = (
        "import sys, services.reasoning.child_process; print([name for name in ('numba', "
        "'grpc', 'neo4j') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", seen], text=True).strip() == "[]"


async def test_the_same_texts_messages_and_vectors_as_on_the_loop(tmp_path):
    found = []
    for where in ("loop", "process"):
        engine = make_engine(tmp_path, where)
        await engine.open()
        await create_clients(engine)
        await record_history(engine, 3, 90)
        assert isinstance(engine.reasoning.drafting, drafter_module.ProcessDrafter) == (
            where == "process"
        )
        versions = await engine.store.get_router_versions(range(8))
        users = await engine.index.get_vectors(
            Collection.USERS, sorted(await engine.index.get_versions(Collection.USERS))
        )
        gradients = await engine.store.get_gradients("router", None, 0, 1_000)
        found.append(
            (
                await read_texts(engine),
                versions,
                {key: vector.tolist() for key, vector in users.items()},
                gradients,
                engine.numbers.view.state.user_profile[:12].tolist(),
            )
        )
        await engine.close()
    assert found[0] == found[1]
    assert any(
        line.author is Author.RECEPTION
        for text in found[0][0].values()
        for line in text.profile.lines
    )


@pytest.mark.slow
async def test_a_process_that_is_killed_is_started_again_and_its_claim_redone(engine):
    await push(engine, 100, 30)
    await engine.reason(limit=10)
    os.kill(engine.reasoning.drafting._process.pid, signal.SIGKILL)
    with pytest.raises(PropagationError, match="exit code -9"):
        await engine.reason()
    assert await is_all_reasoned(engine)


@pytest.mark.slow
async def test_a_process_that_is_stopped_is_given_up(engine):
    await push(engine, 100, 30)
    await engine.reason(limit=10)
    engine.reasoning.drafting.part_timeout = 0.3
    os.kill(engine.reasoning.drafting._process.pid, signal.SIGSTOP)
    with pytest.raises(PropagationError, match="sent nothing"):
        await engine.reason()
    engine.reasoning.drafting.part_timeout = 60
    assert await is_all_reasoned(engine)


@pytest.mark.slow
async def test_a_stop_does_not_wait_for_a_process_that_hangs(engine, monkeypatch):
    monkeypatch.setattr(drafter_module, "CLOSING_SECONDS", 0.2)
    await push(engine, 100, 30)
    await engine.reason(limit=10)
    pid = engine.reasoning.drafting._process.pid
    os.kill(pid, signal.SIGSTOP)
    reasoning = asyncio.create_task(engine.reason())
    await asyncio.sleep(0.1)
    engine.reasoning.drafting.shorten_wait()
    with pytest.raises(PropagationError, match="sent nothing"):
        await reasoning
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_text_that_somebody_else_wrote_meanwhile_is_gone_on_with(engine):
    await push(engine, 100, 12)
    await engine.drain()
    ref = min(ref for ref in await engine.store.get_text_versions() if ref % 2 == 0)
    text = (await engine.store.load_texts([ref]))[ref]
    line = Line(
        id=0,
        text="Written elsewhere.",
        attributes=("jazz",),
        weight=1.0,
        author=Author.CATALOGUE,
        sources=(),
    )
    edited = ClientText(
        profile=text.profile.apply_edits([AddLine(line=line)], 12),
        filter_memory=text.filter_memory,
        watermark=text.watermark,
        dropped=text.dropped,
    )
    await engine.store.commit_texts([edited], (), await engine.store.get_recorded_through())
    await push(engine, 200, 24)
    assert await is_all_reasoned(engine)
    assert "Written elsewhere." in str((await engine.store.load_texts([ref]))[ref].profile.lines)


@pytest.mark.slow
async def test_a_claim_that_is_given_up_half_way_leaves_nothing_of_it(engine):
    await push(engine, 100, 40)
    claim = await engine.store.claim_reason(engine.leases.holder, 40, 60_000)
    drafting = engine.reasoning.drafting
    parts = drafting.draft(claim.work, 10.0, lambda: True)
    await anext(parts)
    await parts.aclose()
    drafting.forget(list_clients_of_all(claim.work))
    await engine.store.commit_reasoned(claim, ())
    before = await read_texts(engine)
    assert not any(
        source.sequence
        for text in before.values()
        for line in text.profile.lines
        for source in line.sources
    )
    assert await is_all_reasoned(engine)


@pytest.mark.slow
async def test_a_cancelled_reader_leaves_the_answer_whole(engine):
    await push(engine, 100, 40)
    await engine.reason(limit=1)
    for seconds in (0, 0.001, 0.01, 0.03):
        claim = await engine.store.claim_reason(engine.leases.holder, 30, 60_000)
        parts = engine.reasoning.drafting.draft(claim.work, 10.0, lambda: True)
        reading = asyncio.create_task(anext(parts))
        await asyncio.sleep(seconds)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await parts.aclose()
        engine.reasoning.drafting.forget(list_clients_of_all(claim.work))
        await engine.store.commit_reasoned(claim, ())
    assert await is_all_reasoned(engine)


async def test_enough_ends_a_claim_with_the_part_it_is_at_and_nothing_is_lost(engine):
    await stop_claim_early(engine)


async def test_enough_is_enough_on_the_loop_too(tmp_path):
    engine = make_engine(tmp_path, "loop")
    await engine.open()
    try:
        await create_clients(engine)
        await stop_claim_early(engine)
    finally:
        await engine.close()


async def stop_claim_early(engine):
    await push(engine, 100, 400)
    await engine.reason(limit=1)
    claiming = asyncio.create_task(engine.reason(limit=300))
    while not claiming.done():
        engine.reasoning.drafting.stop_early()
        await asyncio.sleep(0.001)
    assert 0 < await claiming < 300
    assert engine.reasoning.committed is None
    assert await is_all_reasoned(engine)


@pytest.mark.slow
async def test_what_a_claim_under_way_has_stored_is_shown_to_whoever_asks(engine, monkeypatch):
    await push(engine, 100, 400)
    await engine.reason(limit=1)
    stored, shown = set(), set()
    expect, show = engine.vectors.note_committed, engine.vectors.publish_committed

    async def publish_and_note(texts):
        await show(texts)
        shown.update((text.ref, text.version) for text in texts)

    monkeypatch.setattr(
        engine.vectors,
        "note_committed",
        lambda texts: (stored.update((text.ref, text.version) for text in texts), expect(texts)),
    )
    monkeypatch.setattr(engine.vectors, "publish_committed", publish_and_note)
    claiming = asyncio.create_task(engine.reason(limit=390, shown=False))
    while not engine.reasoning.committed:  # noqa: ASYNC110 - another process drafts
        await asyncio.sleep(0.001)
    newest = dict(sorted(stored))
    await engine.reasoning.wait_for_views()
    assert newest
    published = dict(sorted(shown))
    assert all(published.get(ref, -1) >= version for ref, version in newest.items())
    assert await claiming == 390


@pytest.mark.slow
async def test_who_leaves_while_texts_are_being_shown_takes_nothing_along(engine, monkeypatch):
    await push(engine, 100, 60)
    may, show = asyncio.Event(), engine.vectors.publish_committed

    async def publish_later(texts):
        await may.wait()
        await show(texts)

    assert await engine.reason(limit=1)
    monkeypatch.setattr(engine.vectors, "publish_committed", publish_later)
    assert await engine.reason(limit=20, shown=False)
    waiting = asyncio.create_task(engine.reasoning.wait_for_views())
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    may.set()
    await engine.reasoning.wait_for_views()
    assert await is_all_reasoned(engine)
    assert await engine.store.check() == []


@pytest.mark.slow
async def test_signals_to_the_group_leave_it_to_the_service_to_end(engine):
    await push(engine, 100, 30)
    await engine.reason(limit=10)
    pid = engine.reasoning.drafting._process.pid
    for sent in (signal.SIGINT, signal.SIGTERM):
        os.kill(pid, sent)
    await engine.drain()
    assert engine.reasoning.drafting._process.pid == pid
    await engine.reasoning.drafting.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.slow
async def test_what_is_wrong_with_the_file_is_told_as_here(engine, monkeypatch):
    await push(engine, 100, 10)
    await engine.reason(limit=5)
    drafting = engine.reasoning.drafting
    broken = drafting.begin.database.with_name("broken.db")
    broken.write_bytes(b"not a database" * 1_000)
    await drafting.close()
    monkeypatch.setattr(drafting, "begin", type(drafting.begin)(broken, drafting.begin.workflow))
    with pytest.raises(StoreCorrupt, match=r"broken\.db"):
        await engine.reason()
