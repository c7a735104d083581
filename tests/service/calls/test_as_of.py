"""Reading the past with `as_of`, by sequence and by commit time."""

import time

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from propagation.v1 import propagation_pb2 as pb
from tests.service.scenarios import ANN, propagate_opera
from tests.service.status_details import read_error_info

NEVER = 10**9


def read_clock() -> Timestamp:
    stamp = Timestamp()
    stamp.FromNanoseconds(time.time_ns())
    return stamp


async def read_profile(service, **as_of) -> pb.Profile:
    answer = await service.stub.GetProfile(pb.GetProfileRequest(key=ANN, as_of=pb.AsOf(**as_of)))
    return answer.profile


@pytest.mark.parametrize(
    "as_of", [{"sequence": NEVER}, {"commit_time": Timestamp(seconds=4_000_000_000)}]
)
async def test_the_future_is_refused(service, as_of):
    await propagate_opera(service)
    newest = await service.engine.store.get_recorded_through()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await read_profile(service, **as_of)
    assert caught.value.code() == grpc.StatusCode.OUT_OF_RANGE
    info = read_error_info(caught.value)
    assert (info.reason, info.metadata["newest"]) == ("TOO_NEW", str(newest))
    assert str(newest) in caught.value.details()


async def test_a_profile_by_sequence_and_by_time(service):
    await propagate_opera(service)
    (state,) = await service.engine.store.get_event_states(["ann-i3"])
    event = state.interaction
    then = await read_profile(service, sequence=event.sequence)
    assert then.lines
    assert pb.AUTHOR_RECEPTION not in {line.author for line in then.lines}
    assert pb.AUTHOR_RECEPTION in {
        line.author for line in (await read_profile(service, commit_time=read_clock())).lines
    }
    assert not (await read_profile(service, commit_time=Timestamp(seconds=1))).lines


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"as_of": pb.AsOf()}, "as_of"),
        ({"as_of": pb.AsOf(sequence=0)}, "as_of.sequence"),
        ({"as_of": pb.AsOf(commit_time=Timestamp(seconds=-1))}, "as_of.commit_time"),
        ({"as_of": pb.AsOf(commit_time=Timestamp(nanos=-1))}, "as_of.commit_time"),
        ({"as_of": pb.AsOf(sequence=1), "freshness": pb.FRESHNESS_MERGED}, "as_of"),
        ({"as_of": pb.AsOf(sequence=1), "min_sequence": 2}, "min_sequence"),
        ({"freshness": 9}, "freshness"),
    ],
)
async def test_a_combination_that_is_refused_names_its_field(service, request_, field):
    await propagate_opera(service)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(pb.GetProfileRequest(key=ANN, **request_))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details().startswith(f"{field}: ")


async def read_router(service, number, **as_of):
    return await service.stub.GetRouter(
        pb.GetRouterRequest(number=number, page_size=1_000, as_of=pb.AsOf(**as_of))
    )


async def test_routers_their_texts_and_tables_as_they_were(service):
    await propagate_opera(service)
    first, second = await service.engine.store.get_rounds_after(0, 9)
    now = await service.stub.ListRouters(pb.ListRoutersRequest(bank=pb.BANK_TASTE))
    for bank in (pb.BANK_UNSPECIFIED, pb.BANK_TASTE):
        newest = await service.stub.ListRouters(
            pb.ListRoutersRequest(bank=bank, as_of=pb.AsOf(sequence=second.sequence))
        )
        assert [(one.number, one.text, one.version, one.members) for one in newest.routers] == [
            (one.number, one.text, one.version, one.members) for one in now.routers
        ]
    then = await service.stub.ListRouters(
        pb.ListRoutersRequest(as_of=pb.AsOf(sequence=second.sequence - 1))
    )
    assert {one.sequence for one in then.routers} <= {0, first.sequence}
    assert [one.text for one in then.routers] != [one.text for one in now.routers]
    before = await service.stub.ListRouters(
        pb.ListRoutersRequest(as_of=pb.AsOf(sequence=first.sequence - 1))
    )
    assert [(one.number, one.text, one.members) for one in before.routers] == [
        (number, "", 0) for number in range(4)
    ]
    for one in then.routers:
        answer = await read_router(service, one.number, sequence=second.sequence - 1)
        assert len(answer.members) == answer.router.members == one.members
        assert all(member.from_sequence <= first.sequence for member in answer.members)
    by_time = await service.stub.ListRouters(
        pb.ListRoutersRequest(as_of=pb.AsOf(commit_time=Timestamp(seconds=1)))
    )
    assert not any(one.members for one in by_time.routers)


async def test_pages_of_the_past_are_of_one_sequence(service):
    await propagate_opera(service)
    (first, _) = await service.engine.store.get_rounds_after(0, 9)
    busiest = max(
        (
            await service.stub.ListRouters(
                pb.ListRoutersRequest(as_of=pb.AsOf(sequence=first.sequence))
            )
        ).routers,
        key=lambda one: one.members,
    )
    request = pb.GetRouterRequest(
        number=busiest.number, page_size=2, as_of=pb.AsOf(sequence=first.sequence)
    )
    found = []
    while True:
        page = await service.stub.GetRouter(request)
        found += [(member.client.kind, member.client.id) for member in page.members]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert len(set(found)) == len(found) == busiest.members > 2
    request.as_of.sequence += 1
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetRouter(request)
    assert caught.value.details().startswith("page_token: ")


async def test_session_routers_have_no_past(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.ListRouters(
            pb.ListRoutersRequest(bank=pb.BANK_SESSION, as_of=pb.AsOf(sequence=1))
        )
    assert caught.value.details().startswith("as_of: ")


async def test_before_a_new_epoch_the_old_routers_are_shown(service):
    await propagate_opera(service)
    before = await service.engine.store.get_recorded_through()
    old = await service.stub.ListRouters(pb.ListRoutersRequest(as_of=pb.AsOf(sequence=before)))
    epoch = await service.engine.init()
    new = await service.stub.ListRouters(
        pb.ListRoutersRequest(as_of=pb.AsOf(sequence=epoch.sequence))
    )
    again = await service.stub.ListRouters(pb.ListRoutersRequest(as_of=pb.AsOf(sequence=before)))
    assert again.routers == old.routers
    assert {one.epoch for one in old.routers} == {0}
    assert {one.epoch for one in new.routers} == {epoch.number}


async def test_a_past_that_retention_dropped_is_refused(service):
    await propagate_opera(service)
    store = service.engine.store
    while await store.prune(5, 100) is not None:
        pass
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await read_profile(service, sequence=4)
    assert caught.value.code() == grpc.StatusCode.OUT_OF_RANGE
    assert read_error_info(caught.value).metadata["oldest"] == "5"
    assert (await read_profile(service, sequence=5)).key == ANN
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await read_router(service, 0, sequence=4)
    assert read_error_info(caught.value).metadata["oldest"] == "5"
