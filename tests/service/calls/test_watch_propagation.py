"""WatchPropagation: each event once, also over restarts; gaps with their number of events."""

import asyncio
import collections
import contextlib

import grpc
import pytest

from propagation.model import MessageMerge
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.watch import Position, WatchEventKind
from services.grpc.handlers import watch_propagation
from services.grpc.handlers.watch_propagation import ResumeTokens
from services.security.roles import Role
from tests.service.scenarios import propagate_opera

ROUND, MESSAGE, MERGE, EVOLUTION, GAP = (
    getattr(pb, f"PROPAGATION_EVENT_KIND_{name}")
    for name in ("ROUND", "MESSAGE", "MERGE", "EVOLUTION", "GAP")
)


def open_watch(service, token="", kinds=(), *, count_merges=False, **options):
    return service.stub.WatchPropagation(
        pb.WatchPropagationRequest(resume_token=token, kinds=kinds, count_merges=count_merges),
        **options,
    )


async def read_first_token(call):
    """Wait until the stream is open; return the token of its start."""
    return dict(await call.initial_metadata())["propagation-resume-token"]


async def read_all(call, seconds=0.4):
    """Read events until none comes for some time."""
    events = []
    with contextlib.suppress(TimeoutError):
        while True:
            event = await asyncio.wait_for(call.read(), seconds)
            if event is grpc.aio.EOF:
                break
            events.append(event)
    return events


async def keep_reading(call, events):
    while (event := await call.read()) is not grpc.aio.EOF:
        events.append(event)


def identify(event):
    """Return the parts that make an event unique."""
    return (
        event.kind,
        event.sequence,
        event.round.number,
        event.message.router,
        event.message.version,
        str(event.merge),
        event.missed,
    )


def select_kind(events, kind):
    return [identify(event) for event in events if event.kind == kind]


async def run_another_round(service, wave):
    """Run a round that sends messages, and merge them."""
    stub = service.stub
    for n, user in enumerate(("ann", "bob", "cid")):
        await stub.RecordInteractions(
            pb.RecordInteractionsRequest(
                interactions=[
                    pb.Interaction(
                        event_id=f"{user}-{wave}", user_id=user, item_id=f"i{(wave + n) % 20}"
                    )
                ]
            )
        )
    await stub.RunRound(pb.RunRoundRequest(drain=True))
    for user in ("ann", "bob", "cid"):
        await stub.GetProfile(
            pb.GetProfileRequest(
                key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=user), freshness=pb.FRESHNESS_MERGED
            )
        )


async def test_a_message_comes_before_its_merges_and_after_its_round(service):
    call = open_watch(service)
    await read_first_token(call)
    await propagate_opera(service)
    events = await read_all(call)
    kinds = [event.kind for event in events]
    assert {ROUND, MESSAGE, MERGE} == set(kinds)
    rounds = [event.round for event in events if event.kind == ROUND]
    assert [done.number for done in rounds] == list(range(1, len(rounds) + 1))
    for done in rounds:
        sent = [
            event for event in events if event.kind == MESSAGE and event.sequence == done.sequence
        ]
        assert len(sent) == done.touched_routers
    seen = set()
    for event in events:
        if event.kind == MESSAGE:
            seen.add((event.message.router, event.message.version))
        if event.kind == MERGE:
            assert (event.merge.router, event.merge.router_version) in seen
            assert event.merge.client.clients.keys[0].id
            assert event.merge.outcome != pb.MERGE_OUTCOME_UNSPECIFIED
    assert len({event.resume_token for event in events}) == len(events)
    call.cancel()


async def test_counted_merges_add_up_to_those_that_are_told_one_by_one(service):
    each, counted = open_watch(service), open_watch(service, count_merges=True)
    first = [await read_first_token(call) for call in (each, counted)][1]
    await propagate_opera(service)
    await run_another_round(service, 1)
    events, counts = await read_all(each), await read_all(counted)
    told = collections.Counter(
        (event.merge.router, event.merge.outcome == pb.MERGE_OUTCOME_MERGED)
        for event in events
        if event.kind == MERGE
    )
    assert told
    assert sum_counts(counts) == told
    assert not any(event.HasField("merge") for event in counts)
    assert len(select_counts(counts)) < sum(told.values())
    for kind in (ROUND, MESSAGE):
        assert select_kind(counts, kind) == select_kind(events, kind)
    resumed = open_watch(service, first, count_merges=True)
    assert sum_counts(await read_all(resumed)) == told
    after_last = open_watch(service, counts[-1].resume_token, count_merges=True)
    assert await read_all(after_last) == []
    for call in (each, counted, resumed, after_last):
        call.cancel()


def select_counts(events):
    return [event.merge_counts for event in events if event.HasField("merge_counts")]


def sum_counts(events):
    """Sum counts by (router, whether merged)."""
    total = collections.Counter()
    for counts in select_counts(events):
        for router in counts.routers:
            total[router.router, True] += router.merged
            total[router.router, False] += router.dropped
    return +total


@pytest.mark.slow
async def test_a_stream_resumed_after_any_event_repeats_none(start_service):
    async with start_service(auto_create=True) as service:
        call = open_watch(service)
        first = await read_first_token(call)
        await propagate_opera(service)
        events = await read_all(call)
        call.cancel()
    async with start_service(auto_create=True) as service:
        await run_another_round(service, 1)
        again = open_watch(service, first)
        every = await read_all(again)
        assert len(every) > len(events)
        for kind in (ROUND, MESSAGE, MERGE):
            seen = select_kind(events, kind)
            assert select_kind(every, kind)[: len(seen)] == seen
        for place, event in list(enumerate(every))[:: max(1, len(every) // 4)]:
            call = open_watch(service, event.resume_token)
            rest = await read_all(call, 0.3)
            assert len(rest) == len(every) - place - 1
            for kind in (ROUND, MESSAGE, MERGE):
                assert select_kind(rest, kind) == select_kind(every[place + 1 :], kind)
            call.cancel()
        again.cancel()


@pytest.mark.parametrize("kinds", [(ROUND,), (MESSAGE,), (MERGE,), (ROUND, MERGE)])
async def test_only_the_kinds_asked_for_are_sent(service, kinds):
    call = open_watch(service, kinds=kinds)
    token = await read_first_token(call)
    await propagate_opera(service)
    assert {event.kind for event in await read_all(call)} == set(kinds)
    call.cancel()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await open_watch(service, token).read()
    assert "kinds" in caught.value.details()


@pytest.mark.slow
async def test_events_that_retention_dropped_are_counted_in_a_gap(service):
    call = open_watch(service)
    token = await read_first_token(call)
    await propagate_opera(service)
    for wave in range(1, 4):
        await run_another_round(service, wave)
    everything = await read_all(call)
    call.cancel()
    store = service.engine.store
    while await store.prune(await store.get_recorded_through(), 1_000) is not None:
        pass
    kept = await read_all(open_watch(service, token))
    gaps = [event for event in kept if event.kind == GAP]
    assert gaps
    assert sum(event.missed for event in gaps) == len(everything) - (len(kept) - len(gaps))
    known = [identify(event) for event in everything]
    assert [known.index(identify(event)) for event in kept if event.kind != GAP]
    again = await read_all(open_watch(service, gaps[0].resume_token))
    assert [identify(event) for event in again] == [
        identify(event) for event in kept[kept.index(gaps[0]) + 1 :]
    ]


@pytest.mark.slow
async def test_a_slow_watcher_gets_a_gap_and_delays_no_other(service, monkeypatch):
    monkeypatch.setattr(watch_propagation, "MAX_BACKLOG", 5)
    lazy, keen = open_watch(service, kinds=(MERGE,)), open_watch(service)
    token = await read_first_token(lazy)
    await read_first_token(keen)
    seen = []
    reading = asyncio.create_task(keep_reading(keen, seen))
    await propagate_opera(service)
    for wave in range(1, 4):
        await run_another_round(service, wave)
    await asyncio.sleep(0.3)
    reading.cancel()
    merges = [event for event in seen if event.kind == MERGE]
    answers = await read_all(lazy)
    missed = sum(event.missed for event in answers if event.kind == GAP)
    total = await service.engine.store.get_merges_through()
    assert missed + sum(event.kind == MERGE for event in answers) == total
    assert len(merges) + sum(event.missed for event in seen if event.kind == GAP) >= total
    resumed = await read_all(open_watch(service, token, kinds=(MERGE,)))
    assert [event.kind for event in resumed] == [MERGE] * total, (
        "events from before the stream are all sent"
    )


@pytest.mark.slow
async def test_a_watcher_that_reads_nothing_delays_no_call(service, monkeypatch):
    """Its stream stops when the transport is full; each event is then sent or counted in a gap."""
    monkeypatch.setattr(watch_propagation, "MAX_BACKLOG", 500)
    stub, store = service.stub, service.engine.store
    await stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[pb.Client(key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="i" * 250))]
        )
    )
    call = open_watch(service, kinds=(MERGE,))
    await read_first_token(call)
    for router in range(40):
        await store.commit_texts(
            [],
            [
                MessageMerge(
                    ref=1,
                    profile_version=1,
                    router=router,
                    router_version=version,
                    outcome="merged",
                )
                for version in range(500)
            ],
            1,
        )
        await stub.GetStatus(pb.GetStatusRequest(), timeout=2)
        await asyncio.sleep(0.05)
    events = await read_all(call)
    missed = [event.missed for event in events if event.kind == GAP]
    assert missed
    assert sum(missed) + len(events) - len(missed) == 20_000 == await store.get_merges_through()
    order = [
        (event.merge.router, event.merge.router_version) for event in events if event.kind == MERGE
    ]
    assert order == sorted(set(order))
    call.cancel()


async def test_a_stop_ends_the_stream_without_an_error(start_service):
    async with start_service(auto_create=True) as service:
        call = open_watch(service)
        await read_first_token(call)
        await asyncio.wait_for(service.running.stop(5), 4)
        assert await call.read() is grpc.aio.EOF
        assert await call.code() == grpc.StatusCode.OK


async def test_a_caller_without_the_role_sees_counts(start_service):
    async with start_service(roles=(Role.WRITE, Role.ADMIN), auto_create=True) as service:
        call = open_watch(service, kinds=(MERGE,))
        await read_first_token(call)
        await propagate_opera(service)
        merges = [event.merge for event in await read_all(call)]
        assert {merge.kind for merge in merges} == {pb.CLIENT_KIND_USER, pb.CLIENT_KIND_ITEM}
        assert {merge.client.WhichOneof("parties") for merge in merges} == {"count"}
        call.cancel()


async def test_a_token_of_another_graph_is_refused(service):
    await propagate_opera(service)
    call = open_watch(service)
    token = await read_first_token(call)
    call.cancel()
    when = (await service.engine.store.read_entries(0, 1))[0].time
    assert int(token.split(".")[1]) == when > 0
    here, strange = (ResumeTokens(frozenset(WatchEventKind), time) for time in (when, when + 1))
    assert here.encode(Position()).split(".")[1] == str(when)
    strange = strange.encode(Position())
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await open_watch(service, strange).read()
    assert "another graph" in caught.value.details()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kinds": [0]}, "kinds[0]"),
        ({"kinds": [ROUND, GAP]}, "kinds[1]"),
        ({"kinds": [99]}, "kinds[0]"),
        ({"kinds": [ROUND] * 5}, "kinds"),
        ({"resume_token": "nonsense"}, "resume_token"),
        ({"resume_token": "W10="}, "resume_token"),
        (
            {
                "resume_token": "WzIsWyJldm9sdXRpb24iLCJtZXJnZSIsIm1lc3NhZ2UiLCJyb3VuZCJd"
                "LDAsOTk5LDAsLTEsMCwwXQ=="
            },
            "resume_token",
        ),
        ({"resume_token": "WzIsWzFdLDAsOTk5LDAsLTEsMCwwXQ=="}, "resume_token"),
    ],
)
async def test_bad_input_is_refused_by_field(service, fields, field):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.WatchPropagation(pb.WatchPropagationRequest(**fields)).read()
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details().startswith(f"{field}: ")
