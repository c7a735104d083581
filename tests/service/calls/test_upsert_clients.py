"""UpsertClients: the field mask, repeats, and the sequences of answers."""

from google.protobuf.field_mask_pb2 import FieldMask

from propagation.model import ClientKey, ClientKind
from propagation.v1 import propagation_pb2 as pb


def item(id_: str, **fields) -> pb.Client:
    return pb.Client(key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=id_), **fields)


async def upsert(service, *clients, mask=None):
    return await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=clients, field_mask=None if mask is None else FieldMask(paths=mask)
        )
    )


async def read_client(service, id_):
    (ref,) = await service.engine.store.find_refs([ClientKey(kind=ClientKind.ITEM, id=id_)])
    return (await service.engine.store.get_clients([ref]))[0]


async def test_the_same_content_twice_changes_nothing(service):
    client = item("a", title="A", attributes=["jazz"], metadata={"year": "1959"})
    first = await upsert(service, client)
    again = await upsert(service, client)
    assert (first.outcomes[0].created, first.outcomes[0].changed) == (True, True)
    assert (again.outcomes[0].created, again.outcomes[0].changed) == (False, False)
    assert first.sequence == again.sequence == first.outcomes[0].sequence > 0


async def test_without_a_mask_only_set_fields_are_written(service):
    await upsert(
        service, item("a", title="A", description="about", attributes=["jazz"], hidden=True)
    )
    await upsert(service, item("a", title="", hidden=False))
    client = await read_client(service, "a")
    assert (client.title, client.description, client.attributes, client.hidden) == (
        "",
        "about",
        ("jazz",),
        False,
    )


async def test_a_mask_clears_empty_fields_and_keeps_the_others(service):
    await upsert(
        service,
        item(
            "a", title="A", description="about", attributes=["jazz"], categories=["c"], hidden=True
        ),
    )
    await upsert(service, item("a", title="other"), mask=["description", "attributes", "hidden"])
    client = await read_client(service, "a")
    assert (client.title, client.description, client.attributes, client.categories) == (
        "A",
        "",
        (),
        ("c",),
    )
    assert not client.hidden


async def test_the_mask_of_all_fields_clears_what_is_empty(service):
    await upsert(service, item("a", title="A", categories=["c"]))
    await upsert(service, item("a", title="B"), mask=["*"])
    assert (await read_client(service, "a")).categories == ()


async def test_changes_of_one_client_in_one_call_apply_in_order(service):
    answer = await upsert(service, item("a", title="1", description="kept"), item("a", title="2"))
    assert [(outcome.created, outcome.changed) for outcome in answer.outcomes] == [
        (True, True),
        (False, True),
    ]
    client = await read_client(service, "a")
    assert (client.title, client.description) == ("2", "kept")


async def test_users_and_items_have_separate_ids(service):
    user = pb.Client(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="7"), title="U")
    answer = await upsert(service, user, item("7", title="I"))
    assert [outcome.created for outcome in answer.outcomes] == [True, True]
    assert (await read_client(service, "7")).title == "I"


async def test_an_empty_call_writes_nothing(service):
    assert (await upsert(service)).sequence == 0
