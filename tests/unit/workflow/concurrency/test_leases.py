"""Leases and claims are renewed while their work goes on.

The work may be slow. Leases and claims are free soon after it.
"""

import asyncio
from types import SimpleNamespace

import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
    NewInteraction,
    ReasonClaim,
    StoreUnreachable,
)
from propagation.workflow.concurrency import LEARN_LEASE, Leases
from propagation.workflow.learn.learner import Learner
from propagation.workflow.reason.pipeline import ClaimRenewal
from propagation.workflow.views import NumbersOwner, NumbersView, draw_seeded_directions
from services.runtime.process import SystemClock

SECONDS, SLOW = 0.7, 1.6


class SlowEmbedder(HashedEmbedder):
    async def embed(self, texts):
        await asyncio.sleep(SLOW)
        return await super().embed(texts)


@pytest.fixture
async def store(tmp_path):
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    await store.open()
    keys = [ClientKey(kind=ClientKind.ITEM, id=f"i{item}") for item in range(4)]
    await store.upsert_clients(
        [ClientChange(key=key, title=f"Item {key.id}", attributes=("a",)) for key in keys]
    )
    await store.record(
        [
            NewInteraction(
                event_id=f"e{key.id}", user_id="u", item_id=key.id, time=1, content_hash=key.id
            )
            for key in keys
        ],
        auto_create=True,
    )
    yield store
    await store.close()


@pytest.fixture
def learner(store):
    embedder = SlowEmbedder(7)

    view = NumbersView(
        draw_seeded_directions(6, embedder.dimension, 1),
        draw_seeded_directions(6, embedder.dimension, 2),
        7,
        epoch=0,
    )
    numbers = NumbersOwner(view)
    yield Learner(
        store,
        numbers,
        embedder,
        Leases(store, "slow", SECONDS),
        SimpleNamespace(create_first_view=lambda: view),
    )
    numbers.close()


async def is_acquired_by_another(store, work):
    """Tell whether another process got the lease before `work` was done."""
    other, got = Leases(store, "another", SECONDS), []
    while not work.done():
        got.append(await other.acquire(LEARN_LEASE))
        await asyncio.sleep(0.02)
    assert len(got) > SLOW / 0.1
    return any(got)


async def wait_until_held(store):
    while await store.get_lease_holder(LEARN_LEASE) is None:  # noqa: ASYNC110 - the lease is another task's
        await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_a_step_of_a_slow_embedder_is_not_taken_over(store, learner):
    await learner.open()
    step = asyncio.create_task(learner.step())
    await wait_until_held(store)
    assert not await is_acquired_by_another(store, step)
    assert await step > 0
    await asyncio.sleep(SECONDS)
    assert await Leases(store, "another", SECONDS).acquire(LEARN_LEASE), (
        "it is not prolonged any longer"
    )


@pytest.mark.slow
async def test_nor_is_who_catches_up_before_taking_something_back(store, learner):
    await learner.open()

    async def take_lease():
        async with learner.hold_lease() as lease:
            return lease

    learner._behind, catch_up = True, learner.catch_up

    async def catch_up_slowly():
        await asyncio.sleep(SLOW)
        await catch_up()

    learner.catch_up = catch_up_slowly
    settling = asyncio.create_task(take_lease())
    await wait_until_held(store)
    assert not await is_acquired_by_another(store, settling)
    assert (await settling).holder == "slow"


class Prolonged:
    """A store that notes the claims that are renewed.

    The first call fails, as if a claim had ended at this moment.
    """

    def __init__(self):
        self.calls, self.failing = [], 1

    async def renew_claims(self, tokens, ttl_ms):
        self.calls.append(list(tokens))
        if len(self.calls) <= self.failing:
            raise RuntimeError("EntityNotFound")


def claim(token):
    return ReasonClaim(token=token, worker="slow", work=())


async def test_a_claim_that_ended_meanwhile_does_not_keep_others_from_being_prolonged(caplog):
    store = Prolonged()
    claims = ClaimRenewal(store, Leases(store, "slow", 0.6))
    async with claims.keep_alive(claim(1)), claims.keep_alive(claim(2)):
        await asyncio.sleep(0.5)
    assert store.calls[:2] == [[1, 2], [1, 2]]
    [message] = caplog.messages
    assert "claim" in message
    assert message.endswith("EntityNotFound")


async def test_nobody_waits_for_claims_of_others():
    store = Prolonged()
    claims = ClaimRenewal(store, Leases(store, "slow", 600))
    late = [claims.keep_alive(claim(10 + token)) for token in range(5)]
    for token in range(5):
        async with asyncio.timeout(1), claims.keep_alive(claim(token)):
            begun = asyncio.create_task(late[token].__aenter__())
            await asyncio.sleep(0)
        await begun
    assert claims._tokens == {10, 11, 12, 13, 14}
    for one in late:
        await one.__aexit__(None, None, None)
    assert claims._renewal is None


async def test_a_lease_of_an_unreachable_store_is_left_to_expire(store):
    leases = Leases(store, "here", SECONDS)
    for error, holder in ((ValueError(), None), (StoreUnreachable("gone"), "here")):
        with pytest.raises(type(error)):
            async with leases.hold("learn"):
                raise error
        assert await store.get_lease_holder("learn") == holder
