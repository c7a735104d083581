"""Retention: what ended long ago goes, a part at a time; what lives, or is cited by what lives,
stays."""

from dataclasses import replace

from propagation.model import EntryKind, IntegratedAttribute, MessageMerge, Module, Withdrawal
from tests.contract.graph_store import (
    checkpoint,
    edge,
    gradient,
    item,
    learn_all,
    list_edges_at,
    list_merges,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
    withdraw,
)

ANN, BOB = user(0), user(1)


async def prune(store, before, limit=2):
    """Every part of one run; how many rows went."""
    total = 0
    while (dropped := await store.prune(before, limit)) is not None:
        assert dropped <= limit
        total += dropped
    return total


async def begin_to_prune(store, before):
    """The first row of a run."""
    while not (dropped := await store.prune(before, 1)):
        assert dropped == 0
    assert dropped == 1


async def record_versions(store):
    """Ann's three versions, two rounds of router 3, an edge that came and went, a gradient and a
    merge of each time."""
    sequences = (await record_pairs(store, *[("u0", "i0")] * 3, ("u1", "i0")))[:3]
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    merges = [
        MessageMerge(ref=ANN, profile_version=n, router=3, router_version=n, outcome="merged")
        for n in (1, 2)
    ]
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(
                sequences[0],
                text(ANN, 1, "first"),
                gradients=(gradient(sequences[0], 3),),
                merges=(merges[0],),
            ),
            reasoned_interaction(sequences[1], text(ANN, 2, "second"), merges=(merges[1],)),
            reasoned_interaction(
                sequences[2], text(ANN, 3, "third"), gradients=(gradient(sequences[2], 3),)
            ),
        ],
    )
    first = await run_round(
        store, versions=(message(3, 1, BOB),), opened=(edge(3, ANN), edge(4, ANN), edge(4, BOB))
    )
    second = await run_round(
        store, versions=(message(3, 2, BOB),), closed=((3, ANN),), opened=(edge(5, ANN),)
    )
    third = await run_round(store, closed=((5, ANN),))
    return sequences, (first.sequence, second.sequence, third.sequence)


async def test_what_ended_goes_and_what_lives_stays(store):
    sequences, _ = await record_versions(store)
    through = await store.get_recorded_through()
    assert await store.get_oldest_kept() == 0, "before, everything is kept"
    assert await prune(store, through) > 0, "something is dropped"
    assert await store.get_oldest_kept() == through, "the watermark moves"
    assert (await store.load_texts([ANN]))[ANN].profile.lines[0].text == "third", (
        "the current text stays"
    )
    assert await store.get_text_at(ANN, sequences[1]) is None, "an older text goes"
    assert (
        await store.get_router_version(3, 1),
        (await store.get_router_version(3, 2)).version,
    ) == (
        None,
        2,
    ), "of a router the newest version stays"
    assert [found.router for found in (await store.get_edges([ANN]))[ANN]] == [4], (
        "current edges stay"
    )
    assert await store.get_gradients(Module.ROUTER, 3, 0, 9) == [], "old gradients go"
    assert await list_merges(store, ANN) == [], "merges go"
    assert len(await store.get_interactions(sequences)) == 3, "interactions stay"
    assert (await store.read_learned(0, 9))[0].weights.any(), "learned weights stay"
    assert (await store.check(), await prune(store, through)) == ([], 0), (
        "sound, and nothing more to drop"
    )


async def test_nothing_younger_goes(store):
    sequences, (_, second, _) = await record_versions(store)
    await prune(store, sequences[1])
    assert (await store.get_text_at(ANN, sequences[1])).profile.lines[0].text == "second"
    assert [found.sequence for found in await store.get_gradients(Module.ROUTER, 3, 0, 9)] == [
        sequences[2]
    ]
    assert len(await list_edges_at(store, ANN, second - 1)) == 2
    assert await store.get_router_version(3, 1) is not None
    await prune(store, sequences[0])
    assert await store.get_oldest_kept() == sequences[1]


async def test_what_a_live_line_cites_stays(store):
    sequences, _ = await record_versions(store)
    await store.commit_texts(
        [text(BOB, 1, "brought it"), text(BOB, 2, "moved on")], [], sequences[0]
    )
    cites = MessageMerge(ref=ANN, profile_version=4, router=3, router_version=1, outcome="merged")
    await store.commit_texts([text(ANN, 4, "heard of it", cites=(3, 1))], [cites], sequences[2])
    await prune(store, await store.get_recorded_through())
    assert [part.ref for part in (await store.get_router_version(3, 1)).integrated] == [BOB]
    assert cites in await list_merges(store, ANN)
    assert (await store.get_text_at(BOB, sequences[0])).profile.version == 2


async def test_what_a_line_cited_at_the_oldest_sequence_stays_until_that_one_goes(store):
    sequences, _ = await record_versions(store)
    cites = MessageMerge(ref=ANN, profile_version=4, router=3, router_version=1, outcome="merged")
    await store.commit_texts([text(ANN, 4, "heard of it", cites=(3, 1))], [cites], sequences[2])
    before = await store.get_recorded_through()
    later = (await record_pairs(store, ("u1", "i0")))[0]
    await store.commit_texts([text(ANN, 5, "moved on")], [], later)
    await prune(store, before)
    assert (await store.get_text_at(ANN, before)).profile.version == 4
    assert [part.ref for part in (await store.get_router_version(3, 1)).integrated] == [BOB]
    await prune(store, await store.get_recorded_through())
    assert await store.get_router_version(3, 1) is None


async def test_what_was_merged_of_a_message_stays_while_it_was_merged_since(store):
    sequences, _ = await record_versions(store)
    merges = [
        MessageMerge(ref=BOB, profile_version=1, router=3, router_version=1, outcome="merged"),
        MessageMerge(ref=BOB, profile_version=2, router=3, router_version=1, outcome="merged"),
    ]
    await store.commit_texts([text(BOB, 1, "heard of it", cites=(3, 1))], merges[:1], sequences[0])
    before = await store.get_recorded_through()
    later = (await record_pairs(store, ("u1", "i0")))[0]
    await store.commit_texts([text(BOB, 2, "moved on")], merges[1:], later)
    await prune(store, before)
    assert {merge.profile_version for merge in await list_merges(store, BOB)} == {1, 2}


async def test_a_clients_first_edge_stays_so_that_it_is_not_new_again(store):
    await record_versions(store)
    await prune(store, await store.get_recorded_through())
    await run_round(store, versions=(message(9, 1, BOB),))
    await run_round(store, opened=(edge(9, BOB),))
    waiting = await store.get_waiting_messages({BOB: 0})
    assert [(found.router, found.version) for found in waiting[BOB]] == []


async def test_each_run_drops_the_edges_that_ended_since_the_last(store):
    await record_versions(store)
    await prune(store, await store.get_recorded_through())
    round_ = await run_round(store, opened=(edge(7, ANN),))
    await run_round(store, closed=((7, ANN), (4, ANN)))
    assert {found.router for found in await list_edges_at(store, ANN, round_.sequence)} == {4, 7}
    await record_pairs(store, ("u1", "i0"))
    await prune(store, await store.get_recorded_through())
    assert {found.router for found in await list_edges_at(store, ANN, round_.sequence)} == {4}


async def test_pruning_goes_on_after_a_restart(store, reopen):
    await record_versions(store)
    through = await store.get_recorded_through()
    await begin_to_prune(store, through)
    store = await reopen()
    assert await prune(store, through) > 0
    assert (await store.load_texts([ANN]))[ANN].profile.lines[0].text == "third"


async def test_a_message_that_is_merged_while_it_is_dropped_stays(store):
    await record_versions(store)
    through = await store.get_recorded_through()
    await begin_to_prune(store, through)
    late = (await record_pairs(store, ("u1", "i0")))[0]
    cites = MessageMerge(ref=BOB, profile_version=1, router=3, router_version=1, outcome="merged")
    await store.commit_texts([text(BOB, 1, "heard of it late", cites=(3, 1))], [cites], late)
    await prune(store, through)
    assert [part.ref for part in (await store.get_router_version(3, 1)).integrated] == [BOB]


async def test_a_text_goes_with_the_last_message_that_holds_a_part_of_it(store):
    sequences, _ = await record_versions(store)
    await store.commit_texts(
        [text(BOB, 1, "brought it"), text(BOB, 2, "moved on")], [], sequences[0]
    )
    cites = MessageMerge(ref=ANN, profile_version=4, router=3, router_version=1, outcome="merged")
    await store.commit_texts([text(ANN, 4, "heard of it", cites=(3, 1))], [cites], sequences[2])
    await run_round(store, versions=(message(3, 3, ANN),))
    await prune(store, await store.get_recorded_through())
    assert (await store.get_texts_of_versions([(BOB, 1), (BOB, 2)])).keys() == {(BOB, 1), (BOB, 2)}
    later = (await record_pairs(store, ("u1", "i0")))[0]
    await store.commit_texts([text(ANN, 5, "moved on")], [], later)
    await prune(store, await store.get_recorded_through())
    assert await store.get_router_version(3, 1) is None
    assert (await store.get_texts_of_versions([(BOB, 1), (BOB, 2)])).keys() == {(BOB, 2)}
    assert await store.check() == []


async def test_a_text_goes_whose_only_part_was_taken_back(store):
    sequences, _ = await record_versions(store)
    (row,) = await store.get_interactions(sequences[:1])
    await store.commit_texts(
        [text(item(0), 1, "brought it"), text(item(0), 2, "moved on")], [], row.sequence
    )
    part = IntegratedAttribute(
        attribute="jazz", ref=item(0), profile_version=1, sequence=row.sequence
    )
    await run_round(store, versions=(replace(message(5, 1), integrated=(part,)),))
    await prune(store, await store.get_recorded_through())
    lease = await store.acquire_lease("learn", "test", 10_000)
    await withdraw(
        store,
        lease,
        Withdrawal(
            kind=EntryKind.RETRACTION,
            refs=(ANN,),
            interactions=[row],
            reduced_messages={(5, 1): frozenset()},
        ),
        checkpoint(3, barrier=True),
    )
    await record_pairs(store, ("u1", "i0"))
    await prune(store, await store.get_recorded_through())
    assert (await store.get_texts_of_versions([(item(0), 1), (item(0), 2)])).keys() == {
        (item(0), 2)
    }


async def test_a_message_is_gone_as_soon_as_something_of_it_is(store, reopen):
    await record_versions(store)
    through = await store.get_recorded_through()
    senders = [part.ref for part in (await store.get_router_version(3, 1)).integrated]
    dropped = 0
    while dropped is not None:
        dropped = await store.prune(through, 1)
        left = await store.get_router_version(3, 1)
        assert left is None or [part.ref for part in left.integrated] == senders
        store = await reopen() if left is None and dropped else store
    assert (await store.get_texts_of_versions([(BOB, 1)]), await store.check()) == ({}, [])
    assert await prune(store, through) == 0
