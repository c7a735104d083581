"""ListProfileVersions over real gRPC."""

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from tests.service.scenarios import (
    ANN,
    ITEM,
    USER,
    catch_code,
    propagate_opera,
    record_choices,
    upsert_records,
)
from tests.service.status_details import read_field_violation

CHOSEN = pb.ClientKey(kind=ITEM, id="i1")


async def list_versions(service, key, size=100) -> list[pb.ProfileVersion]:
    found, token = [], ""
    while True:
        request = pb.ListProfileVersionsRequest(key=key, page_size=size, page_token=token)
        answer = await service.stub.ListProfileVersions(request)
        assert len(answer.versions) <= size
        found += answer.versions
        token = answer.next_page_token
        if not token:
            return found


async def read_profile(service, key, sequence=None) -> pb.Profile:
    as_of = None if sequence is None else pb.AsOf(sequence=sequence)
    answer = await service.stub.GetProfile(pb.GetProfileRequest(key=key, as_of=as_of))
    return answer.profile


@pytest.mark.parametrize("size", [1, 3, 100])
async def test_versions_lead_from_nothing_to_the_present_profile(service, size):
    heard = await propagate_opera(service)
    found = await list_versions(service, ANN, size)
    numbers = [one.version for one in found]
    assert numbers == list(range(numbers[0], 0, -1))
    present = await read_profile(service, ANN)
    assert numbers[0] == present.version
    assert found[0].lines == len(present.lines)
    lines = set()
    for one in reversed(found):
        assert lines.isdisjoint(one.added_line_ids)
        assert lines >= {*one.removed_line_ids, *one.changed_line_ids}
        lines = (lines | {*one.added_line_ids}) - {*one.removed_line_ids}
        assert len(lines) == one.lines
        assert (one.lines_added, one.lines_removed) == (
            len(one.added_line_ids),
            len(one.removed_line_ids),
        )
        assert one.time.seconds > 1_700_000_000
    assert lines == {line.id for line in present.lines}
    received = next(one for one in found if heard.id in one.added_line_ids)
    assert received.cause == pb.PROFILE_CAUSE_RECEPTION
    source = heard.sources[0].message
    assert (source.router, source.version, source.router_name) in [
        (message.router, message.router_version, message.router_name)
        for message in received.messages
        if message.outcome == pb.MERGE_OUTCOME_MERGED
    ]
    assert found[-1].cause == pb.PROFILE_CAUSE_INTERACTION


async def test_each_version_is_what_as_of_shows(service):
    await propagate_opera(service)
    newest: dict[int, pb.ProfileVersion] = {}
    for one in await list_versions(service, ANN):
        newest.setdefault(one.sequence, one)
    assert len(newest) > 2
    for sequence, one in newest.items():
        shown = await read_profile(service, ANN, sequence)
        assert (shown.version, len(shown.lines)) == (one.version, one.lines)


async def test_a_withdrawal_is_named_as_the_cause(service):
    await propagate_opera(service)
    before = (await list_versions(service, ANN))[0].version
    retracted = await service.stub.RetractInteractions(
        pb.RetractInteractionsRequest(event_ids=["ann-i1"])
    )
    newest = (await list_versions(service, ANN))[0]
    assert (newest.version, newest.sequence) == (before + 1, retracted.sequence)
    assert newest.cause == pb.PROFILE_CAUSE_RETRACTION
    forgotten = await service.stub.ForgetClient(
        pb.ForgetClientRequest(key=pb.ClientKey(kind=ITEM, id="i15"))
    )
    newest = (await list_versions(service, pb.ClientKey(kind=USER, id="bob")))[0]
    assert (newest.sequence, newest.cause) == (forgotten.sequence, pb.PROFILE_CAUSE_ERASURE)


async def test_the_catalogue_is_named_as_the_cause(service):
    await upsert_records(service, [("i1", "jazz", None)])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    await upsert_records(service, [("i1", "opera", None)])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    found = await list_versions(service, CHOSEN)
    assert [one.cause for one in found] == [pb.PROFILE_CAUSE_CATALOGUE] * 2
    assert (found[0].lines_added, found[0].lines_removed) == (1, 1)


@pytest.mark.parametrize("size", [1, 100])
async def test_of_an_item_a_reader_sees_what_the_catalogue_wrote(start_service, size):
    async with start_service(auto_create=True) as service:
        await propagate_opera(service)
        everything = await list_versions(service, CHOSEN)
        assert len(everything) > 1
        assert {one.cause for one in everything} > {pb.PROFILE_CAUSE_CATALOGUE}
        written = [one for one in everything if one.cause == pb.PROFILE_CAUSE_CATALOGUE]
    async with start_service(auto_create=True, roles=(Role.PERSONS,)) as service:
        found = await list_versions(service, CHOSEN, size)
    assert [one.sequence for one in found] == [one.sequence for one in written]
    for one in found:
        assert one.cause == pb.PROFILE_CAUSE_CATALOGUE
        assert (
            one.version,
            list(one.added_line_ids),
            list(one.removed_line_ids),
            list(one.messages),
        ) == (
            0,
            [],
            [],
            [],
        )
        assert one.lines_added == one.lines == 1


async def test_a_page_token_does_not_tell_how_often_an_item_was_chosen(start_service):
    async with start_service(auto_create=True) as service:
        await propagate_opera(service)
        await upsert_records(service, [("i1", "opera", None)])
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
        newest = (await list_versions(service, CHOSEN))[0]
        assert (newest.cause, newest.version > 2) == (pb.PROFILE_CAUSE_CATALOGUE, True)
    async with start_service(auto_create=True, roles=(Role.READ,)) as service:
        request = pb.ListProfileVersionsRequest(key=CHOSEN, page_size=1)
        token = (await service.stub.ListProfileVersions(request)).next_page_token
    assert token.partition(".")[2] == "1", "the second of those that are shown"


async def test_what_is_wrong_is_named(service):
    await record_choices(service, [(f"e{n}", "ann", f"i{n}") for n in range(3)])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    unknown = pb.ListProfileVersionsRequest(key=pb.ClientKey(kind=USER, id="nobody"))
    assert await catch_code(service.stub.ListProfileVersions(unknown)) == grpc.StatusCode.NOT_FOUND
    for fields, field in (
        ({}, "key.kind"),
        ({"key": pb.ClientKey(kind=USER)}, "key.id"),
        ({"key": ANN, "page_size": 1_001}, "page_size"),
        ({"key": ANN, "page_token": "x.1"}, "page_token"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await service.stub.ListProfileVersions(pb.ListProfileVersionsRequest(**fields))
        assert read_field_violation(caught.value).field == field


@pytest.mark.parametrize("role", Role)
async def test_users_need_persons_and_items_read(start_service, role):
    codes = grpc.StatusCode
    async with start_service(roles=(role,)) as service:
        of_user, of_item = [
            await catch_code(
                service.stub.ListProfileVersions(pb.ListProfileVersionsRequest(key=key))
            )
            for key in (ANN, CHOSEN)
        ]
    reads = {Role.READ, Role.PERSONS, Role.ANALYST, Role.ADMIN}
    assert of_item == (codes.NOT_FOUND if role in reads else codes.PERMISSION_DENIED)
    assert of_user == (codes.NOT_FOUND if role in reads - {Role.READ} else codes.PERMISSION_DENIED)
