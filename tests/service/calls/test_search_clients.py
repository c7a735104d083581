"""SearchClients over real gRPC: what is found, by whom, by page; bad input."""

import time

import grpc
import pytest

from propagation.model import ClientChange, ClientKey, ClientKind, NewInteraction
from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from tests.service.scenarios import ITEM, USER, catch_code, propagate_opera, record_choices
from tests.service.status_details import read_field_violation

OTHERS = (Role.APPLICATION, Role.WRITE)


def choice(item_id, user_id):
    return NewInteraction(
        event_id=f"{user_id}-{item_id}", user_id=user_id, item_id=item_id, time=1, content_hash="h"
    )


async def search(service, kind, text, **fields) -> list[str]:
    request = pb.SearchClientsRequest(kind=kind, text=text, **fields)
    answer = await service.stub.SearchClients(request)
    return [found.key.id for found in answer.clients]


async def upsert(service, *clients):
    await service.stub.UpsertClients(pb.UpsertClientsRequest(clients=clients))


def item(id_, **fields):
    return pb.Client(key=pb.ClientKey(kind=ITEM, id=id_), **fields)


async def test_items_are_found_by_id_and_by_words(service):
    await upsert(
        service,
        item("b-17", title="Kind of Blue", attributes=["modal jazz"], hidden=True),
        item("b-18", title="Blue Train"),
        item("blue"),
    )
    assert await search(service, ITEM, "blue") == ["blue", "b-17", "b-18"], "the exact id is first"
    assert await search(service, ITEM, "MODAL ki") == ["b-17"]
    assert await search(service, ITEM, "b-1") == ["b-17", "b-18"]
    assert await search(service, USER, "blue") == []
    request = pb.SearchClientsRequest(kind=ITEM, text="modal")
    [found] = (await service.stub.SearchClients(request)).clients
    assert (found.title, found.hidden, found.line) == ("Kind of Blue", True, "")


@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_pages_have_each_client_once(service, size):
    await upsert(service, item("i0", title="same"), item("same"), item("i2", title="same"))
    found, token = [], ""
    while True:
        answer = await service.stub.SearchClients(
            pb.SearchClientsRequest(kind=ITEM, text="same", page_size=size, page_token=token)
        )
        assert len(answer.clients) <= size
        found += [one.key.id for one in answer.clients]
        token = answer.next_page_token
        if not token:
            break
    assert found == ["same", "i0", "i2"]


async def test_lines_of_profiles_are_searched(service):
    line = await propagate_opera(service)
    words = " ".join(word[:4] for word in line.text.split()[:3])
    request = pb.SearchClientsRequest(kind=USER, text=words, lines=True)
    found = {one.key.id: one.line for one in (await service.stub.SearchClients(request)).clients}
    assert found["ann"] == line.text
    assert await search(service, USER, "wuggawugga", lines=True) == []
    assert await search(service, USER, "\u202e", lines=True) == []
    first = await service.stub.SearchClients(
        pb.SearchClientsRequest(kind=ITEM, text="jazz", lines=True, page_size=3)
    )
    rest = await search(service, ITEM, "jazz", lines=True, page_token=first.next_page_token)
    whole = await search(service, ITEM, "jazz", lines=True)
    assert [one.key.id for one in first.clients] + rest == whole
    assert set(whole) >= {f"i{n}" for n in range(10)}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \t"}, "text"),
        ({"text": "x" * 10_000}, "text"),
        ({"text": " ".join(f"w{number}" for number in range(17))}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"text": "a", "kind": 0}, "kind"),
        ({"text": "a", "kind": 7}, "kind"),
        ({"text": "a", "page_size": 0}, "page_size"),
        ({"text": "a", "page_size": 1_001}, "page_size"),
        ({"text": "a", "page_token": "forged.7"}, "page_token"),
        ({"text": "a", "page_token": "x" * 10_000}, "page_token"),
    ],
)
async def test_bad_input_names_its_field(service, fields, field):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.SearchClients(pb.SearchClientsRequest(**{"kind": ITEM, **fields}))
    assert read_field_violation(caught.value).field == field


async def test_a_token_belongs_to_its_search(service):
    await upsert(service, *(item(f"i{n}", title="same") for n in range(3)))
    first = pb.SearchClientsRequest(kind=ITEM, text="same", page_size=1)
    token = (await service.stub.SearchClients(first)).next_page_token
    digest, _, place = token.partition(".")
    for fields in (
        {"kind": USER},
        {"text": "sam"},
        {"lines": True},
        {"page_token": f"{digest}.{int(place) + 2}"},
    ):
        request = pb.SearchClientsRequest(
            **{"kind": ITEM, "text": "same", "page_token": token, **fields}
        )
        assert await catch_code(service.stub.SearchClients(request)) == (
            grpc.StatusCode.INVALID_ARGUMENT
        )


@pytest.mark.parametrize(
    "text",
    ["\u202e\u2066", "🎷", "%_*?[a-z]", "'; DROP TABLE client; --", '"}) DETACH DELETE n //'],
)
async def test_unusual_texts_find_the_client_of_this_id(service, text):
    await record_choices(service, [("e", text, "i")])
    assert await search(service, USER, text) == [text]


@pytest.mark.parametrize(
    ("role", "users", "lines"),
    [
        (Role.READ, "refused", "refused"),
        (Role.PERSONS, "exact", "refused"),
        (Role.ADMIN, "exact", "refused"),
        (Role.ANALYST, "found", "found"),
    ],
)
async def test_users_are_found_as_far_as_the_role_reaches(start_service, role, users, lines):
    refused = grpc.StatusCode.PERMISSION_DENIED
    async with start_service(roles=(role,), auto_create=True) as service:
        await service.engine.record([choice("i1", "ann"), choice("i1", "anna")])
        through = await service.engine.store.get_recorded_through()
        await service.worker.wait_until_applied(through, 30, texts=False)
        assert await search(service, ITEM, "i1") == ["i1"]
        request = pb.SearchClientsRequest(kind=USER, text="ann")
        if users == "refused":
            assert await catch_code(service.stub.SearchClients(request)) == refused
        else:
            found = ["ann", "anna"] if users == "found" else ["ann"]
            assert await search(service, USER, "ann") == found
            assert await search(service, USER, "an") == (found if users == "found" else [])
        request = pb.SearchClientsRequest(kind=ITEM, text="i1", lines=True)
        code = await catch_code(service.stub.SearchClients(request))
        assert code == (refused if lines == "refused" else grpc.StatusCode.OK)


@pytest.mark.parametrize("role", OTHERS)
async def test_roles_that_read_nothing_find_nothing(start_service, role):
    async with start_service(roles=(role,)) as service:
        request = pb.SearchClientsRequest(kind=ITEM, text="a")
        code = await catch_code(service.stub.SearchClients(request))
        assert code == grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.slow
async def test_a_search_among_many_clients_is_fast(service):
    """The figure of the report is measured apart; this finds a scan of all clients."""
    for start in range(0, 20_000, 1_000):
        await upsert(
            service,
            *(
                item(f"item-{n}", title=f"Record {n} of series {n % 500}", attributes=["jazz"])
                for n in range(start, start + 1_000)
            ),
        )
    begun = time.perf_counter()
    for number in range(1, 21):
        assert await search(service, ITEM, f"item-{number}77", page_size=20)
        assert await search(service, ITEM, f"series {number}", page_size=20)
    assert time.perf_counter() - begun < 40 * 0.1


@pytest.mark.parametrize("roles", [(Role.READ,), (Role.PERSONS,), (Role.ADMIN,), (Role.ANALYST,)])
async def test_an_item_of_one_user_is_unknown_to_readers(start_service, roles):
    async with start_service(roles, auto_create=True) as service:
        engine = service.engine
        await engine.upsert_clients(
            [
                ClientChange(key=ClientKey(kind=ClientKind.ITEM, id=id_), title=f"wugga {id_}")
                for id_ in ("first", "last")
            ]
        )
        await engine.record(
            [
                choice("wugga one", "ann"),
                choice("wugga two", "ann"),
                choice("wugga two", "bob"),
                choice("first", "ann"),
            ]
        )
        through = await engine.store.get_recorded_through()
        await service.worker.wait_until_applied(through, 30, texts=False)
        knows = Role.ANALYST in roles
        shown = ["first", "last", *(["wugga one"] * knows), "wugga two"]
        assert await search(service, ITEM, "wugga") == shown
        found, token = [], ""
        while token or not found:
            answer = await service.stub.SearchClients(
                pb.SearchClientsRequest(kind=ITEM, text="wug", page_size=1, page_token=token)
            )
            assert len(answer.clients) == 1, "no page is short"
            found += [one.key.id for one in answer.clients]
            token = answer.next_page_token
        assert found == shown
        assert await search(service, ITEM, "wugga one") == ["wugga one"] * knows, "the exact id"
        key = pb.ClientKey(kind=ITEM, id="wugga one")
        calls = (
            service.stub.GetProfile(pb.GetProfileRequest(key=key)),
            service.stub.SimilarClients(pb.SimilarClientsRequest(key=key)),
            service.stub.TracePropagation(pb.TracePropagationRequest(client=key)),
        )
        codes = [await catch_code(call) for call in calls]
        expected = grpc.StatusCode.OK if knows else grpc.StatusCode.NOT_FOUND
        assert codes == [expected] * 3
        of_first = pb.SimilarClientsRequest(key=pb.ClientKey(kind=ITEM, id="first"), limit=10)
        neighbours = (await service.stub.SimilarClients(of_first)).neighbours
        assert ("wugga one" in {one.key.id for one in neighbours}) == knows
        assert {one.key.id for one in neighbours} >= {"wugga two", "last"}
