"""The evolution port: one publication, maps and reports that come back, and what it makes void."""

from dataclasses import replace

import numpy as np
import pytest

from propagation.model import (
    Checkpoint,
    ClientText,
    EntryKind,
    Epoch,
    FilterMemory,
    LeaseLost,
    Module,
)
from propagation.ports import Collection, VersionClash
from tests.contract.evolutions import (
    REPORT,
    acquire_leases,
    rules,
    stage_publication,
)
from tests.contract.graph_store import (
    checkpoint,
    gradient,
    item,
    learn_all,
    list_edges_at,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
)

ANN, BOB = user(0), user(1)


@pytest.fixture
async def learned_store(store):
    """A store in which two events are learned and one is reasoned."""
    await record_pairs(store, ("u0", "i0"), ("u1", "i1"))
    await learn_all(store)
    return store


def assert_same_map(one, other):
    assert (
        one.through,
        one.from_epoch,
        one.to_epoch,
        one.routers,
        one.retired,
        one.start_shares,
        one.versions,
        one.undoes,
    ) == (
        other.through,
        other.from_epoch,
        other.to_epoch,
        other.routers,
        other.retired,
        other.start_shares,
        other.versions,
        other.undoes,
    )
    np.testing.assert_array_equal(one.home, other.home, strict=True)
    np.testing.assert_array_equal(one.centres, other.centres, strict=True)
    assert one.halves.keys() == other.halves.keys()
    for router, halves in one.halves.items():
        np.testing.assert_array_equal(halves.in_second, other.halves[router].in_second, strict=True)
        assert replace(halves, in_second=None) == replace(other.halves[router], in_second=None)


async def test_everything_goes_live_at_one_sequence_and_comes_back(learned_store, reopen):
    before = await learned_store.get_recorded_through()
    learn, rounds, made = await stage_publication(learned_store, text(ANN, 1))
    run = await learned_store.publish_evolution(learn, rounds, made)
    assert (run.run, run.sequence, run.epoch, run.published) == (1, before + 1, 1, True), (
        "the run has the next sequence"
    )
    store = await reopen()
    (entry,) = (await store.read_log(before, 9)).entries
    assert (entry.kind, entry.sequence, entry.number) == (EntryKind.EVOLUTION, run.sequence, 1), (
        "the log names the run"
    )
    assert await store.get_current_epoch() == made.epoch.model_copy(
        update={"sequence": run.sequence}
    ), "the epoch is current"
    assert (await store.get_last_round()).sequence == run.sequence, "its rows count as a round"
    assert (await store.get_newest_checkpoint(barrier=True)).epoch == 1, (
        "its checkpoint is a barrier"
    )
    assert [
        (found.router, found.from_sequence)
        for found in await list_edges_at(store, ANN, run.sequence)
    ] == [(4, run.sequence)], "its edges begin with it"
    assert [version.text for version in await store.get_router_versions([4])] == ["more jazz"], (
        "the new router speaks"
    )
    assert [
        (change.key, change.version)
        for change in await store.get_pending_changes(0, 99)
        if change.collection == Collection.USERS
    ] == [(ANN, 1)], "the index is to be updated"
    assert (await store.load_texts([ANN]))[ANN].profile.lines[0].text == "likes jazz", (
        "the rewritten text is read"
    )
    assert (await store.get_text_at(ANN, run.sequence)).profile.version == 1, (
        "and is of this sequence"
    )
    assert await store.get_text_at(ANN, before) is None, (
        "a text is of its publication, not of what was learned until then"
    )
    assert await store.get_evolution_runs(9) == [run], "the run is listed"
    assert [
        (step.run, step.before, step.after, step.kind) for step in await store.get_router_lineage()
    ] == [(1, 1, 1, "split"), (1, 1, 4, "split"), (1, 2, 2, "merge"), (1, 3, 2, "merge")], (
        "its changes are the lineage"
    )
    (kept,) = (await store.get_router_maps()).maps
    assert_same_map(kept, replace(made.map, run=1))
    assert not [problem for problem in await store.check() if "published" in problem]


async def test_a_barrier_is_staged_in_two_parts_and_discarded_by_another(learned_store):
    learn, rounds, made = await stage_publication(learned_store)
    more = Checkpoint(
        sequence=made.start.sequence + 1,
        epoch=1,
        barrier=True,
        arrays={"mass@rows": np.array([2, 5])},
    )
    both = await learned_store.stage_checkpoint(learn, more, made.start)
    assert (both.id, both.sequence) == (made.start.id, made.start.sequence + 1)
    await learned_store.stage_checkpoint(learn, checkpoint(1))
    with pytest.raises(LeaseLost):
        await learned_store.stage_checkpoint(learn, replace(more, arrays={}), both)
    with pytest.raises(LeaseLost):
        await learned_store.publish_evolution(learn, rounds, made)
    first = await learned_store.stage_checkpoint(learn, checkpoint(2, barrier=True, epoch=1))
    more = Checkpoint(
        sequence=made.start.sequence, epoch=1, barrier=True, arrays={"mass@rows": np.array([2, 5])}
    )
    await learned_store.publish_evolution(
        learn, rounds, replace(made, start=await learned_store.stage_checkpoint(learn, more, first))
    )
    kept = await learned_store.get_newest_checkpoint(barrier=True)
    assert (kept.sequence, kept.arrays["mass@rows"].tolist()) == (made.start.sequence, [2, 5])
    assert kept.arrays.keys() == {"mass@rows", *checkpoint(2).arrays}


async def test_a_lost_lease_or_an_overtaken_text_changes_nothing(learned_store, clock):
    await learned_store.commit_texts([text(BOB, 1)], [], 1)
    learn, rounds, made = await stage_publication(learned_store, text(BOB, 1, "another's"))
    with pytest.raises(VersionClash):
        await learned_store.publish_evolution(learn, rounds, made)
    learn, rounds, made = await stage_publication(learned_store)
    clock.ms += 60_001
    await learned_store.acquire_lease("round", "other", 1_000)
    with pytest.raises(LeaseLost):
        await learned_store.publish_evolution(learn, rounds, made)
    assert (
        await learned_store.get_current_epoch(),
        await learned_store.get_last_round(),
        await learned_store.get_evolution_runs(9),
    ) == (None, None, [])
    assert (await learned_store.get_router_maps()).maps == []
    assert await learned_store.get_newest_checkpoint() is None


async def test_a_round_begun_before_it_is_run_again(learned_store):
    learn, rounds, made = await stage_publication(learned_store)
    theirs = await run_round(learned_store, publish=False)
    await learned_store.publish_evolution(learn, rounds, made)
    with pytest.raises(LeaseLost):
        await learned_store.publish_round(rounds, theirs)


async def test_a_claim_held_meanwhile_is_void_and_its_work_is_free_again(learned_store):
    claim = await learned_store.claim_reason("worker", 9, 60_000)
    learn, rounds, made = await stage_publication(learned_store)
    await learned_store.publish_evolution(learn, rounds, made)
    with pytest.raises(LeaseLost):
        await learned_store.commit_reasoned(
            claim, [reasoned_interaction(work.sequence) for work in claim.work]
        )
    again = await learned_store.claim_reason("worker", 9, 60_000)
    assert [work.sequence for work in again.work] == [work.sequence for work in claim.work]


async def test_runs_are_numbered_and_listed_newest_first(learned_store):
    refused = await learned_store.save_evolution(REPORT)
    assert (refused.run, refused.sequence, refused.published) == (1, 0, False)
    learn, rounds, made = await stage_publication(learned_store)
    published = await learned_store.publish_evolution(learn, rounds, made)
    assert refused.time <= published.time
    assert await learned_store.get_evolution_runs(9) == [published, refused]
    assert await learned_store.get_evolution_runs(1) == [published]
    assert await learned_store.get_evolution_runs(9, before=2) == [refused]
    assert {step.run for step in await learned_store.get_router_lineage()} == {2}


async def test_maps_are_those_since_the_newest_bootstrap(learned_store):
    learn, rounds, made = await stage_publication(learned_store)
    await learned_store.publish_evolution(learn, rounds, made)
    learn, rounds, made = await stage_publication(learned_store, number=2, undoes=1)
    await learned_store.publish_evolution(learn, rounds, made)
    assert [(one.run, one.undoes) for one in (await learned_store.get_router_maps()).maps] == [
        (1, None),
        (2, 1),
    ]
    await learned_store.open_epoch(
        learn,
        Epoch(number=3, sequence=0, session_k=4, taste_k=4, era=3),
        checkpoint(3, barrier=True, epoch=3),
    )
    assert (await learned_store.get_router_maps()).maps == []
    assert len(await learned_store.get_router_lineage()) == 8


async def test_clients_whose_current_rules_name_a_router(learned_store):
    await learned_store.commit_texts(
        [
            replace(text(ANN, 1), filter_memory=rules(3, 12)),
            replace(text(BOB, 1), filter_memory=rules(1)),
            replace(text(item(0), 1, '"router":2'), filter_memory=FilterMemory()),
        ],
        [],
        1,
    )
    assert await learned_store.get_clients_with_rules([1, 2]) == [BOB]
    assert await learned_store.get_clients_with_rules([12, 1, 9]) == [ANN, BOB]
    await learned_store.commit_texts([ClientText(profile=text(ANN, 2).profile)], [], 2)
    assert await learned_store.get_clients_with_rules([12]) == []


async def test_a_gradient_keeps_the_epoch_it_speaks_of(learned_store):
    claim = await learned_store.claim_reason("worker", 1, 60_000)
    said = replace(gradient(claim.work[0].sequence, 3), epoch=4)
    await learned_store.commit_reasoned(
        claim, [reasoned_interaction(claim.work[0].sequence, gradients=(said,))]
    )
    assert await learned_store.get_gradients(Module.ROUTER, None, 0, 9) == [said]


async def test_only_the_newest_barrier_stays(learned_store):
    learn, _ = await acquire_leases(learned_store)
    for sequence in (1, 2):
        await learned_store.save_checkpoint(learn, checkpoint(sequence, barrier=True))
    await learned_store.save_checkpoint(learn, checkpoint(3))
    assert (await learned_store.get_newest_checkpoint(barrier=True)).sequence == 2
    assert (await learned_store.get_newest_checkpoint()).sequence == 3
