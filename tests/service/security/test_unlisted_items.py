"""No read tells of an item that only one user's event named."""

from collections.abc import Iterator

import grpc
import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from propagation.model import NewInteraction
from propagation.v1 import propagation_pb2 as pb
from services.security.roles import ROLES_BY_CALL, Role
from tests.service.scenarios import ITEM

UNLISTED, UNKNOWN = "only ann's", "nobody's"


def list_key_fields(message: Descriptor) -> Iterator[tuple[str, ...]]:
    """List the paths of a request's fields that are a ClientKey."""
    for field in message.fields:
        if field.message_type is pb.ClientKey.DESCRIPTOR:
            yield (field.name,)
        elif field.message_type is not None:
            for path in list_key_fields(field.message_type):
                yield (field.name, *path)


READS = [
    (method.name, path)
    for method in pb.DESCRIPTOR.services_by_name["PropagationService"].methods
    if Role.READ in ROLES_BY_CALL[method.name]
    for path in list_key_fields(method.input_type)
]


async def ask(service, call: str, path: tuple[str, ...], id_: str) -> tuple[grpc.StatusCode, str]:
    """Send a read that names an item; return its status and its text, without the id."""
    method = pb.DESCRIPTOR.services_by_name["PropagationService"].methods_by_name[call]
    request: Message = getattr(pb, method.input_type.name)()
    key = request
    for name in path:
        key = getattr(key, name)
    key.kind, key.id = ITEM, id_
    try:
        answer = await getattr(service.stub, call)(request)
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details().replace(id_, "ID")
    return grpc.StatusCode.OK, str(answer).replace(id_, "ID")


def test_the_reads_that_name_a_client_are_found():
    assert {call for call, _ in READS} >= {"GetProfile", "ListProfileVersions", "ListRouters"}


@pytest.mark.parametrize("role", [Role.READ, Role.PERSONS, Role.ADMIN])
async def test_an_unlisted_item_is_as_unknown_as_no_item(start_service, role):
    async with start_service(roles=(role,), auto_create=True) as service:
        await service.engine.record(
            [
                NewInteraction(
                    event_id="e", user_id="ann", item_id=UNLISTED, time=1, content_hash="h"
                )
            ]
        )
        through = await service.engine.store.get_recorded_through()
        await service.worker.wait_until_applied(through, 30, texts=False)
        for call, path in READS:
            answer = await ask(service, call, path, UNLISTED)
            assert answer[0] == grpc.StatusCode.NOT_FOUND, (call, path)
            assert answer == await ask(service, call, path, UNKNOWN), (call, path)
