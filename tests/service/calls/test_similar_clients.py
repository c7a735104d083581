"""SimilarClients over real gRPC."""

import grpc
import numpy as np
import pytest

from propagation.v1 import propagation_pb2 as pb
from tests.service.scenarios import ITEM, USER, plant_two_communities


async def find_similar(service, sequence, id_, **fields) -> list[str]:
    kind = ITEM if id_.startswith("i") else USER
    answer = await service.stub.SimilarClients(
        pb.SimilarClientsRequest(
            key=pb.ClientKey(kind=kind, id=id_), min_sequence=sequence, **fields
        )
    )
    assert answer.reflects.applied_through >= sequence
    cosines = [neighbour.similarity for neighbour in answer.neighbours]
    assert cosines == sorted(cosines, reverse=True)
    assert all(-1.000001 <= cosine <= 1.000001 for cosine in cosines)
    return [neighbour.key.id for neighbour in answer.neighbours]


@pytest.mark.parametrize("by", [pb.SIMILARITY_UNSPECIFIED, pb.SIMILARITY_PROFILE])
async def test_neighbours_are_of_the_own_community(service, by):
    sequence = await plant_two_communities(service)
    users = await find_similar(service, sequence, "u0", by=by, limit=2)
    assert set(users) == {"u2", "u4"}
    items = await find_similar(service, sequence, "i3", by=by)
    assert len(items) == 10
    assert "i3" not in items


async def test_any_kind_to_any_kind(service):
    sequence = await plant_two_communities(service)
    items = await find_similar(
        service, sequence, "u0", kind=ITEM, by=pb.SIMILARITY_PROFILE, limit=6
    )
    assert sum(int(name[1:]) < 15 for name in items) >= 5
    assert set(
        await find_similar(service, sequence, "i3", kind=USER, by=pb.SIMILARITY_PROFILE, limit=3)
    ) == {"u0", "u2", "u4"}


async def test_by_routers_any_kind_is_compared(service):
    sequence = await plant_two_communities(service)
    assert (
        len(
            await find_similar(
                service, sequence, "u0", kind=ITEM, by=pb.SIMILARITY_ROUTERS, limit=6
            )
        )
        == 6
    )
    assert set(await find_similar(service, sequence, "u0", by=pb.SIMILARITY_ROUTERS)) == {
        f"u{n}" for n in range(1, 6)
    }


async def test_hidden_items_are_left_out(service):
    await plant_two_communities(service)
    hidden = await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[pb.Client(key=pb.ClientKey(kind=ITEM, id="i4"), hidden=True)]
        )
    )
    assert "i4" not in await find_similar(service, hidden.sequence, "i3", limit=100)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"limit": 0}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"limit": 1001}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"by": 9}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"kind": 9}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"key": pb.ClientKey(id="u0")}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"key": pb.ClientKey(kind=USER, id="")}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"key": pb.ClientKey(kind=USER, id="nobody")}, grpc.StatusCode.NOT_FOUND),
    ],
)
async def test_bad_input_is_refused(service, fields, code):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.SimilarClients(
            pb.SimilarClientsRequest(**{"key": pb.ClientKey(kind=USER, id="u0"), **fields})
        )
    assert caught.value.code() == code


async def test_a_retired_router_compares_nobody(service):
    """Its trust is minus infinity in every row."""
    sequence = await plant_two_communities(service)
    before = await find_similar(service, sequence, "u0", by=pb.SIMILARITY_ROUTERS)
    service.engine.numbers.view.state.taste.trust[:, 0] = -np.inf
    after = await find_similar(service, sequence, "u0", by=pb.SIMILARITY_ROUTERS)
    assert set(after) == set(before) == {f"u{n}" for n in range(1, 6)}
