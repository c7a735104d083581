"""Versions of texts and of messages, newest first, and what became of messages."""

import pytest

from propagation.model import DatedText, MessageFate, MessageMerge
from tests.contract.graph_store import (
    item,
    learn_all,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
)

ANN, BOB = user(0), user(1)


@pytest.fixture
async def sequences(store):
    recorded = await record_pairs(store, ("ann", "blue"), ("bob", "red"), ("ann", "green"))
    await learn_all(store)
    return recorded


async def test_versions_of_a_text_come_newest_first_with_their_places(store, sequences, clock):
    first, second, third = (text(ANN, version, f"says {version}") for version in (1, 2, 3))
    await store.commit_texts([first], [], 1, written_by="extract@2")
    early = clock.now_ms()
    clock.ms += 7_000
    claim = await store.claim_reason("w", 9, 1_000)
    await store.commit_reasoned(claim, [reasoned_interaction(sequences[0], second)])
    await store.commit_texts([third, text(BOB, 1)], [], sequences[2])
    late = clock.now_ms()
    expected = [
        DatedText(third, sequences[2], late),
        DatedText(second, sequences[0], late),
        DatedText(first, 1, early, "extract@2"),
    ]
    assert list(await store.get_text_history(ANN, 9)) == expected
    assert list(await store.get_text_history(ANN, 1, 3)) == expected[1:2]
    assert list(await store.get_text_history(ANN, 9, 1)) == []
    assert list(await store.get_text_history(item(2), 9)) == []


async def test_merges_are_found_by_the_version_that_they_wrote(store, sequences):
    await run_round(store, versions=(message(3, 1, BOB), message(4, 1, BOB)))
    merges = [
        MessageMerge(ANN, 1, 4, 1, "filtered"),
        MessageMerge(ANN, 1, 3, 1, "merged"),
        MessageMerge(ANN, 2, 3, 1, "empty"),
        MessageMerge(BOB, 1, 3, 1, "merged"),
    ]
    await store.commit_texts([text(ANN, 1), text(ANN, 2), text(BOB, 1)], merges, sequences[2])
    assert list(await store.get_merges_into(ANN, [1])) == [merges[1], merges[0]]
    assert list(await store.get_merges_into(ANN, [2, 1, 7])) == [merges[1], merges[0], merges[2]]
    assert list(await store.get_merges_into(ANN, [])) == []


async def test_versions_of_a_router_come_newest_first(store, sequences):
    for version in (1, 2, 3):
        await run_round(store, versions=(message(3, version, ANN, words=f"says {version}"),))
    found = await store.get_router_history(3, 9)
    assert [(one.version, one.text) for one in found] == [
        (3, "says 3"),
        (2, "says 2"),
        (1, "says 1"),
    ]
    assert [one.version for one in await store.get_router_history(3, 1, 3)] == [2]
    assert list(await store.get_router_history(5, 9)) == []


async def test_a_message_that_is_not_published_is_in_no_history(store, sequences):
    await run_round(store, versions=(message(3, 1, ANN),))
    await run_round(store, versions=(message(3, 2, ANN),), publish=False)
    assert [one.version for one in await store.get_router_history(3, 9)] == [1]


async def test_what_became_of_messages_is_counted_by_version(store, sequences):
    await run_round(store, versions=(message(3, 1, item(0)),))
    await run_round(store, versions=(message(3, 2, item(0)),))
    outcomes = ["merged", "filtered", "empty", "fell out", "no room", "merged"]
    refs = [ANN, BOB, item(0), item(1), item(2)]
    merges = [
        *(MessageMerge(ref, 1, 3, 1, said) for ref, said in zip(refs, outcomes, strict=False)),
        MessageMerge(BOB, 2, 3, 2, "merged"),
        MessageMerge(ANN, 1, 3, 2, "merged"),
    ]
    texts = [*(text(ref, 1) for ref in refs), text(BOB, 2)]
    await store.commit_texts(texts, merges, sequences[2])
    first = MessageFate(merged=1, filtered=1, empty=1, fell_out=1, other=1, first=(ANN,))
    both = tuple(sorted((ANN, BOB)))
    fates = await store.get_message_fates(3, [1, 2], 9)
    assert dict(fates) == {1: first, 2: MessageFate(merged=2, first=both)}
    assert (await store.get_message_fates(3, [2], 1))[2].first == both[:1]
    assert (await store.get_message_fates(3, [2], 0))[2] == MessageFate(merged=2)
    assert (await store.get_message_fates(9, [1], 5)).get(1, MessageFate()) == MessageFate()
