"""What messages, filter rules and lines of earlier versions go back to, on every store."""

from dataclasses import replace

import pytest

from propagation.model import (
    EntryKind,
    Epoch,
    EvolutionKind,
    FilterMemory,
    FilterRule,
    NotFound,
    RouterEnd,
    Source,
    VersionTooOld,
)
from propagation.workflow.history import published_runs
from propagation.workflow.history.published_runs import PublishedRuns
from propagation.workflow.history.router_origins import EvolutionOrigin, find_evolution_origins
from propagation.workflow.history.trace import ProfileHop, Tracer
from tests.contract.evolutions import MERGE, REPORT, SPLIT, acquire_leases, stage_publication
from tests.contract.graph_store import (
    checkpoint,
    learn_all,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
)

ANN, BOB = user(0), user(1)


async def publish(store, number, changes, **fields):
    report = REPORT.model_copy(update={"changes": changes, **fields})
    return await store.publish_evolution(
        *await stage_publication(store, number=number, report=report)
    )


def rule(router, age):
    return FilterRule(router=router, factor=0.4, text=f"Leave out router {router}.", age=age)


@pytest.fixture
async def evolved_store(store):
    """A store with two learned events, and a round in which router 3 sent a message."""
    await record_pairs(store, ("u0", "i0"), ("u1", "i1"))
    await learn_all(store)
    await run_round(store, versions=(message(3, 1, BOB),))
    return store


async def test_a_message_that_an_evolution_wrote_has_it_as_its_origin(evolved_store):
    await evolved_store.save_evolution(REPORT)  # not published: it wrote nothing
    learn, rounds, made = await stage_publication(evolved_store, number=1)
    await evolved_store.stage_routers(rounds, made.round_, [message(2, 1), message(0, 1)])
    run = await evolved_store.publish_evolution(learn, rounds, made)
    keys = [(3, 1), (4, 1), (2, 1), (0, 1)]
    found = await find_evolution_origins(
        evolved_store, (await evolved_store.get_messages(keys, 9)).values()
    )
    origin = EvolutionOrigin(run.run, run.sequence, EvolutionKind.SPLIT, (1,), None)
    assert run.run == 2
    assert found == {
        (4, 1): origin,
        (2, 1): replace(origin, kind=EvolutionKind.MERGE, before=(2, 3)),
        (0, 1): replace(origin, kind=None, before=(0,)),
    }, "the message of the round has none, and router 0 was not changed"
    assert await find_evolution_origins(evolved_store, []) == {}


async def test_only_the_runs_that_wrote_the_messages_are_read(evolved_store, monkeypatch):
    run = await publish(evolved_store, 1, (SPLIT,))
    await run_round(evolved_store, versions=(message(2, 1, BOB),))
    await publish(evolved_store, 2, (MERGE,))
    asked, read = [], evolved_store.get_evolution_runs_at

    async def note(sequences):
        asked.extend(sequences)
        return await read(sequences)

    async def refuse(limit, before=None):
        raise AssertionError("the history of evolution is read")

    monkeypatch.setattr(evolved_store, "get_evolution_runs_at", note)
    monkeypatch.setattr(evolved_store, "get_evolution_runs", refuse)
    messages = (await evolved_store.get_messages([(3, 1), (4, 1), (2, 1)], 9)).values()
    assert list(await find_evolution_origins(evolved_store, messages)) == [(4, 1)]
    assert asked == [run.sequence], "the rounds' messages have senders"


async def test_runs_are_found_by_their_sequences(evolved_store):
    await evolved_store.save_evolution(REPORT)
    first = await publish(evolved_store, 1, (SPLIT,))
    await run_round(evolved_store, versions=(message(2, 1, BOB),))
    second = await publish(evolved_store, 2, (MERGE,))
    asked = [second.sequence, 0, first.sequence, second.sequence + 1]
    assert await evolved_store.get_evolution_runs_at(asked) == [first, second]
    assert await evolved_store.get_evolution_runs_at([]) == []


async def test_the_newest_bootstrap_is_found_now_and_in_the_past(evolved_store):
    assert await evolved_store.get_bootstrap_sequence() == 0
    learn, _ = await acquire_leases(evolved_store)

    async def open_epoch(number):
        epoch = Epoch(number=number, sequence=0, session_k=4, taste_k=5, era=number)
        start = checkpoint(3, barrier=True, epoch=number)
        return await evolved_store.open_epoch(learn, epoch, start)

    first = await open_epoch(1)
    report = REPORT.model_copy(update={"changes": (MERGE,)})
    run = await evolved_store.publish_evolution(
        *await stage_publication(evolved_store, number=2, era=1, report=report)
    )
    assert await evolved_store.get_bootstrap_sequence() == first < run.sequence
    learn, _ = await acquire_leases(evolved_store)
    second = await open_epoch(3)
    find = evolved_store.get_bootstrap_sequence
    assert [await find(at) for at in (first - 1, first, second - 1, second, None)] == [
        0,
        first,
        first,
        second,
        second,
    ]


async def test_published_runs_are_read_once(evolved_store, monkeypatch):
    reads, read = [], evolved_store.get_evolution_runs

    async def count(limit, before=None):
        found = await read(limit, before)
        reads.append(len(found))
        return found

    monkeypatch.setattr(evolved_store, "get_evolution_runs", count)
    monkeypatch.setattr(published_runs, "RUNS_A_READ", 2)
    runs = PublishedRuns(evolved_store)
    assert (await runs.load_succession()).runs == ()
    for _ in range(3):
        await evolved_store.save_evolution(REPORT)  # not published
    merged = await publish(evolved_store, 1, (MERGE,))
    kept = await runs.load_succession()
    assert kept.find_end(3, merged.sequence - 1) == RouterEnd(merged.sequence, merged.run, 2)
    assert reads == [0, 2, 2, 0]
    assert await runs.load_succession() == kept
    assert reads == [0, 2, 2, 0, 1], "only the newest is read again"
    await run_round(evolved_store, versions=(message(2, 1, BOB),))
    await publish(evolved_store, 2, (SPLIT,), undoes=merged.run)
    assert (await runs.load_succession()).find_undoing_run(merged.run) == merged.run + 1
    assert reads[5:] == [1, 2]
    learn, _ = await acquire_leases(evolved_store)
    epoch = Epoch(number=3, sequence=0, session_k=4, taste_k=5, era=3)
    bootstrap = await evolved_store.open_epoch(learn, epoch, checkpoint(3, barrier=True, epoch=3))
    after = await runs.load_succession()
    assert (after.bootstrap, after.runs) == (bootstrap, ())
    assert after.find_end(3, merged.sequence) == RouterEnd(bootstrap)
    assert (
        after.bootstrap_time
        == (await evolved_store.get_entries_before(bootstrap + 1, [EntryKind.BOOTSTRAP], 1))[0].time
    )


async def test_a_moved_rule_comes_back_with_the_number_that_it_began_with(evolved_store):
    moved = replace(rule(4, 1), first_router=2)
    version = replace(text(ANN, 1), filter_memory=FilterMemory((rule(3, 1), moved)))
    await evolved_store.commit_texts([version], [], 1)
    loaded = (await evolved_store.load_texts([ANN]))[ANN].filter_memory.rules
    assert loaded == (rule(3, 1), moved)
    assert await evolved_store.get_clients_with_rules([2]) == []
    assert await evolved_store.get_clients_with_rules([4]) == [ANN]


async def test_a_line_is_traced_at_the_version_that_had_it(store):
    sequences = await record_pairs(store, ("u0", "i0"), ("u0", "i1"), ("u0", "i2"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)

    def rest_on(version, words, sequence):
        made = text(ANN, version, words)
        (line,) = made.profile.lines
        lines = (replace(line, sources=(Source(sequence=sequence),)),)
        return replace(made, profile=replace(made.profile, lines=lines))

    texts = [rest_on(n, f"says {n}", sequence) for n, sequence in enumerate(sequences, 1)]
    await store.commit_reasoned(
        claim,
        [reasoned_interaction(at, one) for at, one in zip(sequences, texts, strict=True)],
    )
    tracer = Tracer(store, None)

    async def trace(version):
        profile = await tracer.read_profile(ANN, version)
        (line,) = profile.lines
        [(event, hop)] = [path async for path in tracer.trace_line(profile, line)]
        return event.sequence, hop

    for version, (sequence, one) in enumerate(zip(sequences, texts, strict=True), 1):
        hop = ProfileHop(ANN, version, one.profile.lines[0])
        assert await trace(version) == (sequence, hop)
    assert await trace(None) == await trace(3)
    for version in (0, 4):
        with pytest.raises(NotFound):
            await tracer.read_profile(ANN, version)
    while await store.prune(await store.get_recorded_through(), 99) is not None:
        pass
    with pytest.raises(VersionTooOld, match="version 1 of the profile is no longer kept"):
        await tracer.read_profile(ANN, 1)
    assert await trace(None) == await trace(3), "the current version stays"
