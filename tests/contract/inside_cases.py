"""Cases that reach into a store.

The tests of each adapter run these cases with the inside of their own store.
"""

from dataclasses import replace

import numpy as np

from propagation.adapters.shared import checkpoint_pieces
from propagation.model import FilterMemory, FilterRule, MessageMerge
from tests.contract.graph.test_graph_erasure import acquire_learn_lease, erasure, record_history
from tests.contract.graph_store import (
    checkpoint,
    edge,
    gradient,
    learn_all,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
    withdraw,
)

ANN, BOB = user(0), user(1)
UPSERTS = (
    {"title": "Ann"},
    {"description": "sings"},
    {"attributes": ("jazz",)},
    {"categories": ("choir",)},
    {"metadata": {"a": "b"}},
    {"hidden": True},
    {},
)
"""What an upsert may say of a client; the last one only names it."""


async def fill_store(store):
    """Fill a store with rows of many kinds.

    It gets texts and a filter rule of Ann, edges, two messages of a router (Ann merged the first),
    learned blocks and a checkpoint.
    """
    first = await record_pairs(store, ("u0", "i0"), ("u1", "i0"))
    await learn_all(store)
    last = await record_pairs(store, ("u0", "i1"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    merged = MessageMerge(ref=ANN, profile_version=1, router=3, router_version=1, outcome="merged")
    await run_round(store, versions=(message(3, 1, BOB),), opened=(edge(3, ANN), edge(4, BOB)))
    rule = FilterRule(1.5, "Welcome jazz.", router=3, evidence=(first[0],), age=first[0])
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(
                first[0],
                text(ANN, 1, "likes jazz at night", cites=(3, 1)),
                merges=(merged,),
                gradients=(gradient(first[0], 3), gradient(first[0], 4)),
            ),
            reasoned_interaction(
                last[0], replace(text(ANN, 2), filter_memory=FilterMemory((rule,)))
            ),
        ],
    )
    await run_round(store, versions=(message(3, 2, BOB),), closed=((3, ANN),))
    lease = await store.acquire_lease("learn", "test", 10_000)
    await store.save_checkpoint(lease, checkpoint(await store.get_learned_through()))


async def assert_damage_is_found(store, damage, found):
    """Assert that the store's check reports a damage.

    Args:
        damage: An asynchronous function that damages the store.
        found: Words of the expected problem; `|` separates alternatives.
    """
    await fill_store(store)
    assert await store.check() == []
    await damage()
    problems = await store.check()
    assert any(words in problem for problem in problems for words in found.split("|")), problems


async def assert_other_part_sizes_are_read(reopen, monkeypatch):
    store = await reopen()
    lease = await store.acquire_lease("learn", "me", 10_000)
    monkeypatch.setattr(checkpoint_pieces, "PIECE_BYTES", checkpoint_pieces.PIECE_BYTES // 512)
    await store.save_checkpoint(lease, checkpoint(3, rows=3_000))
    monkeypatch.undo()
    newest = await (await reopen()).get_newest_checkpoint()
    for name, array in checkpoint(3, rows=3_000).arrays.items():
        np.testing.assert_array_equal(newest.arrays[name], array, strict=True)


async def assert_wiping_stays_due(store, monkeypatch):
    await record_history(store)
    await withdraw(
        store,
        await acquire_learn_lease(store),
        erasure(ANN, await store.get_interactions_of_clients([ANN])),
        checkpoint(3, barrier=True),
    )
    sweep = store.sweep

    async def withdraw_and_sweep():
        monkeypatch.setattr(store, "sweep", sweep)
        rows = await store.get_interactions_of_clients([BOB])
        await withdraw(
            store, await acquire_learn_lease(store), erasure(BOB, rows), checkpoint(3, barrier=True)
        )
        await sweep()

    monkeypatch.setattr(store, "sweep", withdraw_and_sweep)
    await store.wipe()
    assert await store.is_wiping_due()
    await store.wipe()
    assert not await store.is_wiping_due()
