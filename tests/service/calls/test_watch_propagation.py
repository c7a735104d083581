"""WatchPropagation over real gRPC: everything once, resumed over restarts; gaps are counted; a stop
ends it."""

import asyncio
import base64
import contextlib

import grpc
import orjson
import pytest

from propagation.model.clients.client_text import MessageMerge
from propagation.v1 import propagation_pb2 as pb
from services.grpc.handlers.watch_propagation import WatchPropagationHandler
from services.security.roles import Role
from tests.service.calls.test_routers_and_traces import travelled

ROUND, MESSAGE, MERGE, EVOLUTION, GAP = (
    getattr(pb, f"PROPAGATION_EVENT_KIND_{name}")
    for name in ("ROUND", "MESSAGE", "MERGE", "EVOLUTION", "GAP")
)


def watching(service, token="", kinds=(), **options):
    return service.stub.WatchPropagation(
        pb.WatchPropagationRequest(resume_token=token, kinds=kinds), **options
    )


async def begun(call):
    """The stream is open and stands where it stands; the token it began with."""
    return dict(await call.initial_metadata())["propagation-resume-token"]


async def told(call, seconds=0.4):
    """Everything until nothing more comes."""
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


def named(event):
    """What tells an event from all others."""
    return (
        event.kind,
        event.sequence,
        event.round.number,
        event.message.router,
        event.message.version,
        str(event.merge),
        event.missed,
    )


def by_kind(events, kind):
    return [named(event) for event in events if event.kind == kind]


async def more(service, wave):
    """One more round that says something, and merges of it."""
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


async def test_rounds_messages_and_merges_are_told_in_causal_order(service):
    call = watching(service)
    await begun(call)
    await travelled(service)
    events = await told(call)
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


@pytest.mark.slow
async def test_whatever_event_it_resumes_after_each_is_told_once_also_over_restarts(serving):
    async with serving(auto_create=True) as service:
        call = watching(service)
        first = await begun(call)
        await travelled(service)
        events = await told(call)
        call.cancel()
    async with serving(auto_create=True) as service:
        await more(service, 1)
        again = watching(service, first)
        every = await told(again)
        assert len(every) > len(events)
        for kind in (ROUND, MESSAGE, MERGE):
            seen = by_kind(events, kind)
            assert by_kind(every, kind)[: len(seen)] == seen
        for place, event in list(enumerate(every))[:: max(1, len(every) // 4)]:
            call = watching(service, event.resume_token)
            rest = await told(call, 0.3)
            assert len(rest) == len(every) - place - 1
            for kind in (ROUND, MESSAGE, MERGE):
                assert by_kind(rest, kind) == by_kind(every[place + 1 :], kind)
            call.cancel()
        again.cancel()


@pytest.mark.parametrize("kinds", [(ROUND,), (MESSAGE,), (MERGE,), (ROUND, MERGE)])
async def test_only_the_kinds_that_were_asked_for(service, kinds):
    call = watching(service, kinds=kinds)
    token = await begun(call)
    await travelled(service)
    assert {event.kind for event in await told(call)} == set(kinds)
    call.cancel()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await watching(service, token).read()
    assert "kinds" in caught.value.details()


async def test_what_retention_dropped_is_a_gap_of_as_many_as_were_missed(service):
    call = watching(service)
    token = await begun(call)
    await travelled(service)
    for wave in range(1, 4):
        await more(service, wave)
    everything = await told(call)
    call.cancel()
    store = service.engine.store
    while await store.prune(await store.recorded_through(), 1_000) is not None:
        pass
    kept = await told(watching(service, token))
    gaps = [event for event in kept if event.kind == GAP]
    assert gaps
    assert sum(event.missed for event in gaps) == len(everything) - (len(kept) - len(gaps))
    known = [named(event) for event in everything]
    assert [known.index(named(event)) for event in kept if event.kind != GAP]
    again = await told(watching(service, gaps[0].resume_token))
    assert [named(event) for event in again] == [
        named(event) for event in kept[kept.index(gaps[0]) + 1 :]
    ]


async def test_a_watcher_that_left_too_much_lying_is_told_how_much_and_holds_nobody_up(
    service, monkeypatch
):
    monkeypatch.setattr(WatchPropagationHandler, "max_backlog", 5)
    lazy, keen = watching(service, kinds=(MERGE,)), watching(service)
    token = await begun(lazy)
    await begun(keen)
    seen = []
    reading = asyncio.create_task(keep_reading(keen, seen))
    await travelled(service)
    for wave in range(1, 4):
        await more(service, wave)
    await asyncio.sleep(0.3)
    reading.cancel()
    merges = [event for event in seen if event.kind == MERGE]
    answers = await told(lazy)
    missed = sum(event.missed for event in answers if event.kind == GAP)
    total = await service.engine.store.merges_through()
    assert missed + sum(event.kind == MERGE for event in answers) == total
    assert len(merges) + sum(event.missed for event in seen if event.kind == GAP) >= total
    resumed = await told(watching(service, token, kinds=(MERGE,)))
    assert [event.kind for event in resumed] == [MERGE] * total, (
        "what lies before the stream began is told whole"
    )


@pytest.mark.slow
async def test_a_watcher_that_reads_nothing_holds_nobody_up_and_every_event_is_told_or_counted(
    service, monkeypatch
):
    """The transport's windows fill, the stream stands still, and everything else goes on."""
    monkeypatch.setattr(WatchPropagationHandler, "max_backlog", 500)
    stub, store = service.stub, service.engine.store
    await stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[pb.Client(key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="i" * 250))]
        )
    )
    call = watching(service, kinds=(MERGE,))
    await begun(call)
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
    events = await told(call)
    missed = [event.missed for event in events if event.kind == GAP]
    assert missed
    assert sum(missed) + len(events) - len(missed) == 20_000 == await store.merges_through()
    order = [
        (event.merge.router, event.merge.router_version) for event in events if event.kind == MERGE
    ]
    assert order == sorted(set(order))
    call.cancel()


async def test_a_stop_ends_the_stream_without_an_error(serving):
    async with serving(auto_create=True) as service:
        call = watching(service)
        await begun(call)
        await asyncio.wait_for(service.running.stop(5), 4)
        assert await call.read() is grpc.aio.EOF
        assert await call.code() == grpc.StatusCode.OK


async def test_a_caller_without_the_role_sees_counts(serving):
    async with serving(roles=(Role.WRITE, Role.ADMIN), auto_create=True) as service:
        call = watching(service, kinds=(MERGE,))
        await begun(call)
        await travelled(service)
        users = [
            event.merge for event in await told(call) if event.merge.kind == pb.CLIENT_KIND_USER
        ]
        assert users
        assert {merge.client.WhichOneof("parties") for merge in users} == {"count"}
        call.cancel()


async def test_a_token_of_another_graph_is_refused(service):
    await travelled(service)
    call = watching(service)
    form, kinds, when, *numbers = orjson.loads(base64.urlsafe_b64decode(await begun(call)))
    call.cancel()
    assert when == (await service.engine.store.read_entries(0, 1))[0].time > 0
    strange = base64.urlsafe_b64encode(orjson.dumps([form, kinds, when + 1, *numbers])).decode()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await watching(service, strange).read()
    assert "another graph" in caught.value.details()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kinds": [0]}, "kinds[0]"),
        ({"kinds": [ROUND, GAP]}, "kinds[1]"),
        ({"kinds": [99]}, "kinds[0]"),
        ({"resume_token": "nonsense"}, "resume_token"),
        ({"resume_token": "W10="}, "resume_token"),
        (
            {
                "resume_token": "WzIsWyJldm9sdXRpb24iLCJtZXJnZSIsIm1lc3NhZ2UiLCJyb3VuZCJdLDAsOTk5LDAsLTEsMCwwXQ=="
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
