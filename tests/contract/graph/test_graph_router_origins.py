"""What messages, filter rules and lines of earlier versions go back to, on every store."""

from dataclasses import replace

import pytest

from propagation.model import Epoch, EvolutionKind, FilterRule, NotFound, Source, VersionTooOld
from propagation.workflow.history.router_origins import (
    EvolutionOrigin,
    RuleOrigin,
    find_evolution_origins,
    find_rule_origins,
)
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


async def test_a_rule_is_followed_back_to_the_routers_that_it_was_about(evolved_store):
    before = await evolved_store.get_recorded_through()
    split = await publish(evolved_store, 1, (SPLIT,))
    await run_round(evolved_store, versions=(message(2, 1, BOB),))
    merge = await publish(evolved_store, 2, (MERGE,))
    rules = [
        rule(4, before),
        rule(1, before),
        rule(2, before),
        rule(4, split.sequence),
        rule(2, merge.sequence),
        FilterRule(attribute="jazz", factor=0.4, text="Leave out jazz.", age=before),
    ]
    found = await find_rule_origins(evolved_store, rules)
    assert [one.routers for one in found] == [(1,), (), (2, 3), (), (), ()]
    assert not any(one.replaced for one in found)
    early = await find_rule_origins(evolved_store, rules, split.sequence)
    assert [one.routers for one in early] == [(1,), (), (), (), (), ()], "the merge came later"


async def test_a_rule_from_before_a_bootstrap_is_about_a_router_that_is_gone(evolved_store):
    split = await publish(evolved_store, 1, (SPLIT,))
    learn, _ = await acquire_leases(evolved_store)
    epoch = Epoch(number=2, sequence=0, session_k=4, taste_k=5, era=2)
    await evolved_store.open_epoch(learn, epoch, checkpoint(3, barrier=True, epoch=2))
    merge = await publish_after_bootstrap(evolved_store)
    rules = [rule(4, split.sequence - 1), rule(2, merge.sequence - 1)]
    assert await find_rule_origins(evolved_store, rules) == [
        RuleOrigin(replaced=True),
        RuleOrigin((2, 3)),
    ]


async def publish_after_bootstrap(store):
    report = REPORT.model_copy(update={"changes": (MERGE,)})
    return await store.publish_evolution(
        *await stage_publication(store, number=3, era=2, report=report)
    )


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
