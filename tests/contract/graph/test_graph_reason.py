"""The reason port: claims, versions, dead letters, time travel, gradients."""

from dataclasses import replace
from random import Random

import pytest

from propagation.model import (
    Author,
    ClientText,
    FailedReasoning,
    FilterRule,
    LeaseLost,
    Line,
    MessageMerge,
    MessageReach,
    ModelExchange,
    Module,
    Profile,
    PromptCost,
    Source,
    Usage,
)
from propagation.ports import VersionClash
from tests.contract.graph_store import (
    STRANGE,
    find_event,
    gradient,
    item,
    learn_all,
    list_merges,
    reasoned_interaction,
    record_pairs,
    text,
    user,
)


@pytest.fixture
async def sequences(store):
    """Six learned interactions: of u0, u1, u0, u1, u2, u0."""
    made = await record_pairs(
        store, *((f"u{n}", f"i{place}") for place, n in enumerate((0, 1, 0, 1, 2, 0)))
    )
    await learn_all(store)
    return made


def list_sequences(claim):
    return [work.sequence for work in claim.work]


async def finish(store, claim, *results):
    done = {result.sequence for result in results}
    await store.commit_reasoned(
        claim,
        [*results, *(reasoned_interaction(n) for n in list_sequences(claim) if n not in done)],
    )


async def test_nothing_waits_before_it_is_learned(store):
    await record_pairs(store, ("u0", "i0"))
    assert await store.claim_reason("w", 10, 1_000) is None
    await learn_all(store)
    claim = await store.claim_reason("w", 10, 1_000)
    assert (claim.work[0].user, claim.work[0].item) == (user(0), item(0))


async def test_work_carries_what_learn_stored(store, sequences):
    (part,) = await store.read_learned(0, 1)
    claim = await store.claim_reason("w", 10, 1_000)
    for place, work in enumerate(claim.work):
        assert work.negative == item(int(part.negatives[place, 0]))
        assert (work.score_positive, work.score_negative) == tuple(part.scores[place].tolist())


async def test_two_workers_share_no_user_and_none_overtakes(store, sequences):
    first = await store.claim_reason("a", 1, 1_000)
    second = await store.claim_reason("b", 10, 1_000)
    assert list_sequences(first) == [sequences[0]]
    assert list_sequences(second) == [sequences[1], sequences[3], sequences[4]]
    assert await store.claim_reason("c", 10, 1_000) is None
    await finish(store, first)
    assert list_sequences(await store.claim_reason("c", 10, 1_000)) == [sequences[2], sequences[5]]


async def test_what_wrote_an_interactions_texts_is_kept(store, sequences):
    claim = await store.claim_reason("w", 10, 1_000)
    asked = Usage(
        (
            ("forward@1", PromptCost(calls=1)),
            ("backward@2", PromptCost(cached=1)),
            ("merge@1", PromptCost()),
        )
    )
    first, second, third, *_ = sequences
    await finish(
        store,
        claim,
        reasoned_interaction(first, usage=asked),
        reasoned_interaction(second, usage=asked + Usage(fallback="offline")),
        reasoned_interaction(third, failure="refused", usage=asked),
    )
    kept = {
        row.sequence: (row.prompts, row.fallback) for row in await store.get_interactions(sequences)
    }
    wrote = ("forward@1", "backward@2")
    assert [kept[n] for n in sequences] == [(wrote, ""), (wrote, "offline")] + [((), "")] * 4
    [row] = await store.get_interactions(sequences[1:2])
    assert (row.prompts, row.fallback) == (wrote, "offline")
    assert await find_event(store, row.event_id) == row
    assert await store.queue_dead_letters([third]) == 1
    late = await store.claim_dead_letters("w", 10, 1_000)
    await store.commit_reasoned(late, [reasoned_interaction(third, late=99, usage=asked)])
    [mended] = await store.get_interactions([third])
    assert mended.prompts == wrote


async def test_a_prediction_in_the_models_stead_is_kept_beside_the_prompts(store, sequences):
    asked = Usage((("backward@2", PromptCost(calls=1)),))
    claim = await store.claim_reason("w", 10, 1_000)
    first, second, *_ = sequences
    await finish(
        store,
        claim,
        reasoned_interaction(first, usage=asked, predicted_by="offline-1"),
        reasoned_interaction(second, usage=asked),
    )
    rows = await store.get_interactions(sequences[:2])
    assert [row.prompts for row in rows] == [("backward@2", "predict:offline-1"), ("backward@2",)]


async def test_what_wrote_a_text_outside_of_an_interaction_is_kept(store, sequences):
    await store.commit_texts(
        [text(user(0), 1, "described")], [], sequences[0], written_by="extract@2, merge@2"
    )
    await store.commit_texts([text(user(0), 2, "offline")], [], sequences[0])
    found = [
        record["written_by"]
        async for kind, record in store.export_client(user(0))
        if kind == "profile_version"
    ]
    assert found == ["extract@2, merge@2", ""]


async def test_reasoned_through_waits_for_the_oldest(store, sequences):
    first = await store.claim_reason("a", 1, 1_000)
    second = await store.claim_reason("b", 10, 1_000)
    await finish(store, second)
    assert await store.get_reasoned_through() == sequences[0] - 1
    await finish(store, first)
    assert await store.get_reasoned_through() == sequences[2] - 1
    await finish(store, await store.claim_reason("a", 10, 1_000))
    assert await store.get_reasoned_through() == await store.get_learned_through()


async def test_the_backlog_counts_what_is_not_reasoned_and_what_ended_out_of_order(
    store, sequences
):
    assert await store.count_backlog() == (len(sequences), 0)
    first = await store.claim_reason("a", 1, 1_000)
    second = await store.claim_reason("b", 10, 1_000)
    await finish(store, second, reasoned_interaction(sequences[3], failure="no answer"))
    done = len(second.work)
    assert await store.count_backlog() == (len(sequences) - done, done), "a dead letter is done"
    await finish(store, first)
    assert await store.get_reasoned_through() == sequences[2] - 1
    assert await store.count_backlog() == (len(sequences) - done - 1, done - 1)
    await record_pairs(store, ("u9", "i9"))
    assert (await store.count_backlog()).pending == len(sequences) - done, "not learned yet"
    await learn_all(store)
    while claim := await store.claim_reason("a", 10, 1_000):
        await finish(store, claim)
    assert await store.count_backlog() == (0, 0)


async def test_what_a_claim_did_not_finish_is_free_again(store, sequences):
    claim = await store.claim_reason("a", 10, 1_000)
    await store.commit_reasoned(claim, [reasoned_interaction(sequences[0])])
    assert list_sequences(await store.claim_reason("a", 10, 1_000)) == sequences[1:]


async def test_a_claim_committed_in_parts_holds_the_rest_until_the_last(store, sequences):
    claim = await store.claim_reason("a", 10, 1_000)
    await store.commit_reasoned(
        claim, [reasoned_interaction(sequences[0], text(user(0), 1, "first"))], more=True
    )
    assert (await store.load_texts([user(0)]))[user(0)].profile.lines[0].text == "first"
    assert await store.claim_reason("b", 10, 1_000) is None
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(sequences[1]),
            reasoned_interaction(sequences[2], text(user(0), 2, "second")),
        ],
    )
    assert await store.get_reasoned_through() == sequences[3] - 1
    assert list_sequences(await store.claim_reason("b", 10, 1_000)) == sequences[3:]
    with pytest.raises(LeaseLost):
        await store.commit_reasoned(claim, [reasoned_interaction(sequences[3])], more=True)


async def test_what_was_committed_of_a_claim_stays_when_it_is_taken_over(store, sequences, clock):
    late = await store.claim_reason("late", 10, 1_000)
    await store.commit_reasoned(late, [reasoned_interaction(sequences[0])], more=True)
    clock.ms += 1_000
    taken = await store.claim_reason("quick", 10, 1_000)
    assert list_sequences(taken) == sequences[1:]
    with pytest.raises(LeaseLost):
        await store.commit_reasoned(late, [reasoned_interaction(sequences[1])], more=True)


async def test_a_claim_that_is_prolonged_stands_and_one_that_was_taken_over_does_not_come_back(
    store, sequences, clock
):
    kept, left = await store.claim_reason("a", 2, 1_000), await store.claim_reason("a", 1, 1_000)
    clock.ms += 600
    await store.renew_claims([kept.token], 1_000)
    clock.ms += 600
    taken = await store.claim_reason("b", 10, 1_000)
    assert list_sequences(taken) == list_sequences(left)
    await store.renew_claims([kept.token, left.token], 1_000)
    await finish(store, kept)
    with pytest.raises(LeaseLost):
        await finish(store, left)


async def test_a_claim_that_expired_is_taken_over_and_the_late_commit_refused(
    store, sequences, clock
):
    late = await store.claim_reason("late", 2, 1_000)
    clock.ms += 1_000
    taken = await store.claim_reason("quick", 2, 1_000)
    assert list_sequences(taken) == list_sequences(late)
    with pytest.raises(LeaseLost):
        await store.commit_reasoned(
            late, [reasoned_interaction(sequences[0], text(user(0), 1, "late"))]
        )
    await store.commit_reasoned(
        taken, [reasoned_interaction(sequences[0], text(user(0), 1, "quick"))]
    )
    assert (await store.load_texts([user(0)]))[user(0)].profile.lines[0].text == "quick"
    with pytest.raises(LeaseLost):
        await store.commit_reasoned(taken, [])


async def test_a_version_that_does_not_follow_changes_nothing(store, sequences):
    claim = await store.claim_reason("a", 10, 1_000)
    wrong = [
        reasoned_interaction(
            sequences[0], text(user(0), 1), gradients=(gradient(sequences[0], 3),)
        ),
        reasoned_interaction(sequences[1], text(user(1), 2)),
    ]
    with pytest.raises(VersionClash) as raised:
        await store.commit_reasoned(claim, wrong)
    assert raised.value.ref == user(1)
    assert (await store.load_texts([user(0)]))[user(0)].profile.version == 0
    assert await store.get_gradients(Module.ROUTER, None, 0, 10) == []
    await store.commit_reasoned(claim, wrong[:1])


async def test_several_versions_of_one_client_in_one_commit(store, sequences):
    claim = await store.claim_reason("a", 10, 1_000)
    await finish(
        store,
        claim,
        reasoned_interaction(sequences[0], text(user(0), 1, "heard"), text(user(0), 2, "kept")),
        reasoned_interaction(sequences[2], text(user(0), 3, "later")),
    )
    assert (await store.get_text_at(user(0), sequences[0])).profile.lines[0].text == "kept"
    assert (await store.get_text_at(user(0), sequences[1])).profile.version == 2
    assert (await store.get_text_at(user(0), sequences[5])).profile.lines[0].text == "later"
    assert await store.get_text_at(user(0), sequences[0] - 1) is None
    with pytest.raises(VersionClash):
        await store.commit_texts([text(user(0), 3)], [], sequences[5])


@pytest.mark.parametrize("strange", STRANGE)
async def test_a_text_comes_back_as_it_was(store, sequences, strange):
    written = text(user(0), 1, strange, watermark=3, cites=(5, 2))
    merge = MessageMerge(
        ref=user(0), profile_version=1, router=5, router_version=2, outcome=strange
    )
    await store.commit_texts([written], [merge], sequences[0])
    assert (await store.load_texts([user(0)]))[user(0)] == written
    assert (
        await list_merges(store, user(0)) == [merge] == await store.get_merges_of_message(5, 2, 9)
    )


async def test_versions_are_those_of_current_texts(store, sequences):
    await store.commit_texts(
        [text(user(0), 1, "first"), text(user(0), 2, "second"), text(user(1), 1, "other")],
        [],
        sequences[0],
    )
    assert await store.get_text_versions() == {user(0): 2, user(1): 1}
    assert await store.get_text_versions([user(0), user(4)]) == {user(0): 2}


async def test_a_client_without_text_has_an_empty_profile(store):
    (empty,) = (await store.load_texts([user(4)])).values()
    assert (empty.profile.ref, empty.profile.version, empty.profile.lines, empty.watermark) == (
        user(4),
        0,
        (),
        0,
    )


async def test_a_dead_letter_blocks_nobody(store, sequences):
    claim = await store.claim_reason("a", 10, 1_000)
    await finish(store, claim, reasoned_interaction(sequences[1], failure="no answer"))
    assert list(await store.get_dead_letters(10)) == [(sequences[1], "no answer")]
    assert await store.get_reasoned_through() == await store.get_learned_through()


async def test_an_export_leaves_out_the_reason_of_a_dead_letter(store, sequences):
    """A model's error may quote others."""
    claim = await store.claim_reason("a", 10, 1_000)
    await finish(store, claim, reasoned_interaction(sequences[1], failure="cannot rank Zelda"))
    [row] = await store.get_interactions([sequences[1]])
    exported = [record async for record in store.export_client(row.user)]
    assert ("dead_letter", {"sequence": sequences[1]}) in exported
    assert "Zelda" not in repr(exported)


async def test_gradients_are_read_by_owner_since_a_sequence(store, sequences):
    claim = await store.claim_reason("a", 10, 1_000)
    await finish(
        store,
        claim,
        *(
            reasoned_interaction(
                n, gradients=(gradient(n, 7), gradient(n, 3), gradient(n, user(0), Module.PROFILE))
            )
            for n in sequences[:3]
        ),
    )
    assert await store.get_gradients(Module.ROUTER, 7, sequences[0], 9) == [
        gradient(n, 7) for n in sequences[1:3]
    ]
    assert await store.get_gradients(Module.ROUTER, None, 0, 3) == [
        gradient(sequences[0], 3),
        gradient(sequences[0], 7),
        gradient(sequences[1], 3),
    ]


@pytest.fixture
async def letters(store, sequences):
    """Dead letters of the second, the third and the fifth interaction."""
    claim = await store.claim_reason("a", 10, 1_000)
    dead = [sequences[place] for place in (1, 2, 4)]
    await finish(
        store,
        claim,
        *(reasoned_interaction(sequence, failure=f"no answer to {sequence}") for sequence in dead),
    )
    return dead


async def test_dead_letters_are_claimed_oldest_first_and_held_by_one(store, letters, clock):
    assert await store.claim_dead_letters("a", 2, 1_000) is None, "none is queued"
    assert await store.queue_dead_letters(None) == 3
    first = await store.claim_dead_letters("a", 2, 1_000)
    assert list_sequences(first) == letters[:2]
    second = await store.claim_dead_letters("b", 2, 5_000)
    assert list_sequences(second) == letters[2:]
    assert await store.claim_dead_letters("c", 2, 1_000) is None
    clock.ms += 1_000
    third = await store.claim_dead_letters("c", 9, 1_000)
    assert list_sequences(third) == letters[:2]
    with pytest.raises(LeaseLost):
        await store.commit_reasoned(first, [])


async def test_a_dead_letter_waits_for_an_earlier_one_of_its_user(store, sequences):
    claim = await store.claim_reason("a", 10, 1_000)
    await finish(
        store, claim, *(reasoned_interaction(sequence, failure="away") for sequence in sequences)
    )
    await store.queue_dead_letters(None)
    first = await store.claim_dead_letters("a", 1, 1_000)
    assert list_sequences(first) == sequences[:1]
    others = await store.claim_dead_letters("b", 10, 1_000)
    assert list_sequences(others) == [sequences[1], sequences[3], sequences[4]]
    await store.commit_reasoned(first, [reasoned_interaction(sequences[0], late=99)])
    assert list_sequences(await store.claim_dead_letters("c", 10, 1_000)) == [
        sequences[2],
        sequences[5],
    ]


async def test_what_succeeds_late_is_a_dead_letter_no_more_and_what_fails_again_stays_one(
    store, letters
):
    late = await store.get_recorded_through()
    await store.queue_dead_letters(None)
    claim = await store.claim_dead_letters("a", 9, 1_000)
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(letters[0], text(user(1), 1, "late"), late=late),
            reasoned_interaction(letters[1], failure="still no answer", late=late),
        ],
    )
    assert list(await store.get_dead_letters(9)) == [
        (letters[1], "still no answer"),
        (letters[2], f"no answer to {letters[2]}"),
    ]
    assert await store.get_text_at(user(1), late - 1) is None
    assert (await store.get_text_at(user(1), late)).profile.lines[0].text == "late"
    assert await store.get_reasoned_through() == await store.get_learned_through()
    assert list_sequences(await store.claim_dead_letters("a", 9, 1_000)) == letters[2:], (
        "what failed again is queued no more"
    )


async def test_only_what_was_queued_is_tried_again(store, sequences, letters):
    assert not await store.has_queued_dead_letters()
    assert await store.queue_dead_letters([letters[1], sequences[0], 999]) == 1
    assert await store.queue_dead_letters([letters[1]]) == 1, "it is queued already"
    assert await store.has_queued_dead_letters()
    claim = await store.claim_dead_letters("a", 9, 1_000)
    assert list_sequences(claim) == letters[1:2]
    await store.commit_reasoned(claim, [reasoned_interaction(letters[1], failure="no", late=99)])
    assert not await store.has_queued_dead_letters()
    assert await store.queue_dead_letters([]) == 0


async def test_dead_letters_are_listed_with_their_attempts_newest_first(store, sequences, clock):
    claim = await store.claim_reason("a", 10, 1_000)
    exchange = ModelExchange("[user]\nWhich is “better”?", "neither")
    first, second, third, *_ = sequences
    await finish(
        store,
        claim,
        reasoned_interaction(first, failure="no answer", attempts=3, exchange=exchange),
        reasoned_interaction(second),
        reasoned_interaction(third, failure="away"),
    )
    at = clock.now_ms()
    assert list(await store.get_failed_reasoning(9)) == [
        FailedReasoning(third, "away", 1, at, ModelExchange(), queued=False),
        FailedReasoning(first, "no answer", 3, at, exchange, queued=False),
    ]
    assert [one.sequence for one in await store.get_failed_reasoning(9, third)] == [first]
    assert [one.sequence for one in await store.get_failed_reasoning(1)] == [third]
    await store.queue_dead_letters(None)
    assert all(one.queued for one in await store.get_failed_reasoning(9))
    clock.ms += 5_000
    claim = await store.claim_dead_letters("a", 9, 1_000)
    again = ModelExchange("and now?", "")
    late = await store.get_recorded_through()
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(first, failure="still", attempts=2, exchange=again, late=late),
            reasoned_interaction(third, late=late),
        ],
    )
    [stays] = await store.get_failed_reasoning(9)
    assert stays == FailedReasoning(first, "still", 5, clock.now_ms(), again, queued=False)


async def test_versions_of_many_and_of_nobody(store, sequences):
    assert await store.get_text_versions() == {}
    assert await store.get_text_versions([]) == {}
    await store.commit_texts(
        [text(item(1), 1), text(user(2), 1), text(item(1), 2)], [], sequences[0]
    )
    assert await store.get_text_versions([item(1), user(2), user(0)]) == {item(1): 2, user(2): 1}


async def test_texts_of_any_version(store, sequences):
    await store.commit_texts(
        [text(user(0), 1, "first"), text(user(0), 2, "second"), text(user(1), 1, "other")],
        [],
        sequences[0],
    )
    found = await store.get_texts_of_versions(
        [(user(0), 1), (user(1), 1), (user(0), 1), (user(0), 3), (user(7), 1)]
    )
    assert {key: then.profile.lines[0].text for key, then in found.items()} == {
        (user(0), 1): "first",
        (user(1), 1): "other",
    }


async def test_reach_counts_clients_once_and_every_outcome(store, sequences):
    claim = await store.claim_reason("a", 10, 1_000)
    heard = [
        MessageMerge(user(0), 1, 3, 1, "merged"),
        MessageMerge(user(0), 1, 3, 2, "merged"),
        MessageMerge(user(1), 1, 3, 1, "merged"),
        MessageMerge(user(1), 1, 3, 2, "filtered"),
        MessageMerge(user(0), 1, 5, 1, "fell out"),
        MessageMerge(user(1), 1, 5, 1, "empty"),
    ]
    assert await store.count_message_reach(9) == []
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(
                sequences[0], text(user(0), 1), text(user(1), 1), merges=tuple(heard)
            )
        ],
    )
    assert await store.count_message_reach(9) == [
        MessageReach(router=3, clients=2, merged=3, filtered=1, empty=0, fell_out=0),
        MessageReach(router=5, clients=0, merged=0, filtered=0, empty=1, fell_out=1),
    ]
    assert await store.count_message_reach(3) == [
        MessageReach(router=3, clients=0, merged=0, filtered=1, empty=0, fell_out=0),
        MessageReach(router=5, clients=0, merged=0, filtered=0, empty=1, fell_out=1),
    ]


async def test_merges_are_numbered_in_the_order_of_their_commits_and_no_number_comes_twice(
    store, sequences
):
    def make_merges(*routers):
        return [
            MessageMerge(
                ref=user(0), profile_version=1, router=router, router_version=1, outcome="merged"
            )
            for router in routers
        ]

    assert (await store.get_merges_through(), await store.get_merges_after(0, 9, 9)) == (0, [])
    await store.commit_texts([text(user(0), 1)], make_merges(3, 1), sequences[2])
    claim = await store.claim_reason("a", 10, 1_000)
    await finish(
        store,
        claim,
        reasoned_interaction(sequences[0], merges=tuple(make_merges(2))),
        reasoned_interaction(sequences[1], failure="no answer"),
    )
    assert await store.get_merges_through() == 3
    found = await store.get_merges_after(0, 9, 9)
    assert [(one.number, one.sequence, one.merge.router) for one in found] == [
        (1, sequences[2], 3),
        (2, sequences[2], 1),
        (3, sequences[0], 2),
    ]
    assert [one.number for one in await store.get_merges_after(1, 9, 1)] == [2]
    assert [one.number for one in await store.get_merges_after(0, 2, 9)] == [1, 2]


async def test_the_number_of_a_merge_that_was_dropped_is_not_given_again(store, sequences, reopen):
    merge = MessageMerge(
        ref=user(0), profile_version=1, router=3, router_version=1, outcome="merged"
    )
    await store.commit_texts([text(user(0), 1)], [merge, merge], sequences[0])
    while await store.prune(await store.get_recorded_through(), 10) is not None:
        pass
    store = await reopen()
    assert (await store.get_merges_through(), await store.get_merges_after(0, 9, 9)) == (2, [])
    await store.commit_texts([], [merge], sequences[0])
    assert [one.number for one in await store.get_merges_after(0, 9, 9)] == [3]


def vary_text(before: ClientText, random: Random) -> ClientText:
    """The next version of a text, in which some lines and rules stay, and some do not."""
    profile = before.profile
    sources = [Source(sequence=random.randrange(1, 9)), Source(router=3, version=2)]
    lines = [
        replace(
            line,
            weight=line.weight + random.choice([0.0, 0.1]),
            sources=(*line.sources, *random.sample(sources, random.choice([0, 0, 1, 2]))),
        )
        for line in profile.lines
        if random.random() < 0.8
    ]
    lines.append(
        Line(
            id=profile.next_id,
            text=random.choice(STRANGE),
            attributes=tuple(random.sample(STRANGE, 2)),
            weight=random.random() + 0.1,
            sources=(sources[0],),
            author=random.choice(list(Author)),
        )
    )
    if random.random() < 0.5:
        random.shuffle(lines)
    memory = before.filter_memory
    if random.random() < 0.6:
        memory = memory.with_rule(
            FilterRule(
                random.uniform(0.25, 4),
                random.choice(STRANGE),
                router=(router := random.choice([None, 0, 4])),
                attribute="jazz" if router is None else None,
                evidence=(1, 2),
                age=random.randrange(9),
            )
        )
    return ClientText(
        profile=Profile(
            ref=profile.ref,
            version=profile.version + 1,
            lines=tuple(lines),
            next_id=profile.next_id + 1,
        ),
        filter_memory=memory,
        watermark=before.watermark,
        dropped=before.dropped + 1,
    )


async def test_every_version_is_read_as_it_was_written(store):
    random = Random(7)
    recorded = await record_pairs(store, *[("ann", "red"), ("ann", "blue")] * 4)
    await learn_all(store)
    while claim := await store.claim_reason("w", 9, 1_000):
        await finish(store, claim)
    written: list[ClientText] = [ClientText.empty(user(0))]
    for number in range(1, 25):
        written.append(vary_text(written[-1], random))
        if number % 3 == 0:  # several versions of one client in one commit
            await store.commit_texts(written[-3:], [], recorded[number // 3 - 1])
    del written[0]
    assert await store.check() == []
    assert (await store.load_texts([user(0)]))[user(0)] == written[-1]
    keys = [(user(0), text.profile.version) for text in written]
    assert await store.get_texts_of_versions(keys) == dict(zip(keys, written, strict=True))
    for place, sequence in enumerate(recorded, 1):
        assert await store.get_text_at(user(0), sequence) == written[3 * place - 1]
    while await store.prune(recorded[4], 4) is not None:
        pass
    kept = await store.get_texts_of_versions(keys)
    assert len(kept) < len(keys)
    assert all(kept[key] == text for key, text in zip(keys, written, strict=True) if key in kept)
    assert (user(0), 24) in kept
    assert await store.check() == []
