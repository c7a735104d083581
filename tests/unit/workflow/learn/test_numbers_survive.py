"""The numbers stay the same, bit for bit.

This holds after a restart, a rebuild and a failed commit, and beside another learner.
"""

import asyncio
from collections import Counter

import numpy as np
import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
    NewInteraction,
    StoreCorrupt,
    StoreFull,
)
from propagation.numbers import State
from propagation.numbers.rules import pack_combiner
from propagation.workflow.concurrency import Leases
from propagation.workflow.learn import learner as learning
from propagation.workflow.learn.checkpoints import (
    PROFILES,
    SCRATCH,
    restore_view,
    take_checkpoint,
)
from propagation.workflow.learn.learner import Learner
from propagation.workflow.learn.rebuild import rebuild, rebuild_view
from propagation.workflow.views import NumbersOwner, NumbersView, draw_seeded_directions
from services.runtime.process import SystemClock
from tests.unit.workflow.learn.comparison import find_differing_arrays

SEED, K, USERS, ITEMS = 7, 6, 20, 40
ONE_BY_ONE = 200


class Process:
    """The learner of one process, which a test may drop unclosed."""

    def __init__(self, store, holder="me"):
        self.store, self.embedder = store, HashedEmbedder(SEED)
        self.numbers = NumbersOwner(self.create_first_view())
        self.learner = Learner(store, self.numbers, self.embedder, Leases(store, holder, 10), self)

    def create_first_view(self):
        dimension = self.embedder.dimension
        return NumbersView(
            draw_seeded_directions(K, dimension, 1),
            draw_seeded_directions(K, dimension, 2),
            SEED,
            epoch=0,
        )

    async def follow_epoch(self, number):
        """Do nothing: the embedder needs no fitting here."""

    @property
    def state(self):
        return self.numbers.view.state

    async def learn(self):
        while await self.learner.step():
            pass


@pytest.fixture
async def store(tmp_path):
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    await store.open()
    yield store
    saving = asyncio.all_tasks() - {asyncio.current_task()}  # saves of processes that crashed
    await asyncio.gather(*saving, return_exceptions=True)
    await store.close()


async def push(store, seed, count=400):
    """Upsert all items, and record interactions of drawn users and items.

    Each seed gives other titles and hides other items. Some interactions are repeats.
    """
    draw = np.random.default_rng(seed)
    words = [("jazz", "opera", "rock")[n % 3] + f" {n * seed % 7}" for n in range(ITEMS)]
    await store.upsert_clients(
        [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"), title=word, hidden=n % 11 == seed
            )
            for n, word in enumerate(words)
        ]
    )
    await store.record(
        [
            NewInteraction(
                event_id=f"{seed}-{n}",
                user_id=f"u{draw.integers(USERS)}",
                item_id=f"i{draw.integers(ITEMS)}",
                time=n,
                weight=float(draw.choice([1, 1, 0.3])),
                content_hash="c",
            )
            for n in range(count)
        ],
        auto_create=True,
    )


async def set_profiles(process, seed):
    """Set profile vectors, as reasoning does between two steps of learning."""
    draw, dimension = np.random.default_rng(seed), process.embedder.dimension
    process.numbers.view.set_profiles(
        range(2 * ITEMS), draw.standard_normal((2 * ITEMS, dimension)).astype(np.float32) / 8
    )


async def learn_batches(store, monkeypatch, every=300):
    """Return a process that has learned three batches.

    Profile vectors changed after each batch.

    Args:
        every: Interactions from one checkpoint to the next.
    """
    monkeypatch.setattr(learning, "CHECKPOINT_EVERY", every)
    process = Process(store)
    await process.learner.open()
    for seed in (1, 2, 3):
        await push(store, seed)
        await process.learn()
        await set_profiles(process, seed)
    return process


def test_a_checkpoint_holds_every_array_or_knows_why_not():
    view = NumbersView(
        draw_seeded_directions(K, 4, 1), draw_seeded_directions(K, 4, 2), SEED, epoch=0
    )
    kept = {name.split(".")[0] for name in take_checkpoint(view, barrier=False).arrays}
    assert set(State._fields) <= kept | {
        *SCRATCH,
        "seen_set",
        *PROFILES,
        "neighbour",
        "together",
        "today",
        "limits",
        "seed",
    }


async def test_a_checkpoint_that_lacks_an_array_is_named(store):
    process = Process(store)
    await process.learner.open()
    await push(store, 1)
    await process.learn()
    found = take_checkpoint(process.numbers.view, barrier=False)
    found.arrays.pop("user_content")
    with pytest.raises(
        StoreCorrupt,
        match=f"sequence {found.sequence} lacks user_content",
    ):
        restore_view(found, SEED)


async def test_a_checkpoint_and_back_is_the_same(store, monkeypatch):
    process = await learn_batches(store, monkeypatch)
    view = process.numbers.view
    again = restore_view(take_checkpoint(view, barrier=False), SEED)
    assert find_differing_arrays(view.state, again.state) == []
    assert np.array_equal(
        np.sort(view.state.seen_set), np.sort(again.state.seen_set[: len(view.state.seen_set)])
    )
    assert len(take_checkpoint(view, barrier=False).arrays["adoptions"]) == ITEMS


async def test_a_process_that_starts_finds_the_numbers_of_the_one_that_crashed(store, monkeypatch):
    crashed = await learn_batches(store, monkeypatch)
    await crashed.learner.close()
    assert await store.get_newest_checkpoint() is not None
    started = Process(store, "next")
    await started.learner.open()
    assert find_differing_arrays(crashed.state, started.state) == []
    assert started.numbers.view.applied_through == await store.get_learned_through()


async def test_a_rebuild_equals_the_live_numbers(store, monkeypatch):
    process = await learn_batches(store, monkeypatch, every=10**9)
    view = await rebuild_view(store, process.embedder, process.create_first_view())
    assert find_differing_arrays(process.state, view.state) == []
    assert (
        pack_combiner(view.combiner).tobytes()
        == pack_combiner(process.numbers.view.combiner).tobytes()
    )


async def test_a_rebuild_starts_at_the_newest_barrier(store, monkeypatch):
    process = await learn_batches(store, monkeypatch)
    await process.learner.close()
    lease = await store.acquire_lease("learn", "me", 10_000)
    await store.save_checkpoint(lease, take_checkpoint(process.numbers.view, barrier=True))
    await push(store, 4)
    await process.learn()
    await process.learner.close()
    operator = Leases(store, "operator", 10)
    assert (
        await rebuild(store, process.embedder, process.create_first_view(), operator)
        == await store.get_learned_through()
    )
    started = Process(store, "next")
    await started.learner.open()
    assert find_differing_arrays(process.state, started.state) == []


async def test_mass_is_the_sum_of_what_was_stored(store, monkeypatch):
    process = await learn_batches(store, monkeypatch)
    state, written = process.state, np.zeros(K)
    for block in await store.read_learned(0, 10_000):
        np.add.at(
            written, block.routers[:, 1].ravel(), block.weights[:, 1].ravel().astype(np.float64)
        )
    start = 0.2 * ITEMS
    assert written.sum() + start == pytest.approx(float(state.taste.total.sum()), rel=1e-5)


async def test_a_process_without_the_lease_follows(store, monkeypatch):
    other = Process(store, "other")
    await other.learner.open()
    process = await learn_batches(store, monkeypatch)
    await process.learner.close()
    held = await store.acquire_lease("learn", "me", 60_000)
    assert await other.learner.step() == 0
    assert find_differing_arrays(process.state, other.state) == []
    await store.release_lease(held)
    await push(store, 4)
    await other.learn()
    await process.learn()
    assert find_differing_arrays(process.state, other.state) == []


async def test_a_commit_that_fails_leaves_no_number_behind(store, monkeypatch):
    process = await learn_batches(store, monkeypatch)
    await push(store, 4)

    async def raise_full(lease, block):
        raise StoreFull("no space")

    with monkeypatch.context() as broken:
        broken.setattr(store, "commit_learned", raise_full)
        with pytest.raises(StoreFull):
            await process.learner.step()
    await process.learn()
    view = await rebuild_view(store, process.embedder, process.create_first_view())
    assert find_differing_arrays(process.state, view.state) == []


async def test_events_that_came_one_by_one_are_read_together_at_the_start(store):
    """With a read for each event's block, a start took minutes."""
    live, reads = Process(store), Counter()
    for number in range(ONE_BY_ONE):
        event = NewInteraction(f"single-{number}", f"u{number % 5}", f"i{number % 7}", 1, "same")
        await store.record([event], auto_create=True)
        await live.learn()
    assert len(await store.read_learned(0, 2 * ONE_BY_ONE)) >= ONE_BY_ONE

    class Counting:
        def __getattr__(self, name):
            reads[name] += 1
            return getattr(store, name)

    started = Process(Counting())
    await started.learner.open()
    assert find_differing_arrays(started.state, live.state) == []
    assert reads["read_log"] + reads["read_learned"] < ONE_BY_ONE / 10
