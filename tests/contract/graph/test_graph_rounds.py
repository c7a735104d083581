"""The round port: staging, one publication, time travel, and messages that arrive as if they had
been copied."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from propagation.model import Attribute, EntryKind, Epoch, IntegratedAttribute, LeaseLost
from propagation.ports import POSTPONED_ARRIVALS
from tests.contract.graph_store import (
    MAKERS,
    MARKED,
    TurnedClock,
    checkpoint,
    create_clients,
    edge,
    item,
    list_edges_at,
    message,
    record_pairs,
    run_round,
    text,
    user,
)

ANN, BOB = user(0), user(1)


@pytest.fixture
async def store(reopen):
    store = await reopen()
    await create_clients(store)
    return store


def list_versions(waiting, ref):
    return [(message.router, message.version) for message in waiting[ref]]


async def test_a_round_is_invisible_until_it_is_published(store):
    round_ = await run_round(
        store, versions=(message(3, 1, BOB),), opened=(edge(3, ANN),), publish=False
    )
    lease = await store.acquire_lease("round", "test", 60_000)
    await store.stage_attributes(
        lease, round_, [Attribute(name="jazz", router=3, holders=2)], {BOB: ("jazz",)}
    )
    assert await store.get_last_round() is None, "before: no round"
    assert (
        await store.get_edges([ANN]),
        await list_edges_at(store, ANN, 99),
        await store.get_members(3, 9),
    ) == ({ANN: []}, [], []), "before: no edges"
    assert (
        await store.get_router_versions([3]),
        await store.get_router_version(3, 1),
        await store.get_contributions(BOB, 9),
    ) == ([], None, []), "before: no router versions"
    assert list_versions(await store.get_waiting_messages({ANN: 0}), ANN) == [], (
        "before: no message waits"
    )
    assert (await store.get_attributes(["jazz"]), await store.get_client_attributes([BOB])) == (
        {},
        {BOB: ()},
    ), "before: no attributes"
    published = await store.publish_round(lease, round_)
    assert await store.get_last_round() == published, "after: the round"
    assert [found.ref for found in (await store.get_edges([ANN]))[ANN]] == [ANN], "after: its edge"
    assert list_versions(await store.get_waiting_messages({ANN: 0}), ANN) == [(3, 1)], (
        "after: its message waits"
    )
    assert (await store.get_attributes(["jazz", "opera"]))["jazz"].holders == 2, (
        "after: its attributes"
    )
    assert (
        await store.get_client_attributes([BOB, ANN]),
        await store.get_holders(["jazz", "dub"], 9),
    ) == ({BOB: ("jazz",), ANN: ()}, {"jazz": [BOB]}), "after: who holds them"


async def test_members_are_counted_as_they_are_listed_whatever_a_round_has_staged(store):
    changes = (
        ((), (edge(3, ANN), edge(3, BOB), edge(4, ANN))),
        (((4, ANN),), (edge(3, ANN, 0.7), edge(5, BOB))),
        (((3, BOB),), (edge(4, ANN, 0.2), edge(4, BOB))),
    )
    routers = (3, 4, 5, 6)
    published = [await run_round(store, closed=closed, opened=opened) for closed, opened in changes]
    await run_round(
        store, closed=((3, ANN),), opened=(edge(4, BOB, 0.9), edge(6, ANN)), publish=False
    )
    for at in (None, *(round_.sequence for round_ in published)):
        listed = {router: len(await store.get_members(router, 9, at)) for router in routers}
        expected = {router: count for router, count in listed.items() if count}
        assert expected
        assert await store.count_members((*routers, 3), at) == expected
        assert await store.count_members([3], at) == {3: expected[3]}


async def test_the_last_rounds_are_the_published_ones_newest_last(store):
    assert await store.get_last_rounds(5) == []
    published = [await run_round(store, boundary=boundary) for boundary in (1, 2, 3)]
    await run_round(store, publish=False)
    assert await store.get_last_rounds(5) == published
    assert await store.get_last_rounds(2) == published[1:]
    assert await store.get_last_round() == published[-1]


async def test_a_round_is_an_entry_of_the_log(store):
    await record_pairs(store, ("u0", "i0"))
    published = await run_round(store, boundary=2)
    (entry,) = (await store.read_log(2, 9)).entries
    assert (entry.kind, entry.number, entry.sequence) == (
        EntryKind.ROUND,
        published.number,
        published.sequence,
    )


async def test_what_a_crashed_round_staged_is_discarded(store, reopen):
    await run_round(store, versions=(message(3, 1, BOB),), opened=(edge(3, ANN),))
    await run_round(
        store,
        versions=(message(3, 2, BOB), message(4, 1, BOB)),
        closed=((3, ANN),),
        opened=(edge(4, ANN),),
        publish=False,
    )
    store = await reopen()
    assert [found.router for found in (await store.get_edges([ANN]))[ANN]] == [3]
    published = await run_round(store, versions=(message(3, 2, BOB, words="again"),))
    assert published.number == 2
    assert [found.router for found in (await store.get_edges([ANN]))[ANN]] == [3]
    assert (await store.get_router_version(3, 2)).text == "again"
    assert await store.get_router_version(4, 1) is None


async def test_a_round_that_was_not_published_leaves_the_postponed_arrivals(store, clock, reopen):
    lease = await store.acquire_lease("round", "test", 60_000)
    await store.publish_round(lease, await store.begin_round(lease, 0), b"of round 1")
    await run_round(store, versions=(message(3, 1, BOB),), publish=False)
    store = await reopen()
    assert await store.get_blob(POSTPONED_ARRIVALS) == b"of round 1"
    await run_round(store)
    assert await store.get_blob(POSTPONED_ARRIVALS) == b"of round 1"
    old = await store.acquire_lease("round", "test", 60_000)
    round_ = await store.begin_round(old, 0)
    clock.ms += 60_001
    new = await store.acquire_lease("round", "other", 60_000)
    with pytest.raises(LeaseLost):
        await store.publish_round(old, round_, b"late")
    assert await store.get_blob(POSTPONED_ARRIVALS) == b"of round 1"
    await store.publish_round(new, round_, b"")
    assert await store.get_blob(POSTPONED_ARRIVALS) == b""


async def test_a_round_whose_lease_was_lost_publishes_nothing(store, clock):
    round_ = await run_round(store, versions=(message(3, 1, BOB),), publish=False)
    old = await store.acquire_lease("round", "test", 60_000)
    clock.ms += 60_001
    await store.acquire_lease("round", "other", 60_000)
    for commit in (
        store.begin_round(old, 0),
        store.stage_edges(old, round_, [], [edge(1, ANN)]),
        store.stage_routers(old, round_, []),
        store.stage_attributes(old, round_, [], {}),
        store.publish_round(old, round_),
    ):
        with pytest.raises(LeaseLost):
            await commit
    assert await store.get_last_round() is None


async def test_a_round_is_published_once(store):
    published = await run_round(store)
    lease = await store.acquire_lease("round", "test", 60_000)
    with pytest.raises(LeaseLost):
        await store.publish_round(lease, published)
    assert (await store.get_last_round()).number == 1


async def test_edges_as_they_stood(store):
    first = await run_round(
        store, opened=(edge(1, ANN, 0.25), edge(2, ANN, 0.75), edge(1, BOB, 0.5))
    )
    second = await run_round(store, closed=((1, ANN), (2, ANN)), opened=(edge(2, ANN, 0.125),))
    assert await list_edges_at(store, ANN, first.sequence - 1) == []
    then = await list_edges_at(store, ANN, second.sequence - 1)
    assert [(found.router, found.score) for found in then] == [(2, 0.75), (1, 0.25)]
    (now,) = (await store.get_edges([ANN]))[ANN]
    assert (now.router, now.score, now.from_sequence) == (2, 0.125, second.sequence)
    assert await list_edges_at(store, ANN, second.sequence) == [now]
    assert [found.ref for found in await store.get_members(1, 9)] == [BOB]


async def test_members_come_by_score_then_ref(store):
    await run_round(store, opened=(edge(1, item(0), 0.5), edge(1, BOB, 0.5), edge(1, ANN, 0.75)))
    assert [found.ref for found in await store.get_members(1, 9)] == [ANN, *sorted((item(0), BOB))]
    assert len(await store.get_members(1, 2)) == 2


async def test_edges_of_several_routers_are_those_that_stand(store):
    await run_round(
        store,
        opened=(edge(1, item(0), 0.5), edge(1, BOB, 0.25), edge(2, BOB, 0.75), edge(3, ANN, 0.5)),
    )
    await run_round(store, closed=((1, BOB),), opened=(edge(2, ANN, 0.5),))
    await run_round(store, closed=((2, ANN),), opened=(edge(1, ANN, 0.5),), publish=False)
    members = [*(await store.get_members(1, 9)), *(await store.get_members(2, 9))]
    assert sorted(await store.get_edges_to([2, 1, 8]), key=str) == sorted(members, key=str)
    assert [(found.router, found.ref) for found in members] == [(1, item(0)), (2, BOB), (2, ANN)]
    assert await store.get_edges_to([]) == []


async def test_a_router_version_comes_whole_and_shortened(store):
    await run_round(
        store, versions=(replace(message(3, 1, ANN, BOB, ANN, user(2)), written_by="summarize@2"),)
    )
    whole = await store.get_router_version(3, 1)
    assert whole.written_by == "summarize@2"
    assert [part.ref for part in whole.integrated] == [ANN, BOB, ANN, user(2)]
    assert (whole.round, whole.standing, whole.attributes) == (1, (("jazz", 0.3),), ("jazz",))
    (brief,) = await store.get_router_versions([3, 8])
    assert brief.senders == {ANN, BOB}
    assert replace(brief, integrated=whole.integrated) == whole
    (mine,) = await store.get_contributions(BOB, 9)
    assert [part.ref for part in mine.integrated] == [BOB]


async def test_messages_by_key_with_some_of_their_senders(store):
    await run_round(store, versions=(message(3, 1, BOB, ANN, ANN, user(2)), message(5, 1)))
    await run_round(store, versions=(message(3, 2, ANN),), publish=False)
    found = await store.get_messages([(3, 1), (5, 1), (3, 2), (9, 1)], 2)
    assert set(found) == {(3, 1), (5, 1)}
    assert [part.ref for part in found[3, 1].integrated] == sorted([ANN, BOB])
    whole = await store.get_router_version(3, 1)
    assert replace(found[3, 1], integrated=whole.integrated) == whole
    assert (await store.get_messages([(3, 1)], 0))[3, 1].integrated == ()


async def test_the_newest_version_of_each_router(store):
    await run_round(store, versions=(message(3, 1, ANN), message(5, 1, ANN)))
    await run_round(store, versions=(message(3, 2, BOB),))
    await run_round(store, versions=(message(3, 3, BOB),), publish=False)
    assert [
        (version.router, version.version) for version in await store.get_router_versions([5, 3])
    ] == [(3, 2), (5, 1)]
    assert [
        (version.router, version.version) for version in await store.get_contributions(ANN, 1)
    ] == [(3, 1)]


async def open_epoch(store, number, era):
    learning = await store.acquire_lease("learn", "me", 100_000)
    await store.open_epoch(
        learning,
        Epoch(number=number, sequence=0, session_k=4, taste_k=6, era=era),
        checkpoint(0, barrier=True, epoch=number),
    )


async def test_a_new_client_does_not_hear_a_router_of_an_earlier_bootstrap(store):
    """A client of an earlier edge hears what was sent to it then; an evolution changes nothing."""
    await open_epoch(store, 1, 1)
    await run_round(
        store, versions=(message(3, 1, BOB), message(4, 1, BOB)), opened=(edge(3, BOB),)
    )
    await run_round(store, opened=(edge(4, item(0)),))
    await open_epoch(store, 2, 2)
    await run_round(
        store, versions=(replace(message(4, 2, BOB), epoch=2),), opened=(edge(3, ANN), edge(4, ANN))
    )
    await open_epoch(store, 3, 2)
    await run_round(store, opened=(edge(3, item(1)), edge(4, item(1))))
    waiting = await store.get_waiting_messages(dict.fromkeys((ANN, item(0), item(1)), 0))
    assert list_versions(waiting, ANN) == [(4, 2)], (
        "its first edge opened in the round after a bootstrap"
    )
    assert list_versions(waiting, item(0)) == [(4, 2)], "what was sent later, in place of the first"
    assert list_versions(waiting, item(1)) == [(4, 2)], "its first edge opened after an evolution"
    earlier = await store.get_waiting_messages({item(0): 0}, 2)
    assert list_versions(earlier, item(0)) == [(4, 1)], "its first edge opened before the bootstrap"


async def test_a_router_of_an_earlier_bootstrap_was_another_community(store):
    """Numbers go on; an evolution's epoch is of its bootstrap's era."""

    async def read_newest_versions(at=None):
        return [
            (version.router, version.version)
            for version in await store.get_router_versions([5, 4, 3], at)
        ]

    before = [replace(message(router, 1, ANN), epoch=0) for router in (3, 4, 5)]
    await run_round(store, versions=tuple(before))
    assert await read_newest_versions() == [(3, 1), (4, 1), (5, 1)]
    await open_epoch(store, 1, 1)
    at = await store.get_recorded_through()
    assert await read_newest_versions() == []
    await run_round(store, versions=(message(3, 2, ANN), message(5, 2, ANN)))
    assert await read_newest_versions() == [(3, 2), (5, 2)]
    await open_epoch(store, 2, 1)
    await run_round(store, versions=(replace(message(3, 3, ANN), epoch=2),))
    assert await read_newest_versions() == [(3, 3), (5, 2)]
    assert await store.get_version_numbers([5, 4, 3, 9]) == {3: 3, 4: 1, 5: 2}
    assert (await read_newest_versions(at - 1), await read_newest_versions(at)) == (
        [(3, 1), (4, 1), (5, 1)],
        [],
    )


async def test_clients_changed_between_two_sequences(store):
    first, second, third = await record_pairs(store, *[("u0", "i0")] * 3)
    await store.commit_texts([text(BOB, 1)], [], first)
    await store.commit_texts([text(ANN, 1), text(BOB, 2)], [], second)
    await store.commit_texts([text(item(0), 1)], [], third)
    assert list(await store.find_changed_clients(first - 1, second)) == sorted([ANN, BOB])
    assert list(await store.find_changed_clients(second, third)) == [item(0)]


async def test_messages_of_a_later_round_wait_for_a_later_reader(store):
    await run_round(store, versions=(message(3, 1, BOB),), opened=(edge(3, ANN),))
    await run_round(
        store, versions=(message(3, 2, BOB), message(4, 1, BOB)), opened=(edge(4, ANN),)
    )
    assert list_versions(await store.get_waiting_messages({ANN: 0}, 1), ANN) == [(3, 1)]
    assert list_versions(await store.get_waiting_messages({ANN: 1}), ANN) == [(3, 2), (4, 1)]


class Copies:
    """The other way to multicast: a copy of each message into each covered client's queue when it
    is sent, but for the client that it comes from alone."""

    def __init__(self):
        self.current, self.edges, self.queues = {}, {}, {}

    def round(self, number, closed, opened, sent):
        known = set(self.queues)
        for router, ref in closed:
            self.edges[ref].discard(router)
        for router, ref in opened:
            self.edges.setdefault(ref, set()).add(router)
            self.queues.setdefault(ref, {})
        for router, senders in sent.items():
            version, *_ = self.current.get(router, (0,))
            self.current[router] = (version + 1, number, senders)
        for ref, queue in self.queues.items():
            for router in self.edges[ref]:
                if (
                    router in self.current
                    and (router in sent or ref not in known)
                    and self.current[router][2] != {ref}
                ):
                    queue[router] = self.current[router]

    def receive(self, ref):
        queue = self.queues.get(ref, {})
        waiting = sorted(
            ((router, version, sent) for router, (version, sent, _) in queue.items()),
            key=lambda row: (-row[2], row[0]),
        )
        queue.clear()
        return [(router, version) for router, version, _ in waiting]


ROUTERS, CLIENTS = range(3), (user(0), user(1), item(0))
ROUND = st.tuples(
    st.dictionaries(st.sampled_from(ROUTERS), st.sets(st.sampled_from(CLIENTS), min_size=1)),
    st.sets(st.tuples(st.sampled_from(ROUTERS), st.sampled_from(CLIENTS))),
    st.sets(st.sampled_from(CLIENTS)),
)


async def test_what_comes_from_a_client_alone_takes_no_place_of_what_it_has_not_heard(store):
    await run_round(store, versions=(message(3, 1, ANN, BOB),), opened=(edge(3, ANN), edge(3, BOB)))
    await run_round(store, versions=(message(3, 2, ANN),))
    waiting = await store.get_waiting_messages({ANN: 0, BOB: 0})
    assert list_versions(waiting, ANN) == [(3, 1)]
    assert list_versions(waiting, BOB) == [(3, 2)]


EXAMPLES = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


@pytest.mark.parametrize("made", MARKED)
@given(rounds=st.lists(ROUND, min_size=1, max_size=7))
@settings(max_examples=40, **EXAMPLES)
async def test_what_arrives_is_the_same_as_if_copied(tmp_path_factory, made, rounds):
    """Each round: who sends and from whom, which edges are current then, and who receives (and
    notes the round as its watermark). Nobody receives what came from itself alone."""
    store = MAKERS[made](tmp_path_factory.mktemp("copies"), TurnedClock())
    await store.open()
    try:
        await create_clients(store)
        copies, current, watermarks = Copies(), set(), dict.fromkeys(CLIENTS, 0)
        for number, (sent, table, receivers) in enumerate(rounds, 1):
            closed, opened = sorted(current - table), sorted(table - current)
            copies.round(number, closed, opened, sent)
            current = table
            versions = tuple(
                message(router, copies.current[router][0], *sorted(sent[router]))
                for router in sorted(sent)
            )
            await run_round(
                store,
                versions=versions,
                closed=tuple(closed),
                opened=tuple(edge(*pair) for pair in opened),
            )
            waiting = await store.get_waiting_messages({ref: watermarks[ref] for ref in receivers})
            for ref in receivers:
                assert list_versions(waiting, ref) == copies.receive(ref)
                assert all(one.senders != {ref} for one in waiting[ref])
                if waiting[ref]:
                    watermarks[ref] = number
    finally:
        await store.close()


async def test_rounds_one_after_another_and_what_each_sent(store):
    first = await run_round(store, versions=(message(4, 1, BOB), message(3, 1, BOB)))
    second = await run_round(store, versions=(message(3, 2, BOB),))
    await run_round(store, versions=(message(3, 3, BOB), message(5, 1, BOB)), publish=False)
    assert await store.get_rounds_after(0, 9) == [first, second]
    assert await store.get_rounds_after(0, 1) == [first]
    assert await store.get_rounds_after(first.number, 9) == [second]
    assert await store.get_rounds_after(second.number, 9) == []
    assert [
        (sent.router, sent.version, sent.sequence)
        for sent in await store.get_messages_of(first.number)
    ] == [(3, 1, first.sequence), (4, 1, first.sequence)]
    assert [(sent.router, sent.version) for sent in await store.get_messages_of(second.number)] == [
        (3, 2)
    ]
    assert await store.get_messages_of(second.number + 1) == []


async def test_what_messages_were_integrated_from_by_attribute_but_by_one(store):
    jazz = message(3, 1, user(0), user(1), item(2))
    opera = replace(
        jazz,
        version=1,
        router=4,
        integrated=tuple(
            IntegratedAttribute(attribute=name, ref=user(1), profile_version=2, sequence=5)
            for name in ("opera", "jazz")
        ),
    )
    await run_round(store, versions=(jazz, opera))
    found = await store.get_parts_carrying([(3, 1), (4, 1), (9, 9)], ["jazz", "blues"], user(0))
    assert {
        key: [(part.attribute, part.ref) for part in parts] for key, parts in found.items()
    } == {(3, 1): [("jazz", user(1)), ("jazz", item(2))], (4, 1): [("jazz", user(1))]}
    assert await store.get_parts_carrying([(4, 1)], [], user(0)) == {}
    assert await store.get_parts_carrying([], ["jazz"], user(0)) == {}
    assert found[4, 1] == [opera.integrated[1]]
