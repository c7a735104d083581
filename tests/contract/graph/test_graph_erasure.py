"""Taking back and forgetting: one publication, nothing that names the client after it, nothing else
changed."""

import re
from dataclasses import replace

import numpy as np
import pytest

from propagation.model import (
    Attribute,
    Citations,
    CitationSearch,
    ClientKey,
    ClientKind,
    ClientText,
    EntryKind,
    EventStatus,
    EvolutionChange,
    EvolutionKind,
    EvolutionRun,
    FilterMemory,
    FilterRule,
    IntegratedAttribute,
    LeaseLost,
    MessageMerge,
    ModelExchange,
    Module,
    Profile,
    PromotedRepeat,
    RecordStatus,
    Source,
    Withdrawal,
)
from propagation.ports import CACHED, POSTPONED_ARRIVALS, Collection, IndexChange, VersionClash
from tests.contract.graph_store import (
    STRANGE,
    change,
    checkpoint,
    edge,
    event,
    find_event,
    gradient,
    item,
    learn_all,
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
BLUE = item(0)
NO_WORDS = (frozenset(),) * 3


async def acquire_learn_lease(store):
    return await store.acquire_lease("learn", "test", 10_000)


async def record_history(store):
    """Ann and Bob with an event each on one item, texts, a message of both, an edge; all learned
    and reasoned."""
    sequences = await record_pairs(store, ("ann", "blue"), ("bob", "blue"), ("ann", "red"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    merges = (
        MessageMerge(ref=ANN, profile_version=1, router=3, router_version=1, outcome="merged"),
        MessageMerge(ref=BOB, profile_version=1, router=3, router_version=1, outcome="merged"),
    )
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(
                sequences[0], text(ANN, 1), gradients=(gradient(sequences[0], 3),), merges=merges
            ),
            reasoned_interaction(
                sequences[1], text(BOB, 1), user=BOB, gradients=(gradient(sequences[1], 3),)
            ),
            reasoned_interaction(sequences[2]),
        ],
    )
    await run_round(store, versions=(message(3, 1, ANN, BOB),), opened=(edge(3, ANN), edge(3, BOB)))
    return sequences


def erasure(ref, rows=(), **fields):
    return Withdrawal(kind=EntryKind.ERASURE, refs=(ref,), interactions=rows, erased=ref, **fields)


def retraction(rows, **fields):
    return Withdrawal(kind=EntryKind.RETRACTION, refs=(ANN,), interactions=rows, **fields)


async def test_events_stand_as_they_stand(store):
    await record_history(store)
    ((known, row), (unknown, nothing)) = await store.get_event_states(["e0-0", "never"])
    assert (known, row.event_id, unknown, nothing) == (
        EventStatus.RECORDED,
        "e0-0",
        EventStatus.UNKNOWN,
        None,
    )
    await withdraw(
        store, await acquire_learn_lease(store), retraction([row]), checkpoint(3, barrier=True)
    )
    assert await store.get_event_states(["e0-0"]) == [(EventStatus.RETRACTED, None)]


@pytest.mark.parametrize("erases", [True, False])
async def test_the_commit_times_of_withdrawn_events_are_gone(store, clock, erases):
    times = []
    for place, users in enumerate([("ann", "bob"), ("bob",), ("ann", "bob"), ("ann",), ("bob",)]):
        clock.ms += 1_000
        times.append(clock.ms)
        await store.record([event(f"{who}{place}", who, "blue") for who in users], auto_create=True)
    await learn_all(store)
    newest, lease = await store.get_recorded_through(), await acquire_learn_lease(store)
    clock.ms += 1_000
    states = await store.get_event_states(["bob2", "ann0", "ann2", "ann3"])
    row, *rows = (state.interaction for state in states)
    await withdraw(store, lease, retraction([row]), checkpoint(newest, barrier=True))
    second, third = [await store.get_sequence_at(at) for at in times[1:3]]
    assert second < third, "ann's event of the third commit is still there"
    withdrawal = erasure(ANN, rows) if erases else retraction(rows)
    await withdraw(store, lease, withdrawal, checkpoint(newest, barrier=True))
    second, third, fourth, fifth = [await store.get_sequence_at(at) for at in times[1:]]
    assert second == third == fourth, "the times of two commits tell when she acted"
    assert fifth == newest


async def test_an_erased_client_is_gone_with_everything_and_its_ref_never_comes_back(reopen):
    store = await reopen()
    sequences = await record_history(store)
    rows = await store.get_interactions_of_clients([ANN])
    assert [row.sequence for row in rows] == [sequences[0], sequences[2]]
    users = await store.count_clients(ClientKind.USER)
    late = await store.record([event("late", "ann", "blue")], auto_create=False)
    done = await withdraw(
        store,
        await acquire_learn_lease(store),
        erasure(ANN, rows, reduced_messages={(3, 1): frozenset()}),
        checkpoint(3, barrier=True),
    )
    assert done.interactions == 3
    for again in (False, True):
        store = await reopen() if again else store
        assert await store.find_refs([change(ClientKind.USER, "ann").key]) == [None], (
            "its id leads to nothing"
        )
        assert await store.get_clients([ANN]) == [], "its text is gone"
        assert await store.count_clients(ClientKind.USER) == users - 1, "it is not counted"
        assert await store.find_keys([ANN]) == [None], "its ref leads to nothing"
        assert await store.get_interactions_of_clients([ANN]) == [], "its interactions are gone"
        assert await store.get_interactions(
            [*sequences, late.outcomes[0].sequence]
        ) == await store.get_interactions_of_clients([BOB]), (
            "only the other's interactions are left"
        )
        assert (await store.load_texts([ANN]))[ANN].profile.version == 0, "its profile is gone"
        assert await list_merges(store, ANN) == [], "its merges are gone"
        assert [merge.ref for merge in await store.get_merges_of_message(3, 1, 9)] == [BOB], (
            "the other's merges stay"
        )
        assert await store.get_edges([ANN]) == {ANN: []}, "its edges are gone"
        assert (await store.get_router_version(3, 1)).senders == {BOB}, (
            "a message does not count it as a sender"
        )
        assert [found.sequence for found in await store.get_gradients(Module.ROUTER, 3, 0, 9)] == [
            sequences[1]
        ], "only the other's gradients are left"
        assert (await store.get_newest_checkpoint(barrier=True)).sequence == 3, (
            "the barrier is stored"
        )
        assert await store.check() == [], "the graph is sound"
        assert [
            status.status
            for status in (
                await store.record(
                    [event("e0-0", "cid", "blue"), event("late", "cid", "blue")], auto_create=True
                )
            ).outcomes
        ] == [RecordStatus.FORGOTTEN] * 2, "its event ids are not taken again"
    created = await store.record([event("fresh", "ann", "blue")], auto_create=True)
    assert created.created[int(ClientKind.USER), "ann"] not in (ANN, BOB), (
        "a new client of that id has a ref of its own"
    )
    (entry,) = [
        entry
        for entry in await store.read_entries(0, done.sequence)
        if entry.kind == EntryKind.ERASURE
    ]
    assert (entry.sequence, entry.refs, entry.number) == (done.sequence, (ANN,), 3), (
        "the log names the erased ref"
    )


async def test_what_interactions_wrote_is_read_and_then_gone(store):
    sequences = await record_history(store)
    (block,) = await store.read_learned(0, 9)
    written = await store.get_learned_weights([sequences[2], sequences[0], 99])
    assert written.sequence.tolist() == [sequences[0], sequences[2]], (
        "in the order of sequences, unknown ones left out"
    )
    assert written.since.tolist() == [3, 1], "with the sequences from which they were learned"
    assert np.array_equal(written.weights, block.weights[[0, 2]]), (
        "with the weights that were stored"
    )
    rows = [
        row
        for row in await store.get_interactions_of_clients([ANN])
        if row.sequence == sequences[0]
    ]
    moved = PromotedRepeat(sequences[2], block.routers[0], block.weights[0] / 2)
    barrier = checkpoint(await store.get_learned_through(), barrier=True)
    await withdraw(
        store, await acquire_learn_lease(store), retraction(rows, promoted=[moved]), barrier
    )
    (after,) = await store.read_learned(0, 9)
    assert not after.weights[0].any(), "the retracted weights are zero"
    assert np.array_equal(after.weights[1], block.weights[1]), "the other's weights stay"
    assert np.array_equal(after.weights[2], block.weights[0] / 2), (
        "the repeat has the weight that moved to it"
    )
    assert np.array_equal(after.sequence, block.sequence), "the block keeps its sequences"
    assert after.trust.shape[2] == 0, "there are no weights of trust"
    part = await store.read_log(0, 99)
    assert sequences[0] not in part.interactions.sequence, "the log leaves the event out"
    assert await store.check() == [], "the graph is sound"


async def test_a_retracted_event_is_a_duplicate_and_its_hash_decides(store):
    await record_history(store)
    ((_, row),) = await store.get_event_states(["e0-0"])
    await withdraw(
        store, await acquire_learn_lease(store), retraction([row]), checkpoint(3, barrier=True)
    )
    answer = await store.record(
        [event("e0-0", "ann", "blue"), event("e0-0", "ann", "blue", content="other")],
        auto_create=True,
    )
    assert [(one.status, one.sequence) for one in answer.outcomes] == [
        (RecordStatus.DUPLICATE, row.sequence),
        (RecordStatus.CONFLICT, 0),
    ]
    assert await find_event(store, "e0-0") is None


async def test_what_users_chose_with_the_last_change_of_each_item(store):
    sequences = await record_history(store)
    (changed,) = await store.upsert_clients(
        [change(ClientKind.ITEM, "blue", title="Blue in green")]
    )
    found = await store.get_user_choices([BOB, ANN])
    assert found.user.tolist() == [ANN, ANN, BOB]
    assert found.sequence.tolist() == [sequences[0], sequences[2], sequences[1]]
    assert found.item[0] == found.item[2] != found.item[1]
    assert found.weight.tolist() == [1.0, 1.0, 1.0]
    assert (
        found.changed.tolist()[0]
        == found.changed.tolist()[2]
        == changed.sequence
        > found.changed.tolist()[1]
        > 0
    )
    assert not len((await store.get_user_choices([])).user)


async def test_a_rewritten_version_without_a_citation_does_not_end_the_search(store):
    sequences = await record_history(store)
    await store.commit_texts([text(BOB, 2, "likes jazz now"), text(BOB, 3)], [], sequences[2])
    rows = await store.get_interactions_of_clients([ANN])
    empty = ClientText(profile=Profile(ref=BOB, version=2, next_id=2))
    made = retraction(rows, rewritten=[empty])
    await withdraw(store, await acquire_learn_lease(store), made, checkpoint(3, barrier=True))
    cites_one = Citations(sequences=frozenset({1}))
    for search in (
        CitationSearch(BOB, cites_one, from_version=1),
        CitationSearch(BOB, cites_one, at_sequence=sequences[1]),
    ):
        found = await store.find_citing_texts([search])
        assert [one.text.profile.version for one in found] == [1, 3]


async def test_a_rule_that_was_last_confirmed_at_an_interaction_cites_it(store):
    sequences = await record_history(store)
    rule = FilterRule(1.0, "Trust jazz", router=4, evidence=(70, 71), age=72)
    ruled = replace(text(BOB, 2, cites=(9, 9)), filter_memory=FilterMemory(rules=(rule,)))
    await store.commit_texts([ruled], [], sequences[2])
    for sequence, versions in ((72, [2]), (71, [2]), (7, []), (73, [])):
        search = CitationSearch(BOB, Citations(frozenset({sequence})), from_version=2)
        found = await store.find_citing_texts([search])
        assert [one.text.profile.version for one in found] == versions, sequence


async def test_texts_that_may_cite_are_found_and_rewritten(store):
    sequences = await record_history(store)
    found = await store.find_citing_texts(
        [
            CitationSearch(BOB, Citations(sequences=frozenset({1})), at_sequence=sequences[1]),
            CitationSearch(BOB, Citations(words=frozenset({"jazz"})), from_version=1),
        ]
    )
    opera = CitationSearch(ANN, Citations(words=frozenset({"opera"})))
    assert await store.find_citing_texts([opera]) == []
    assert [(one.text.profile.ref, one.text.profile.version, one.current) for one in found] == [
        (BOB, 1, True)
    ]
    rows = await store.get_interactions_of_clients([ANN])
    with pytest.raises(VersionClash):
        await withdraw(
            store,
            await acquire_learn_lease(store),
            erasure(ANN, rows, texts=[text(BOB, 3)]),
            checkpoint(3, barrier=True),
        )
    assert await store.get_interactions(sequences[:1])
    await withdraw(
        store,
        await acquire_learn_lease(store),
        erasure(ANN, rows, rewritten=[text(BOB, 1, "cleaned")], texts=[text(BOB, 2, "new")]),
        checkpoint(3, barrier=True),
    )
    assert (await store.load_texts([BOB]))[BOB].profile.lines[0].text == "new"
    assert (await store.get_text_at(BOB, sequences[1])).profile.lines[0].text == "cleaned"


async def test_a_reader_of_a_message_is_found_by_an_attribute_or_by_a_word_however_it_is_written(
    store,
):
    sequences = await record_history(store)
    await store.commit_texts(
        [text(BOB, 2, "Likes OPERA Nights", cites=(3, 1)), text(BOB, 3, "moved on")],
        [],
        sequences[1],
    )

    async def find_citing_versions(names, *words):
        trail = CitationSearch(
            BOB, Citations(messages={(3, 1): names}, message_words=frozenset(words)), from_version=2
        )
        return {
            (one.text.profile.version, one.current)
            for one in await store.find_citing_texts([trail])
        }

    for names, words in (
        (None, ()),
        (frozenset({"jazz"}), ()),
        (frozenset({"blues"}), ("opera nights",)),
    ):
        assert (2, False) in await find_citing_versions(names, *words)
    assert (
        await find_citing_versions(frozenset({"blues"}), "moved") == set()
    )  # no line with it cites the message


async def test_a_rule_is_found_by_a_word_however_it_is_written(store):
    sequences = await record_history(store)
    rules = (
        FilterRule(2.0, 'Trust the OPERA },{"router":3, lovers', router=5),
        FilterRule(0.5, "Doubt the jazz lovers", attribute="jazz"),
    )
    ruled = replace(text(BOB, 2, "folk"), filter_memory=FilterMemory(rules=rules))
    await store.commit_texts([ruled, text(BOB, 3, "moved on")], [], sequences[1])

    async def find_quoting_versions(word):
        citations = Citations(rule_words=frozenset({word}))
        return [
            one.text.profile.version
            for one in await store.find_citing_texts([CitationSearch(BOB, citations)])
        ]

    for word in ("opera", "lovers", "doubt", "jazz"):
        assert await find_quoting_versions(word) == [2], word
    assert await find_quoting_versions("folk") == [], "a line's"


async def test_words_are_found_in_letters_that_fold_to_several(store):
    sequences = await record_history(store)
    letters = [one for one in map(chr, range(128, 0x10000)) if re.search("[a-z]", one.casefold())]
    texts = [
        replace(
            text(BOB, 2 + place, f"Likes q{letter}y", cites=(3, 1)),
            filter_memory=FilterMemory((FilterRule(2.0, f"Trust z{letter}y", attribute="z"),)),
        )
        for place, letter in enumerate(letters)
    ]
    for one in texts:
        await store.commit_texts([one], [], sequences[1])
    for one, letter in zip(texts, letters, strict=True):
        part = max(re.findall("[a-z]+", f"q{letter}y".casefold()), key=len)
        for citations in (
            Citations(messages={(3, 1): frozenset()}, message_words=frozenset([part])),
            Citations(rule_words=frozenset([part.replace("q", "z")])),
        ):
            found = await store.find_citing_texts(
                [CitationSearch(BOB, citations, from_version=one.profile.version)]
            )
            assert one.profile.version in [stored.text.profile.version for stored in found], letter


async def test_later_messages_that_stand_for_a_lost_attribute_are_affected(store):
    await record_history(store)
    later = replace(
        message(3, 2, BOB),
        attributes=("folk",),
        integrated=(IntegratedAttribute("folk", BOB, 1, 1),),
        standing=(("folk", 1.0), ("jazz", 0.95)),
    )
    await run_round(store, versions=(later,))
    found = await store.find_affected_messages(
        [ANN], frozenset(), {ANN}, frozenset(), frozenset(), frozenset({"folk"}), {}, 8
    )
    assert [(one.message.version, one.remaining) for one in found] == [
        (1, {"jazz": frozenset({(BOB, 1)})}),
        (2, {"folk": frozenset({(BOB, 1)})}),
    ]


async def test_messages_of_a_client_say_who_else_brought_what(store):
    await record_history(store)
    (sent,) = await store.find_affected_messages([ANN], frozenset(), {ANN}, *NO_WORDS, {}, 8)
    assert (sent.message.router, sent.lost_parts, sent.remaining) == (
        3,
        [IntegratedAttribute("jazz", ANN, 1, 1)],
        {"jazz": frozenset({(BOB, 1)})},
    )
    assert await store.find_affected_messages([ANN], frozenset({7}), (), *NO_WORDS, {}, 8) == []
    (named,) = await store.find_affected_messages(
        [], frozenset(), (), frozenset({"more"}), *NO_WORDS[1:], {}, 8
    )
    assert (named.message.text, named.lost_parts, named.remaining) == ("more jazz", (), {})
    assert {
        (merge.ref, merge.profile_version)
        for merge in await store.get_merges_of_messages([(3, 1), (4, 1)])
    } == {(ANN, 1), (BOB, 1)}


async def test_a_message_of_which_one_sender_is_left_does_not_wait_for_that_one(store):
    await record_history(store)
    cid = user(2)
    await store.upsert_clients([change(ClientKind.USER, "cid")])
    opened = (edge(3, ANN), edge(3, BOB), edge(3, cid))
    await run_round(store, versions=(message(3, 2, ANN, BOB),), opened=opened)
    made = erasure(ANN, reduced_messages={(3, 2): frozenset()})
    await withdraw(store, await acquire_learn_lease(store), made, checkpoint(3, barrier=True))
    waiting = await store.get_waiting_messages({BOB: 0, cid: 0})
    assert {
        ref: (3, 2) in [(one.router, one.version) for one in sent] for ref, sent in waiting.items()
    } == {BOB: False, cid: True}


async def test_waiting_arrivals_and_reasons_change_with_the_commit(store):
    await record_history(store)
    await store.put_blob(POSTPONED_ARRIVALS, b"with ann")
    change = EvolutionChange(kind=EvolutionKind.REWRITE, before=(1,), after=(1,), reason="ann")
    run = await store.save_evolution(EvolutionRun(changes=(change,)))
    cleaned = run.model_copy(update={"changes": (change.model_copy(update={"reason": ""}),)})
    rows = await store.get_interactions_of_clients([ANN])
    await withdraw(
        store,
        await acquire_learn_lease(store),
        erasure(ANN, rows, postponed=b"without", reports=[cleaned]),
        checkpoint(3, barrier=True),
    )
    assert await store.get_blob(POSTPONED_ARRIVALS) == b"without"
    assert await store.get_evolution_runs(5) == [cleaned]


async def test_work_in_flight_does_not_write_a_forgotten_client_back(store):
    await record_history(store)
    await record_pairs(store, ("ann", "green"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 10_000)
    rows = await store.get_interactions_of_clients([ANN])
    await withdraw(
        store, await acquire_learn_lease(store), erasure(ANN, rows), checkpoint(3, barrier=True)
    )
    with pytest.raises(LeaseLost):
        await store.commit_reasoned(
            claim, [reasoned_interaction(claim.work[0].sequence, text(ANN, 1))]
        )
    with pytest.raises(VersionClash):
        await store.commit_texts([text(ANN, 1)], (), 1)
    assert await store.claim_reason("w", 9, 10_000) is None


async def test_an_item_that_was_drawn_as_a_negative_is_none_any_more(store):
    await store.upsert_clients([change(ClientKind.ITEM, f"i{n}") for n in range(3)])
    await record_pairs(store, ("ann", "i0"))
    await store.record(
        [event("named", "ann", "i0", negative_id="i1", content="hash")], auto_create=True
    )
    await learn_all(store)
    gone = (await store.claim_reason("w", 1, 0)).work[0].negative
    await withdraw(
        store, await acquire_learn_lease(store), erasure(gone), checkpoint(1, barrier=True)
    )
    assert (await store.claim_reason("w", 1, 10_000)).work[0].negative is None
    assert (await store.get_event_states(["named"]))[0][1].negative != gone


async def learn_pairs(store, *pairs):
    """Record pairs one after the other, and learn each in a block of its own."""
    for pair in pairs:
        await record_pairs(store, pair)
        await learn_all(store)


async def test_an_erased_item_leaves_what_was_drawn_for_others(store):
    """The values are those of a row without this negative; other negatives keep their places."""
    await store.upsert_clients([change(ClientKind.ITEM, f"i{n}") for n in range(4)])
    await record_pairs(store, *(("ann", "i3") for _ in range(9)))
    await learn_all(store)
    await learn_pairs(store, ("bob", "i3"), ("bob", "i0"))
    before = await store.read_learned(0, 9)
    lease = await acquire_learn_lease(store)
    barrier = checkpoint(await store.get_learned_through(), barrier=True)
    rows = await store.get_interactions_of_clients([item(1)])
    assert not rows, "nobody took it"
    await withdraw(store, lease, erasure(item(1)), barrier)
    if not store.wipes_in_seconds:
        await assert_without(store, before, 1)
    await store.wipe()
    await assert_without(store, before, 1)
    assert await store.check() == []


async def assert_without(store, before, removed):
    """Assert that learned blocks are as before, without a removed item among the draws."""
    found = 0
    for block, was in zip(await store.read_learned(0, 9), before, strict=True):
        gone = was.negatives == removed
        found += int(gone.sum())
        assert np.array_equal(block.negatives, np.where(gone, -1, was.negatives))
        assert np.array_equal(block.profile_cosines[:, 0], was.profile_cosines[:, 0])
        assert np.array_equal(
            block.profile_cosines[:, 1:], np.where(gone, 0, was.profile_cosines[:, 1:])
        )
        assert np.array_equal(block.scores[:, 0], was.scores[:, 0])
        expected = np.where(gone[:, 0], np.nan, was.scores[:, 1])
        assert np.array_equal(block.scores[:, 1], expected, equal_nan=True)
        assert np.array_equal(block.weights, was.weights)
        assert np.array_equal(block.sequence, was.sequence)
    assert found > 5


async def test_what_an_earlier_version_left_of_a_removed_item_is_found_and_wiped(store):
    """A block that is learned after the erasure stands for one that was learned before it."""
    await store.upsert_clients([change(ClientKind.ITEM, f"i{n}") for n in range(4)])
    await learn_pairs(store, ("ann", "i3"))
    lease = await acquire_learn_lease(store)
    barrier = checkpoint(await store.get_learned_through(), barrier=True)
    await withdraw(store, lease, erasure(item(1)), barrier)
    await store.wipe()
    assert await store.check() == []
    await record_pairs(store, *(("ann", "i3") for _ in range(9)))
    await learn_all(store)
    before = await store.read_learned(0, 9)
    through = await store.get_learned_through()
    count = int((before[-1].negatives == 1).any(axis=1).sum())
    assert await store.check() == [
        f"learned block {through} names removed items in what was drawn for {count} interactions;"
        " `propagation retract --wipe` takes them out"
    ]
    await store.wipe()
    assert await store.check() == []
    await assert_without(store, before, 1)


async def test_a_lost_lease_changes_nothing(store):
    sequences = await record_history(store)
    old = await store.acquire_lease("learn", "other", 1)
    lease = old or await acquire_learn_lease(store)
    await store.release_lease(lease)
    newer = await store.acquire_lease("learn", "newer", 10_000)
    assert newer.token > lease.token
    with pytest.raises(LeaseLost):
        await withdraw(
            store,
            lease,
            erasure(ANN, await store.get_interactions_of_clients([ANN])),
            checkpoint(3, barrier=True),
        )
    assert len(await store.get_interactions(sequences)) == 3


async def test_what_a_retraction_changed_waits_for_the_index_and_nothing_has_to_be_wiped(store):
    sequences = await record_history(store)
    await store.drop_changes(await store.get_pending_changes(0, 99))
    (sent,) = await store.get_router_versions([3])
    rows = [
        row
        for row in await store.get_interactions_of_clients([ANN])
        if row.sequence == sequences[0]
    ]
    await withdraw(
        store,
        await acquire_learn_lease(store),
        retraction(rows, texts=[text(BOB, 2)], messages=[replace(sent, text="less jazz")]),
        checkpoint(3, barrier=True),
    )
    assert set(await store.get_pending_changes(0, 99)) == {
        IndexChange(Collection.USERS, BOB, 2),
        IndexChange(Collection.ROUTERS, 3, 1, sent.round),
    }
    assert (await store.get_router_version(3, 1)).text == "less jazz"
    assert not await store.is_wiping_due()


@pytest.mark.parametrize("name", STRANGE)
async def test_any_unicode_is_forgotten(store, name):
    await store.upsert_clients([change(ClientKind.USER, name, title=name)])
    await store.record([event(name, name, "blue")], auto_create=True)
    (ref,) = await store.find_refs([change(ClientKind.USER, name).key])
    await withdraw(
        store, await acquire_learn_lease(store), erasure(ref), checkpoint(0, barrier=True)
    )
    assert await store.is_wiping_due()
    await store.wipe()
    assert not await store.is_wiping_due()
    assert (await store.get_event_states([name]))[0][0] == EventStatus.FORGOTTEN
    assert await store.find_refs([change(ClientKind.USER, name).key]) == [None]


async def test_a_text_that_came_in_between_and_rests_on_what_goes_stops_it(store):
    """Another process may commit while this one reads: then it reads again."""
    sequences = await record_history(store)
    rows = [
        row
        for row in await store.get_interactions_of_clients([ANN])
        if row.sequence == sequences[0]
    ]
    texts_read_through = await store.get_texts_through()
    await store.commit_texts([text(BOB, 2, cites=(3, 1))], (), 4)
    changed = replace(await store.get_router_version(3, 1), text="", attributes=())
    withdrawal = retraction(rows, texts_read_through=texts_read_through, messages=[changed])
    with pytest.raises(VersionClash):
        await withdraw(
            store, await acquire_learn_lease(store), withdrawal, checkpoint(3, barrier=True)
        )
    assert await store.get_event_states(["e0-0"]) == [(EventStatus.RECORDED, rows[0])]
    assert await store.get_last_withdrawal() == 0
    done = await withdraw(
        store,
        await acquire_learn_lease(store),
        replace(withdrawal, texts_read_through=texts_read_through + 1),
        checkpoint(3, barrier=True),
    )
    assert await store.get_last_withdrawal() == done.sequence
    again = await store.get_texts_through()
    (row,) = [
        row
        for row in await store.get_interactions_of_clients([ANN])
        if row.sequence == sequences[2]
    ]
    await store.commit_texts([text(BOB, 3)], (), 5)
    gone = replace(row, sequence=1)  # which `text` cites
    with pytest.raises(VersionClash):
        await withdraw(
            store,
            await acquire_learn_lease(store),
            retraction([gone], texts_read_through=again),
            checkpoint(3, barrier=True),
        )
    await withdraw(
        store,
        await acquire_learn_lease(store),
        retraction([row], texts_read_through=again),
        checkpoint(3, barrier=True),
    )


async def test_what_was_read_before_something_was_taken_back_is_not_committed_after_it(store):
    sequences = await record_history(store)
    rows = [
        row
        for row in await store.get_interactions_of_clients([ANN])
        if row.sequence == sequences[0]
    ]
    before = await store.get_last_withdrawal()
    await store.commit_texts([text(BOB, 2)], (), 4, before)
    await withdraw(
        store, await acquire_learn_lease(store), retraction(rows), checkpoint(3, barrier=True)
    )
    with pytest.raises(VersionClash):
        await store.commit_texts([text(BOB, 3)], (), 5, before)
    assert (await store.load_texts([BOB]))[BOB].profile.version == 2
    await store.commit_texts([text(BOB, 3)], (), 5, await store.get_last_withdrawal())
    assert (await store.load_texts([BOB]))[BOB].profile.version == 3


async def test_messages_that_quote_a_title_are_found(store):
    await record_history(store)
    (quoting,) = await store.find_affected_messages(
        [], frozenset(), (), frozenset(), frozenset({"more"}), frozenset(), {}, 8
    )
    assert quoting.message.text == "more jazz"
    assert not await store.find_affected_messages(
        [], frozenset(), (), frozenset(), frozenset({"opera"}), frozenset(), {}, 8
    )


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("OF THE WUGGA TAPES", "Wugga Tapes"),
        ("of ﬁddles", "FIDDLES"),
        ("of STRASSE", "Straße"),
        ("of Straße", "STRASSE"),
        ("of CAFÉ NOIR", "Café Noir"),
        ("of 東京", "東京"),
        ("of Σίσυφος", "Σίσυφος"),
        ("OF ΣΊΣΥΦΟΣ", "Σίσυφος"),
        ("of ϐίος", "Βίος"),
    ],
)
async def test_messages_are_found_by_words_however_they_are_written(store, said, word):
    await record_history(store)
    await run_round(store, versions=(message(3, 2, BOB, words=said),))
    nothing = frozenset[str]()
    for words in ((frozenset({word}), nothing), (nothing, frozenset({word}))):
        found = await store.find_affected_messages([], frozenset(), (), *words, nothing, {}, 8)
        assert said in [one.message.text for one in found]


async def test_messages_are_found_by_an_attribute_with_a_quotation_mark(store):
    await record_history(store)
    named = replace(message(3, 2, BOB), attributes=('12" mixes',))
    await run_round(store, versions=(named,))
    nothing = frozenset[str]()
    words = frozenset({'12" mix'})
    found = await store.find_affected_messages([], frozenset(), (), words, nothing, nothing, {}, 8)
    assert [one.message.router for one in found] == [named.router]


@pytest.mark.parametrize("erases", [True, False])
async def test_reasons_of_dead_letters_lose_words_however_they_are_written(store, erases):
    sequences = await record_pairs(
        store, ("ann", "blue"), ("bob", "blue"), ("bob", "red"), ("bob", "green"), ("bob", "jade")
    )
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    failures = [
        None,
        "no JSON: likes FREE Jazz",
        "no answer",
        "hears STRASSENMUSIK",
        "reads Σίσυφος",
    ]
    await store.commit_reasoned(
        claim,
        [
            replace(reasoned_interaction(one), failure=why)
            for one, why in zip(sequences, failures, strict=True)
        ],
    )
    rows = await store.get_interactions_of_clients([ANN])
    made = erasure(ANN, rows) if erases else retraction(rows)
    greek = "ΣΙΣΥΦΟΣ".replace("Ι", "Ί")
    made = replace(made, words=frozenset({"free jazz", "ann", "Straßenmusik", greek}))
    await withdraw(store, await acquire_learn_lease(store), made, checkpoint(3, barrier=True))
    reasons = ["", "no answer", "", ""]
    assert list(await store.get_dead_letters(9)) == list(zip(sequences[1:], reasons, strict=True))


@pytest.mark.parametrize("erases", [True, False])
async def test_exchanges_of_all_dead_letters_go_at_a_withdrawal(store, erases):
    """A question may quote anybody, in whatever words."""
    sequences = await record_pairs(store, ("ann", "blue"), ("bob", "red"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    exchange = ModelExchange("ann likes jazz", "so she does")
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(one, failure="no answer", attempts=3, exchange=exchange)
            for one in sequences
        ],
    )
    await store.queue_dead_letters(None)
    rows = await store.get_interactions_of_clients([ANN])
    made = erasure(ANN, rows) if erases else retraction(rows)
    await withdraw(store, await acquire_learn_lease(store), made, checkpoint(3, barrier=True))
    [letter] = await store.get_failed_reasoning(9)
    assert (letter.sequence, letter.reason, letter.attempts) == (sequences[1], "no answer", 3)
    assert letter.exchange == ModelExchange()
    assert letter.queued, "it is tried again all the same"


@pytest.mark.parametrize("lost", ["everywhere", "by a message"])
async def test_gradients_lose_an_attribute_in_either_case_of_letters(store, lost):
    sequences = await record_history(store)
    (late,) = await record_pairs(store, ("ann", "green"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    naming = [
        ("say more of Straßenmusik", ()),
        ("of strassenmusik", ()),
        ("more of it", ("jazz", "strassenmusik")),
    ]
    given = tuple(
        replace(gradient(late, 3), text=words, attributes=names)
        for words, names in (*naming, ("of Straßen", ("jazz",)))
    )
    merge = MessageMerge(ref=BOB, profile_version=1, router=3, router_version=1, outcome="merged")
    await store.commit_reasoned(
        claim, [reasoned_interaction(late, gradients=given, merges=(merge,))]
    )
    fields = (
        {"recounted": (Attribute(name="strassenmusik", holders=0, users=0),)}
        if lost == "everywhere"
        else {"reduced_messages": {(3, 1): frozenset({"strassenmusik"})}}
    )
    rows = [row for row in await store.get_interactions_of_clients([ANN]) if row.sequence < late]
    made = retraction(rows[:1], **fields)
    await withdraw(store, await acquire_learn_lease(store), made, checkpoint(4, barrier=True))
    left = {one.text for one in await store.get_gradients(Module.ROUTER, 3, sequences[1] + 1, 9)}
    assert left == {"of Straßen"}


async def test_gradients_of_a_reader_whose_dead_letter_was_replayed_lose_an_attribute(store):
    sequences = await record_history(store)
    (dead,) = await record_pairs(store, ("bob", "green"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    await store.commit_reasoned(claim, [reasoned_interaction(dead, failure="no answer")])
    await store.queue_dead_letters([dead])
    await record_pairs(store, ("cid", "green"))
    given = [
        replace(gradient(dead, owner, module), text=words, attributes=())
        for module, owner in ((Module.ROUTER, 3), (Module.ROUTER, 4), (Module.FILTER_MEMORY, BOB))
        for words in ("less jazz", "less folk")
    ]
    merge = MessageMerge(ref=BOB, profile_version=2, router=3, router_version=1, outcome="merged")
    replayed = reasoned_interaction(dead, text(BOB, 2), gradients=tuple(given), merges=(merge,))
    late = await store.get_recorded_through()
    claim = await store.claim_dead_letters("w", 9, 1_000)
    await store.commit_reasoned(claim, [replace(replayed, late=late)])
    rows = await store.get_interactions(sequences[:1])
    made = retraction(rows, reduced_messages={(3, 1): frozenset({"jazz"})})
    await withdraw(store, await acquire_learn_lease(store), made, checkpoint(3, barrier=True))
    left = [
        (one.module, one.owner, one.text)
        for module in (Module.ROUTER, Module.FILTER_MEMORY)
        for one in await store.get_gradients(module, None, dead - 1, 9)
    ]
    assert left == [
        (Module.ROUTER, 3, "less folk"),
        (Module.ROUTER, 4, "less folk"),
        (Module.ROUTER, 4, "less jazz"),
        (Module.FILTER_MEMORY, BOB, "less folk"),
    ]


async def test_what_was_reasoned_late_is_found_after_the_interaction_at_its_sequence_was_erased(
    store,
):
    await record_history(store)
    (dead,) = await record_pairs(store, ("bob", "green"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    await store.commit_reasoned(claim, [reasoned_interaction(dead, failure="no answer")])
    await store.queue_dead_letters([dead])
    (other,) = await record_pairs(store, ("cid", "green"))
    written = text(BOB, 2)
    (line,) = written.profile.lines
    cites = replace(line, sources=(Source(sequence=dead),))
    written = replace(written, profile=replace(written.profile, lines=(cites,)))
    claim = await store.claim_dead_letters("w", 9, 1_000)
    await store.commit_reasoned(claim, [reasoned_interaction(dead, written, late=other)])
    search = CitationSearch(BOB, Citations(frozenset([dead])), at_sequence=dead)
    assert [one.text for one in await store.find_citing_texts([search])] == [written]
    (cid,) = await store.find_refs([ClientKey(kind=ClientKind.USER, id="cid")])
    rows = await store.get_interactions([other])
    erased = erasure(cid, rows)
    await withdraw(store, await acquire_learn_lease(store), erased, checkpoint(4, barrier=True))
    assert [one.text for one in await store.find_citing_texts([search])] == [written]


async def test_a_search_from_a_sequence_ends_at_the_first_version_that_does_not_cite(store):
    first, _, third = await record_pairs(store, ("ann", "blue"), ("ann", "red"), ("ann", "green"))
    await learn_all(store)
    written = []
    for version, cited in enumerate((first, third, first), 1):
        text_ = text(ANN, version)
        lines = tuple(
            replace(line, sources=(Source(sequence=cited),)) for line in text_.profile.lines
        )
        written.append(replace(text_, profile=replace(text_.profile, lines=lines)))
        claim = await store.claim_reason("w", 1, 1_000)
        await store.commit_reasoned(
            claim, [reasoned_interaction(claim.work[0].sequence, written[-1])]
        )
    search = CitationSearch(ANN, Citations(frozenset([first])), at_sequence=first)
    assert [one.text for one in await store.find_citing_texts([search])] == written[:1]


async def test_evidence_of_a_rule_is_not_mistaken_for_a_number_that_has_its_digits(store):
    (first, _, third) = await record_history(store)
    said = f"Trust jazz,{first},folk"
    rules = (FilterRule(1.0, said, router=10 * first + 2, evidence=(10 + third, third)),)
    ruled = replace(text(BOB, 2, cites=(9, 9)), filter_memory=FilterMemory(rules=rules))
    await store.commit_texts([ruled], [], third)
    rows = await store.get_interactions_of_clients([ANN])
    await withdraw(
        store, await acquire_learn_lease(store), retraction(rows[:1]), checkpoint(3, barrier=True)
    )
    made = retraction(rows[1:])
    with pytest.raises(VersionClash):
        await withdraw(store, await acquire_learn_lease(store), made, checkpoint(3, barrier=True))


async def test_the_attributes_that_some_clients_brought(store):
    await record_history(store)
    other = replace(
        message(3, 2, BOB),
        attributes=("folk",),
        integrated=(IntegratedAttribute("folk", BOB, 1, 1),),
    )
    await run_round(store, versions=(other,))
    assert await store.get_brought_attributes([ANN]) == {"jazz"}
    assert await store.get_brought_attributes([ANN, BOB]) == {"jazz", "folk"}
    assert await store.get_brought_attributes([]) == frozenset()


@pytest.mark.parametrize("erases", [True, False])
async def test_a_withdrawal_empties_caches_and_keeps_no_answer_to_an_earlier_question(
    store, erases
):
    await record_history(store)
    before = await store.get_last_withdrawal()
    await store.put_cached(f"{CACHED}answer:1", b"of ann", before)
    await store.put_blob("embedder", b"stays")
    rows = await store.get_interactions_of_clients([ANN])
    made = erasure(ANN, rows) if erases else retraction(rows)
    await withdraw(store, await acquire_learn_lease(store), made, checkpoint(3, barrier=True))
    await store.put_cached(f"{CACHED}answer:2", b"of ann, too", before)
    await store.put_cached(f"{CACHED}answer:3", b"newer", await store.get_last_withdrawal())
    assert [await store.get_blob(f"{CACHED}answer:{n}") for n in (1, 2, 3)] == [
        None,
        None,
        b"newer",
    ]
    assert await store.get_blob("embedder") == b"stays"


async def test_a_text_at_an_erased_sequence_has_the_time_of_the_next_one(store, clock):
    first, second, third = await record_pairs(
        store, ("ann", "blue"), ("bob", "blue"), ("bob", "red")
    )
    await learn_all(store)
    for sequence, version in ((first, 1), (second, 2)):
        clock.ms += 1_000
        claim = await store.claim_reason("w", 1, 1_000)
        await store.commit_reasoned(claim, [reasoned_interaction(sequence, text(BLUE, version))])
    following = clock.ms
    clock.ms += 1_000
    claim = await store.claim_reason("w", 1, 1_000)
    await store.commit_reasoned(claim, [reasoned_interaction(third, text(BOB, 1))])
    rows = await store.get_interactions_of_clients([ANN])
    await withdraw(
        store, await acquire_learn_lease(store), erasure(ANN, rows), checkpoint(3, barrier=True)
    )
    dates = [
        (record["sequence"], record["written_at"])
        async for kind, record in store.export_client(BLUE)
        if kind == "profile_version"
    ]
    assert dates == [(second, following), (second, following)]


BY_BOB, BY_ANN, BY_CID, BY_ANN_AGAIN = range(4)


@pytest.mark.parametrize(
    ("following", "expected"),
    [
        ([BY_BOB, BY_CID], BY_BOB),
        ([BY_CID, BY_BOB], BY_CID),
        ([BY_ANN_AGAIN, BY_BOB], BY_BOB),
        ([], None),
    ],
)
async def test_what_was_written_at_an_erased_sequence_moves_to_the_next_version_wherever_it_is(
    store, clock, following, expected
):
    """Interactions may be reasoned in any order: a next version may have an earlier sequence."""
    sequences = await record_pairs(
        store, ("bob", "blue"), ("ann", "blue"), ("cid", "blue"), ("ann", "blue")
    )
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 100_000)
    written = {}
    for version, place in enumerate([BY_ANN, *following], 1):
        clock.ms += 1_000
        written[place] = clock.ms
        merge = MessageMerge(BLUE, version, router=3, router_version=1, outcome="merged")
        done = reasoned_interaction(sequences[place], text(BLUE, version), merges=(merge,))
        await store.commit_reasoned(claim, [done], more=True)
    clock.ms += 1_000
    (ann,) = await store.find_refs([change(ClientKind.USER, "ann").key])
    rows = await store.get_interactions_of_clients([ann])
    assert {row.sequence for row in rows} == {sequences[BY_ANN], sequences[BY_ANN_AGAIN]}
    entry = await withdraw(
        store, await acquire_learn_lease(store), erasure(ann, rows), checkpoint(4, barrier=True)
    )
    to = entry.sequence if expected is None else sequences[expected]
    first = await anext(
        record
        async for kind, record in store.export_client(BLUE)
        if kind == "profile_version" and record["version"] == 1
    )
    assert (first["sequence"], first["written_at"]) == (to, written.get(expected, clock.ms))
    merges = await store.get_merges_after(0, await store.get_merges_through(), 9)
    assert [one.sequence for one in merges if one.merge.profile_version == 1] == [to]
