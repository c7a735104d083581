"""ListRouterVersions over real gRPC."""

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from tests.service.scenarios import catch_code, propagate_opera
from tests.service.status_details import read_field_violation


async def list_versions(service, router, size=20, **fields) -> list[pb.RouterVersion]:
    found, token = [], ""
    while True:
        request = pb.ListRouterVersionsRequest(
            number=router, page_size=size, page_token=token, **fields
        )
        answer = await service.stub.ListRouterVersions(request)
        assert len(answer.versions) <= size
        found += answer.versions
        token = answer.next_page_token
        if not token:
            return found


async def find_heard(service) -> pb.MessageSource:
    """Let Ann merge a message; return it."""
    return (await propagate_opera(service)).sources[0].message


@pytest.mark.parametrize("size", [1, 2, 20])
async def test_versions_come_newest_first_with_what_became_of_them(service, size):
    heard = await find_heard(service)
    found = await list_versions(service, heard.router, size)
    numbers = [one.version for one in found]
    assert numbers == list(range(numbers[0], 0, -1))
    request = pb.GetRouterRequest(number=heard.router)
    router = (await service.stub.GetRouter(request)).router
    newest = found[0]
    assert (newest.version, newest.name, newest.text) == (router.version, router.name, router.text)
    assert list(newest.attributes) == list(router.attributes)
    assert (newest.sequence, newest.epoch) == (router.sequence, router.epoch)
    assert newest.time.seconds > 1_700_000_000
    [merged] = [one for one in found if one.version == heard.version]
    assert merged.merged >= 1
    assert "ann" in [key.id for key in merged.clients]
    for one in found:
        request = pb.GetRouterRequest(number=heard.router, as_of=pb.AsOf(sequence=one.sequence))
        then = (await service.stub.GetRouter(request)).router
        assert (then.version, then.text) == (one.version, one.text)


async def test_counts_are_those_of_the_status(service):
    await find_heard(service)
    status = await service.stub.GetStatus(pb.GetStatusRequest(history=True))
    assert status.reach
    for reach in status.reach:
        found = await list_versions(service, reach.router)
        for name in ("merged", "filtered", "empty", "fell_out"):
            assert sum(getattr(one, name) for one in found) == getattr(reach, name), name


async def test_only_an_analyst_is_told_who_merged(start_service):
    async with start_service(auto_create=True) as service:
        heard = await find_heard(service)
        one_each = await list_versions(service, heard.router, max_clients=1)
        assert max(len(one.clients) for one in one_each) == 1
    async with start_service(auto_create=True, roles=(Role.PERSONS, Role.ADMIN)) as service:
        found = await list_versions(service, heard.router)
    assert not any(one.clients for one in found)
    assert sum(one.merged for one in found) >= 1


async def test_what_is_wrong_is_named(service):
    await find_heard(service)
    far = pb.ListRouterVersionsRequest(number=4_000)
    assert await catch_code(service.stub.ListRouterVersions(far)) == grpc.StatusCode.NOT_FOUND
    silent = pb.ListRouterVersionsRequest(number=3)
    await service.stub.ListRouterVersions(silent)
    for fields, field in (
        ({}, "number"),
        ({"number": -1}, "number"),
        ({"number": 1, "page_size": 101}, "page_size"),
        ({"number": 1, "max_clients": 0}, "max_clients"),
        ({"number": 1, "page_token": "x.1"}, "page_token"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await service.stub.ListRouterVersions(pb.ListRouterVersionsRequest(**fields))
        assert read_field_violation(caught.value).field == field


@pytest.mark.parametrize("role", Role)
async def test_the_versions_need_read(start_service, role):
    async with start_service(roles=(role,)) as service:
        code = await catch_code(
            service.stub.ListRouterVersions(pb.ListRouterVersionsRequest(number=1))
        )
    reads = {Role.READ, Role.PERSONS, Role.ANALYST, Role.ADMIN}
    codes = grpc.StatusCode
    assert code == (codes.OK if role in reads else codes.PERMISSION_DENIED)
