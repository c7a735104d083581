"""Calls with few events share a commit, and each learns the outcomes of its own events."""

import asyncio
from contextlib import suppress

import pytest

from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    InvalidInput,
    NewInteraction,
    RecordStatus,
    StoreBusy,
    StoreUnreachable,
)
from propagation.workflow.record import FEW_EVENTS, Recorder
from propagation.workflow.views import PendingEvents
from services.runtime.process import SystemClock


class CountedStore:
    """A store that notes how many events each commit brings."""

    def __init__(self, store):
        self._store = store
        self.commits = []
        self.failure = None

    async def record(self, events, *, auto_create):
        self.commits.append(len(events))
        if self.failure is not None:
            await asyncio.sleep(0.02)
            raise self.failure
        return await self._store.record(events, auto_create=auto_create)


@pytest.fixture
async def store(tmp_path):
    real = SqliteStore(tmp_path / "graph.db", SystemClock())
    await real.open()
    yield CountedStore(real)
    await real.close()


@pytest.fixture
def recorder(store):
    return Recorder(store, PendingEvents(), auto_create=True)


def event(name, user="ann", item="aida", content="c"):
    return NewInteraction(event_id=name, user_id=user, item_id=item, time=0, content_hash=content)


async def test_calls_that_wait_share_the_next_commit(recorder, store):
    calls = [[event(f"{n}-{m}", user=f"u{n}") for m in range(n)] for n in range(1, 6)]
    answers = await asyncio.gather(*map(recorder.record, calls))
    assert [len(answer) for answer in answers] == [1, 2, 3, 4, 5]
    assert {one.status for answer in answers for one in answer} == {RecordStatus.ACCEPTED}
    sequences = [one.sequence for answer in answers for one in answer]
    assert sequences == list(range(sequences[0], sequences[0] + 15)), "in the order of the calls"
    assert store.commits == [15]


async def test_a_call_that_comes_during_a_commit_waits_for_the_next(recorder, store):
    first = asyncio.create_task(recorder.record([event("first")]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # its commit is under way
    assert store.commits == [1]
    later = await asyncio.gather(*(recorder.record([event(name)]) for name in ("a", "b", "c")))
    assert (await first)[0].sequence < later[0][0].sequence
    assert store.commits == [1, 3]


async def test_outcomes_are_those_of_each_event(recorder):
    same, other, again = await asyncio.gather(
        recorder.record([event("x")]),
        recorder.record([event("y"), event("x", content="changed")]),
        recorder.record([event("x"), event("z")]),
    )
    assert [one.status for one in same] == [RecordStatus.ACCEPTED]
    assert [one.status for one in other] == [RecordStatus.ACCEPTED, RecordStatus.CONFLICT]
    assert [one.status for one in again] == [RecordStatus.DUPLICATE, RecordStatus.ACCEPTED]
    assert again[0].sequence == same[0].sequence


async def test_an_event_that_the_store_refuses_fails_its_own_call_alone(recorder):
    good, bad, fine = await asyncio.gather(
        recorder.record([event("good")]),
        recorder.record([event("bad\0")]),
        recorder.record([event("fine")]),
        return_exceptions=True,
    )
    assert isinstance(bad, InvalidInput)
    assert {one.status for one in (*good, *fine)} == {RecordStatus.ACCEPTED}


async def test_a_failed_commit_fails_all_its_calls_and_not_the_next(recorder, store):
    store.failure = StoreBusy("the disk is full")
    answers = await asyncio.gather(
        *(recorder.record([event(name)]) for name in "ab"), return_exceptions=True
    )
    assert [str(one) for one in answers] == ["the disk is full"] * 2
    store.failure = None
    assert (await recorder.record([event("a")]))[0].status == RecordStatus.ACCEPTED


async def test_no_call_waits_for_an_unreachable_store_twice(recorder, store):
    store.failure = StoreUnreachable("no answer within neo4j.retry_seconds")
    first = asyncio.create_task(recorder.record([event("first")]))
    await asyncio.sleep(0)
    later = asyncio.create_task(recorder.record([event("later")]))
    answers = await asyncio.gather(first, later, return_exceptions=True)
    assert all(isinstance(one, StoreUnreachable) for one in answers)
    assert store.commits == [1], "the later call had no commit of its own"
    store.failure = None
    assert (await recorder.record([event("later")]))[0].status == RecordStatus.ACCEPTED


async def test_a_call_cancelled_before_its_commit_records_nothing(recorder, store):
    first = asyncio.create_task(recorder.record([event("first")]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gone = asyncio.create_task(recorder.record([event("gone")]))
    kept = asyncio.create_task(recorder.record([event("kept")]))
    await asyncio.sleep(0)
    gone.cancel()
    with suppress(asyncio.CancelledError):
        await gone
    await asyncio.gather(first, kept)
    assert (await recorder.record([event("gone")]))[0].status == RecordStatus.ACCEPTED
    assert store.commits == [1, 1, 1]


async def test_a_call_cancelled_during_its_commit_is_recorded_once(recorder):
    call = asyncio.create_task(recorder.record([event("sent")]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    await recorder.finish()
    assert (await recorder.record([event("sent")]))[0].status == RecordStatus.DUPLICATE


async def test_a_call_with_many_events_has_a_commit_of_its_own(recorder, store):
    many = [event(f"m{n}") for n in range(FEW_EVENTS + 1)]
    few = [[event(f"{n}-{m}") for m in range(FEW_EVENTS)] for n in range(11)]
    await asyncio.gather(recorder.record(many), *map(recorder.record, few))
    assert sorted(store.commits) == [FEW_EVENTS, FEW_EVENTS + 1, 10 * FEW_EVENTS]
