"""RetractInteractions, ForgetClient and ExportClient."""

import asyncio
import contextlib
import json

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb

UNUSUAL_IDS = [
    "Ünïcødé 音楽 🎷",
    "'; DROP TABLE client; --",
    '"}) DETACH DELETE n //',
    "e\u0301 is not é",
    "\u202eright to left",
    "\uffff",
    "a" * 256,
    "%_*?[a-z]",
    "[1,2]",
    "null",
]


def user(id_):
    return pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=id_)


def item(id_):
    return pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=id_)


def event(id_, user_id="ann", item_id="i1", **fields):
    return pb.Interaction(event_id=id_, user_id=user_id, item_id=item_id, **fields)


async def record(service, *events):
    answer = await service.stub.RecordInteractions(
        pb.RecordInteractionsRequest(interactions=events)
    )
    return [(outcome.status, outcome.reason) for outcome in answer.outcomes]


async def drain(service):
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))


async def retract(service, *ids):
    return await service.stub.RetractInteractions(pb.RetractInteractionsRequest(event_ids=ids))


async def forget(service, key):
    return await service.stub.ForgetClient(pb.ForgetClientRequest(key=key))


def list_outcomes(answer):
    return [(outcome.event_id, outcome.retracted, outcome.reason) for outcome in answer.outcomes]


async def list_recommended(service, user_id):
    answer = await service.stub.Recommend(pb.RecommendRequest(user_id=user_id, limit=10))
    return {one.item_id for one in answer.recommendations}, answer.cold


async def read_failure(call):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), caught.value.details()


ACCEPTED = (pb.INTERACTION_STATUS_ACCEPTED, "")
FORGOTTEN = (pb.INTERACTION_STATUS_REJECTED, "FORGOTTEN")


async def test_the_item_of_a_retracted_event_can_be_recommended_again(service):
    await record(service, event("e1"), event("e2", item_id="i2"), event("e3", "bob"))
    await drain(service)
    assert (await list_recommended(service, "ann"))[0] == set()
    answer = await retract(service, "e1", "never", "e1")
    assert list_outcomes(answer) == [
        ("e1", True, ""),
        ("never", False, "UNKNOWN"),
        ("e1", False, "RETRACTED"),
    ]
    assert answer.sequence > 0
    assert (await list_recommended(service, "ann"))[0] == {"i1"}


async def test_a_retracted_event_cannot_be_recorded_or_retracted_again(service):
    await record(service, event("e1"), event("e2", item_id="i2"))
    await drain(service)
    await retract(service, "e1")
    assert list_outcomes(await retract(service, "e1")) == [("e1", False, "RETRACTED")]
    assert await record(service, event("e1")) == [(pb.INTERACTION_STATUS_DUPLICATE, "")]
    assert (await record(service, event("e1", item_id="i2")))[0][1] == "CONFLICT"
    assert (await list_recommended(service, "ann"))[0] == {"i1"}


async def test_a_duplicate_is_retracted_with_its_first(service):
    assert await record(service, event("e1"), event("e1")) == [
        ACCEPTED,
        (pb.INTERACTION_STATUS_DUPLICATE, ""),
    ]
    await drain(service)
    assert list_outcomes(await retract(service, "e1")) == [("e1", True, "")]
    assert (await list_recommended(service, "ann")) == ({"i1"}, True)


async def test_a_retraction_of_nothing_writes_nothing(service):
    before = (await service.stub.GetStatus(pb.GetStatusRequest())).recorded_through
    assert (await retract(service)).sequence == 0
    assert (await retract(service, "never")).sequence == 0
    assert (await service.stub.GetStatus(pb.GetStatusRequest())).recorded_through == before


async def test_bad_requests_name_their_field(service):
    assert "event_ids[1]" in (await read_failure(retract(service, "fine", "")))[1]
    assert "1000" in (await read_failure(retract(service, *map(str, range(1_001)))))[1]
    assert (await read_failure(forget(service, pb.ClientKey(id="x"))))[
        0
    ] == grpc.StatusCode.INVALID_ARGUMENT
    assert (await read_failure(forget(service, user("nobody"))))[0] == grpc.StatusCode.NOT_FOUND
    assert (
        await read_failure(
            service.stub.ExportClient(pb.ExportClientRequest(key=user("nobody"))).read()
        )
    )[0] == grpc.StatusCode.NOT_FOUND


async def test_a_dry_run_says_what_would_go_and_changes_nothing(service):
    await record(service, event("e1"), event("e2", item_id="i2"), event("e3", "bob"))
    await drain(service)
    before = (await service.stub.GetStatus(pb.GetStatusRequest())).recorded_through
    request = pb.ForgetClientRequest(key=user("ann"), dry_run=True)
    said = await service.stub.ForgetClient(request)
    assert (said.sequence, said.events_erased) == (0, 2)
    assert said.HasField("router_texts")
    assert said.items_erased == 1, "i2, which only Ann chose"
    assert said.as_of_sequence == before
    assert (await service.stub.GetStatus(pb.GetStatusRequest())).recorded_through == before
    done = await forget(service, user("ann"))
    assert (done.events_erased, done.lines_dropped) == (said.events_erased, said.lines_dropped)
    assert done.sequence > before
    assert not done.HasField("router_texts")
    assert not done.HasField("as_of_sequence")
    assert (await read_failure(service.stub.ForgetClient(request)))[0] == grpc.StatusCode.NOT_FOUND
    both = pb.ForgetClientRequest(key=user("bob"), dry_run=True, wipe=True)
    assert "wipe" in (await read_failure(service.stub.ForgetClient(both)))[1]


@pytest.fixture
async def service_without_ann(service):
    """A service that forgot Ann, after she chose i1 and i2, and Bob chose i1."""
    await record(service, event("e1"), event("e2", item_id="i2"), event("e3", "bob"))
    await drain(service)
    await service.stub.GetProfile(
        pb.GetProfileRequest(key=user("ann"), freshness=pb.FRESHNESS_MERGED)
    )
    answer = await forget(service, user("ann"))
    assert (answer.events_erased, answer.sequence > 0) == (2, True)
    return service


async def test_a_forgotten_client_is_unknown(service_without_ann):
    profile = service_without_ann.stub.GetProfile(pb.GetProfileRequest(key=user("ann")))
    assert (await read_failure(profile))[0] == grpc.StatusCode.NOT_FOUND
    assert (await read_failure(forget(service_without_ann, user("ann"))))[
        0
    ] == grpc.StatusCode.NOT_FOUND


async def test_events_of_a_forgotten_client_are_rejected(service_without_ann):
    recorded = await record(service_without_ann, event("e1"), event("e2", "bob", "i9"))
    assert recorded == [FORGOTTEN, FORGOTTEN]
    assert list_outcomes(await retract(service_without_ann, "e1", "e3")) == [
        ("e1", False, "FORGOTTEN"),
        ("e3", True, ""),
    ]


async def test_the_id_of_a_forgotten_client_starts_anew(service_without_ann):
    events = event("new"), event("other", "bob", "i3")
    assert await record(service_without_ann, *events) == [ACCEPTED] * 2
    await drain(service_without_ann)
    recommended = await list_recommended(service_without_ann, "ann")
    assert recommended == ({"i3"}, False), "i2 went with Ann, whose event created it"
    answer = await service_without_ann.stub.GetProfile(pb.GetProfileRequest(key=user("ann")))
    assert answer.profile.version > 0


async def test_a_forgotten_item_is_not_recommended_until_it_is_new_again(service):
    await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[
                pb.Client(key=item(f"i{n}"), title=f"Record {n}", attributes=["jazz"])
                for n in range(4)
            ]
        )
    )
    await record(
        service, *(event(f"e{n}", f"u{n}", "i1") for n in range(5)), event("x", "ann", "i2")
    )
    await drain(service)
    assert "i1" in (await list_recommended(service, "ann"))[0]
    assert (await forget(service, item("i1"))).events_erased == 5
    assert (await list_recommended(service, "ann"))[0] == {"i0", "i3"}
    assert (await list_recommended(service, "u1"))[0] == {"i0", "i2", "i3"}
    candidates = await service.stub.Recommend(
        pb.RecommendRequest(user_id="ann", candidate_ids=["i1", "i0"])
    )
    assert list(candidates.unknown_candidate_ids) == ["i1"]
    await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[pb.Client(key=item("i1"), title="Again", attributes=["x"])]
        )
    )
    await record(service, event("y", "ann", "i3"))
    await drain(service)
    assert "i1" in (await list_recommended(service, "ann"))[0]


async def test_a_client_is_forgotten_while_its_events_are_recorded(service):
    """Events acknowledged before are erased; later ones belong to a new client of that id."""

    async def push():
        statuses = []
        for n in range(150):
            answer = await service.stub.RecordInteractions(
                pb.RecordInteractionsRequest(
                    interactions=[
                        event(f"stream-{n}", "ann", f"i{n % 7}"),
                        event(f"other-{n}", "bob", f"i{n % 5}"),
                    ]
                )
            )
            statuses.append(answer.outcomes[0].status)
            await asyncio.sleep(0)
        return statuses

    pushing = asyncio.create_task(push())
    erased = 0
    while not pushing.done():
        with contextlib.suppress(grpc.aio.AioRpcError):  # not known again yet
            erased += (await forget(service, user("ann"))).events_erased
        await asyncio.sleep(0.01)
    assert set(await pushing) == {pb.INTERACTION_STATUS_ACCEPTED}
    await drain(service)
    left = await service.stub.RetractInteractions(
        pb.RetractInteractionsRequest(event_ids=[f"stream-{n}" for n in range(150)])
    )
    reasons = [outcome.reason for outcome in left.outcomes]
    assert reasons.count("FORGOTTEN") == erased > 0
    assert reasons.count("") == 150 - erased
    assert await service.engine.store.check() == []


@pytest.mark.parametrize("name", UNUSUAL_IDS)
async def test_any_unicode_is_an_id(service, name):
    await record(service, event(name, name, name), event("other", "bob", name))
    assert list_outcomes(await retract(service, name)) == [(name, True, "")]
    await drain(service)
    assert (await forget(service, item(name))).events_erased == 1
    await forget(service, user(name))
    assert await record(service, event(name, name, name), event("other", "bob", name)) == [
        FORGOTTEN,
        FORGOTTEN,
    ]


async def test_an_export_has_a_record_of_every_kind(service):
    await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[
                pb.Client(key=item("i1"), title="Record “1”", attributes=["jazz"]),
                pb.Client(key=user("ann"), title="Ann"),
            ]
        )
    )
    await record(
        service,
        *(
            event(f"e{n}", who, f"i{n}", metadata={"shop": "7"})
            for n, who in enumerate(["ann", "bob"] * 6)
        ),
    )
    await retract(service, "e10")
    await drain(service)
    await drain(service)
    lines = [
        json.loads(answer.json_line)
        async for answer in service.stub.ExportClient(pb.ExportClientRequest(key=user("ann")))
    ]
    kinds = {line["what"] for line in lines}
    assert {
        "client",
        "event",
        "retracted_event",
        "written",
        "reasoned",
        "profile_version",
        "gradient",
        "edge",
        "point",
        "numbers",
    } <= kinds
    events = [line for line in lines if line["what"] == "event"]
    assert [line["event_id"] for line in events] == ["e0", "e2", "e4", "e6", "e8"]
    assert (
        events[0] | {"metadata": {"shop": "7"}, "user": "user:ann", "item": "item:i0"} == events[0]
    )
    written = next(line for line in lines if line["what"] == "written")
    assert sum(weight for _, weight in written["taste"]) == pytest.approx(1, abs=1e-5)
    (numbers,) = (line for line in lines if line["what"] == "numbers")
    assert numbers["interactions"] == 5
