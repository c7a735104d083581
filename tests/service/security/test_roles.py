"""A caller without the role analyst sees counts of users, and no user."""

import grpc
import pytest

from propagation.model import (
    Author,
    ClientChange,
    ClientKey,
    ClientKind,
    NewInteraction,
    ReasonerFailed,
    ReasonerGaveUp,
    StoreFull,
)
from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from tests.service.scenarios import ANN, catch_code, propagate_opera

USER, ITEM = pb.CLIENT_KIND_USER, pb.CLIENT_KIND_ITEM


@pytest.fixture
async def service_without_analyst(start_service):
    """A service whose caller has every role but analyst."""
    async with start_service(roles=(Role.WRITE, Role.ADMIN), auto_create=True) as client:
        yield client


@pytest.mark.parametrize(
    "fields",
    [
        {"key": ANN},
        {"key": ANN, "kind": USER},
        {"key": pb.ClientKey(kind=ITEM, id="i1"), "kind": USER},
    ],
)
async def test_similar_users_need_the_role(service_without_analyst, fields):
    await propagate_opera(service_without_analyst)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service_without_analyst.stub.SimilarClients(pb.SimilarClientsRequest(**fields))
    assert caught.value.code() == grpc.StatusCode.PERMISSION_DENIED
    assert "analyst" in caught.value.details()
    items = await service_without_analyst.stub.SimilarClients(
        pb.SimilarClientsRequest(key=ANN, kind=ITEM)
    )
    assert items.neighbours


async def test_wiping_with_a_retraction_is_for_the_role_admin(start_service):
    request = pb.RetractInteractionsRequest(event_ids=["never"])
    async with start_service(roles=(Role.WRITE,)) as client:
        await client.stub.RetractInteractions(request)
        request.wipe = True
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.stub.RetractInteractions(request)
    assert caught.value.code() == grpc.StatusCode.PERMISSION_DENIED
    assert "admin" in caught.value.details()


async def test_counts_take_the_place_of_users_ids(service_without_analyst):
    line = await propagate_opera(service_without_analyst)
    assert all(source.message.senders.WhichOneof("parties") == "count" for source in line.sources)
    stub = service_without_analyst.stub
    answer = await stub.GetProfile(pb.GetProfileRequest(key=ANN))
    own = [
        source.interaction
        for line in answer.profile.lines
        for source in line.sources
        if source.HasField("interaction")
    ]
    assert own
    assert all(source.users.count == 1 and not source.HasField("event_id") for source in own)
    trace = await stub.TracePropagation(pb.TracePropagationRequest(event_id="bob-i15"))
    assert trace.paths
    routers = await stub.ListRouters(pb.ListRoutersRequest(bank=pb.BANK_TASTE))
    members = [
        member
        for router in routers.routers
        for member in (await stub.GetRouter(pb.GetRouterRequest(number=router.number))).members
    ]
    assert max(member.count for member in members) == 3
    for text in (*map(str, trace.paths), *map(str, members), str(answer.profile.lines)):
        assert not any(name in text for name in ("ann", "bob", "cid"))


@pytest.mark.parametrize(
    ("roles", "shown"), [((Role.READ,), False), ((Role.READ, Role.ADMIN), True)]
)
async def test_only_operators_see_where_the_file_is(
    start_service, tmp_path, monkeypatch, roles, shown
):
    async with start_service(roles=roles) as client:
        place = str(tmp_path / "graph.db")
        full = StoreFull(f"{place}: database or disk is full")
        client.worker.failures.reasons["disk"] = str(full)
        status = await client.stub.GetStatus(pb.GetStatusRequest())
        assert "disk is full" in status.failing["disk"]
        assert (place in status.failing["disk"]) is shown, "GetStatus"

        async def raise_full(_):
            raise full

        monkeypatch.setattr(client.engine.store, "find_refs", raise_full)
        item = pb.GetProfileRequest(key=pb.ClientKey(kind=ITEM, id="i1"))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.stub.GetProfile(item)
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        details = dict(caught.value.trailing_metadata())["grpc-status-details-bin"]
        assert (place in caught.value.details()) is shown, "the error's message"
        assert (place.encode() in details) is shown, "the error's details"


@pytest.mark.parametrize("role", [Role.READ, Role.PERSONS])
async def test_what_one_user_took_is_not_for_readers(start_service, role):
    """Neither the item's lines, nor a trace, nor the user's own answers tell who took it."""
    async with start_service(roles=(role,), auto_create=True) as client:
        stub, engine = client.stub, client.engine
        only, loner = ClientKey(kind=ClientKind.ITEM, id="only"), pb.ClientKey(kind=USER, id="v")
        await engine.upsert_clients(
            [ClientChange(key=only, title="The Wugga Tapes", attributes=("wuggawugga",))]
        )
        await engine.record([lone_choice("v-only"), lone_choice("v-again")])
        await engine.drain()
        await engine.run_round()
        allowed = role == Role.PERSONS
        item = await stub.GetProfile(pb.GetProfileRequest(key=pb.ClientKey(kind=ITEM, id="only")))
        lines = item.profile.lines
        assert any("“The Wugga Tapes”" in line.text for line in lines), "the catalogue is public"
        assert item.profile.version == 0, "a version tells of each event"
        assert not any(line.author == pb.AUTHOR_INTERACTION for line in lines), "one user's doing"
        members = [
            str((await stub.GetRouter(pb.GetRouterRequest(number=n, bank=pb.BANK_SESSION))).members)
            for n in range(4)
        ]
        assert not any("only" in one for one in members), "session routers name the item"
        refused = {
            "profile": stub.GetProfile(pb.GetProfileRequest(key=loner)),
            "recommend": stub.Recommend(pb.RecommendRequest(user_id="v")),
            "similar": stub.SimilarClients(pb.SimilarClientsRequest(key=loner, kind=ITEM)),
            "event": stub.TracePropagation(pb.TracePropagationRequest(event_id="v-only")),
            "user": stub.TracePropagation(pb.TracePropagationRequest(client=loner)),
        }
        for name, call in refused.items():
            assert (await catch_code(call) == grpc.StatusCode.OK) is allowed, name
        attribute = pb.TracePropagationRequest(attribute="wuggawugga")
        assert await catch_code(stub.TracePropagation(attribute)) == grpc.StatusCode.NOT_FOUND


def lone_choice(event_id):
    return NewInteraction(
        event_id=event_id, user_id="v", item_id="only", time=1, content_hash=event_id
    )


async def test_a_reader_cannot_tell_that_one_user_took_an_item(start_service):
    """A trace, the senders of a message and the ids of hidden lines would."""
    async with start_service(roles=(Role.READ,), auto_create=True) as client:
        stub, engine = client.stub, client.engine
        await engine.upsert_clients(
            [
                ClientChange(
                    key=ClientKey(kind=ClientKind.ITEM, id=name), title=name, attributes=("jazz",)
                )
                for name in ("only", "none", "shared", "first")
            ]
        )
        await engine.init()
        for name in ("first", "shared"):
            for user in "vw":
                await take_item(engine, user, name)
        only = pb.ClientKey(kind=ITEM, id="only")

        async def list_neighbours():
            return [
                [
                    (one.key.id, round(one.similarity, 6))
                    for one in (
                        await stub.SimilarClients(pb.SimilarClientsRequest(key=only, by=by))
                    ).neighbours
                ]
                for by in (pb.SIMILARITY_PROFILE, pb.SIMILARITY_ROUTERS)
            ]

        async def list_traced_events():
            """The events that led to jazz through an item."""
            jazz = pb.TracePropagationRequest(attribute="jazz", limit=1_000)
            return {
                path.hops[0].sequence
                for path in (await stub.TracePropagation(jazz)).paths
                if path.hops[0].HasField("interaction") and path.hops[1].profile.kind == ITEM
            }

        async def profile():
            return (await stub.GetProfile(pb.GetProfileRequest(key=only))).profile

        before = await list_neighbours(), await list_traced_events(), await profile()
        assert before[1], "two users took the other items"
        await take_item(engine, "v", "only")
        after = await list_neighbours(), await list_traced_events(), await profile()
        assert after[0] == before[0], "its likeness to others moves with the one event"
        assert after[1] == before[1], "a path leads through it"
        assert after[2] == before[2], "it heard its messages when it was chosen"
        jazz = await stub.TracePropagation(
            pb.TracePropagationRequest(attribute="jazz", limit=1_000)
        )
        reached = [path.hops[-1] for path in jazz.paths if path.hops[1:]]
        assert not any("“only”" in hop.text for hop in reached if hop.HasField("profile"))
        for router in (await stub.ListRouters(pb.ListRoutersRequest(bank=pb.BANK_TASTE))).routers:
            answer = await stub.GetRouter(pb.GetRouterRequest(number=router.number))
            assert not any(one.client.id == "only" for one in answer.members), "a table names it"
        counts = {}
        for name in ("only", "none", "shared"):
            key = pb.ClientKey(kind=ITEM, id=name)
            trace = await stub.TracePropagation(pb.TracePropagationRequest(client=key))
            counts[name] = sum(path.hops[0].HasField("interaction") for path in trace.paths)
            profile = (await stub.GetProfile(pb.GetProfileRequest(key=key))).profile
            assert '"only"' not in str([line.sources for line in profile.lines])
        assert (counts["only"], counts["none"]) == (0, 0)
        assert counts["shared"] > 0, "two users took it"
        shown = {
            line.id
            for line in (await stub.GetProfile(pb.GetProfileRequest(key=only))).profile.lines
        }
        for number in set(range(1, 8)) - shown:
            line = pb.LineOfProfile(client=only, line_id=number)
            call = stub.TracePropagation(pb.TracePropagationRequest(line=line))
            assert await catch_code(call) == grpc.StatusCode.NOT_FOUND


async def test_numbers_and_weights_of_an_items_lines_tell_a_reader_of_no_event(start_service):
    """A hidden line uses up a number, and each event weakens the lines."""
    async with start_service(roles=(Role.READ,), auto_create=True) as client:
        stub, engine = client.stub, client.engine

        async def describe(*names):
            await engine.upsert_clients(
                [
                    ClientChange(
                        key=ClientKey(kind=ClientKind.ITEM, id=name),
                        title="Alike",
                        attributes=("jazz",),
                    )
                    for name in names
                ]
            )
            await engine.drain()

        async def list_lines(name):
            key = pb.ClientKey(kind=ITEM, id=name)
            answer = await stub.GetProfile(pb.GetProfileRequest(key=key))
            return [(line.id, line.weight, line.text) for line in answer.profile.lines]

        await describe("first", "only", "none")
        await engine.init()
        for user in "vw":
            await take_item(engine, user, "first")
        await take_item(engine, "v", "only")
        changes = [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id=name), title="New", attributes=("opera",)
            )
            for name in ("only", "none")
        ]
        await engine.upsert_clients(changes)
        await engine.drain()
        own = []
        for change in changes:
            ref = await engine.find_any_ref(change.key)
            lines = (await engine.store.load_texts([ref]))[ref].profile.lines
            own.append([line.id for line in lines if line.author is Author.CATALOGUE])
        assert own[0] != own[1], "no hidden line used up a number"
        assert await list_lines("only") == await list_lines("none")
        assert {weight for _, weight, _ in await list_lines("first")} == {0}
        line = pb.LineOfProfile(client=pb.ClientKey(kind=ITEM, id="only"), line_id=1)
        await stub.TracePropagation(pb.TracePropagationRequest(line=line))


async def take_item(engine, user, item):
    """A user takes an item, and a round follows."""
    event = NewInteraction(
        event_id=f"{user}-{item}", user_id=user, item_id=item, time=1, content_hash=item
    )
    await engine.record([event])
    await engine.drain()
    await engine.run_round()


async def name_item(engine, id_):
    """Let readers know of an item, however few users take it."""
    await engine.upsert_clients([ClientChange(key=ClientKey(kind=ClientKind.ITEM, id=id_))])


async def test_the_role_persons_reads_of_an_item_nothing_of_its_only_user(start_service):
    async with start_service(roles=(Role.PERSONS,), auto_create=True) as client:
        await name_item(client.engine, "i3")
        await take_item(client.engine, "v", "i3")
        await take_item(client.engine, "v", "i3")
        item = await client.stub.GetProfile(
            pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="i3"))
        )
        user = await client.stub.GetProfile(
            pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="v"))
        )
        assert user.profile.version > 0
        profile = item.profile
        assert (profile.version, profile.dropped, list(profile.filter_memory)) == (0, 0, [])


@pytest.mark.parametrize("role", [Role.READ, Role.PERSONS, Role.ANALYST])
async def test_the_past_of_an_item_is_what_the_catalogue_said(start_service, role):
    """Else a second user's choice would show what the item heard of its first one's."""
    async with start_service(roles=(role,), auto_create=True) as client:
        engine, stub, only = client.engine, client.stub, pb.ClientKey(kind=ITEM, id="only")
        names = ("first", "shared", "only")
        keys = [ClientKey(kind=ClientKind.ITEM, id=name) for name in names]
        await engine.upsert_clients(
            [ClientChange(key=key, title=key.id, attributes=("jazz",)) for key in keys]
        )
        await engine.init()
        for name in ("first", "shared"):
            for user in "vw":
                await take_item(engine, user, name)
        await take_item(engine, "v", "only")
        alone = pb.AsOf(sequence=await engine.store.get_recorded_through())
        await take_item(engine, "w", "only")

        async def list_authors(**at):
            answer = await stub.GetProfile(pb.GetProfileRequest(key=only, **at))
            return {line.author for line in answer.profile.lines}

        async def list_members(**at):
            routers = (await stub.ListRouters(pb.ListRoutersRequest(bank=pb.BANK_TASTE))).routers
            return [
                member
                for router in routers
                for member in (
                    await stub.GetRouter(pb.GetRouterRequest(number=router.number, **at))
                ).members
            ]

        assert pb.AUTHOR_RECEPTION in await list_authors()
        now = [member for member in await list_members() if member.client.id]
        assert any(member.client.id == "only" for member in now), "two took it"
        tells = any(member.from_sequence for member in now)
        assert tells is (role == Role.ANALYST), "since when may be since the first user's choice"
        past = await list_members(as_of=alone)
        if role == Role.ANALYST:
            assert pb.AUTHOR_RECEPTION in await list_authors(as_of=alone)
            assert any(member.client.id == "only" for member in past)
        else:
            assert await list_authors(as_of=alone) == {pb.AUTHOR_CATALOGUE}
            assert not any(member.client.id for member in past)
            assert any(member.count for member in past), "users are counted"
        if role == Role.PERSONS:
            trace = await stub.TracePropagation(pb.TracePropagationRequest(event_id="v-only"))
            profiles = [
                [hop.profile for hop in path.hops if hop.HasField("profile")]
                for path in trace.paths
            ]
            assert {own.kind: own.version > 0 for own, *_ in profiles} == {USER: True, ITEM: False}
            others = [profile for _, *rest in profiles for profile in rest]
            assert others, "nobody else was reached"
            assert not any(profile.version for profile in others), "the call does not name them"


@pytest.mark.parametrize("role", [Role.APPLICATION, Role.PERSONS])
async def test_an_explanation_tells_a_front_end_of_no_single_other_user(start_service, role):
    async with start_service(roles=(role,), auto_create=True) as client:
        engine, persons = client.engine, role == Role.PERSONS
        items = [ClientKey(kind=ClientKind.ITEM, id=f"i{n}") for n in range(12)]
        await engine.upsert_clients(
            [ClientChange(key=key, title=key.id, attributes=("jazz",)) for key in items]
        )
        await engine.init()

        async def explain(user, item):
            answer = await client.stub.Recommend(
                pb.RecommendRequest(user_id=user, candidate_ids=[item], explain=True)
            )
            return answer.recommendations[0].explanation

        def list_features(explanation):
            return {part.feature for part in explanation.parts}

        for user in ("fan", "fan2", "fan3"):
            await take_item(engine, user, "i2")
        await take_item(engine, "own", "i1")
        for item in ("i1", "i2", "i3"):
            await take_item(engine, "v", item)
        own = {"content", "attributes"}
        rare = await explain("own", "i3")
        assert (list_features(rare) == own) is not persons
        assert any(router.adopters or router.lift for router in rare.routers) is persons
        assert not ("chosen together" in rare.text and not persons)
        assert "Many people" not in (await explain("nobody", "i3")).text
        assert "Many people" in (await explain("nobody", "i2")).text
        popular = await explain("own", "i2")
        assert {"popularity", "lift_taste"} <= list_features(popular), "four users took it"
        assert ("knn_slow" in list_features(popular)) is persons, "one of them took what own took"
        if not persons:
            assert all(router.adopters != 1 for router in popular.routers)
        for item in ("i1", "i2"):
            await take_item(engine, "w", item)
        assert "knn_slow" in list_features(await explain("own", "i2"))


MAY_QUOTE = pytest.mark.parametrize(
    ("roles", "shown"),
    [((Role.READ, Role.PERSONS), False), ((Role.ANALYST,), True), ((Role.ADMIN,), True)],
)
"""A model's server may repeat in its error what it was asked."""


@MAY_QUOTE
async def test_what_fails_may_quote_persons(start_service, roles, shown):
    async with start_service(roles=roles) as client:
        failures = client.running.worker.failures
        reason = failures.record("step", "a step", ReasonerFailed("400: cannot embed: likes jazz"))
        assert "jazz" not in reason, "a job stores it"
        status = await client.stub.GetStatus(pb.GetStatusRequest())
        assert ("jazz" in status.failing["a step"]) is shown
        assert status.failing["a step"]


@MAY_QUOTE
async def test_reasons_of_dead_letters_may_quote_persons(start_service, monkeypatch, roles, shown):
    async with start_service(roles=roles) as client:
        monkeypatch.setattr(
            type(client.engine.store),
            "get_dead_letters",
            lambda *_: list_letters("no JSON: likes jazz"),
        )
        status = await client.stub.GetStatus(pb.GetStatusRequest())
        expected = "no JSON: likes jazz" if shown else ""
        assert [letter.reason for letter in status.newest_dead_letters] == [expected]
        assert status.dead_letters == 1


@MAY_QUOTE
async def test_the_error_of_a_call_may_quote_persons(start_service, monkeypatch, roles, shown):
    async with start_service(roles=roles, auto_create=True) as client:
        await name_item(client.engine, "i")

        async def fail(*_, **__):
            raise ReasonerGaveUp("400: cannot read: likes jazz")

        monkeypatch.setattr(client.engine, "read_profile", fail)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.stub.GetProfile(
                pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="i"))
            )
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
        assert ("jazz" in str(caught.value)) is shown
        assert "jazz" in caught.value.details() or "the service's log" in caught.value.details()


async def list_letters(reason):
    return [(7, reason)]


async def test_similar_items_do_not_tell_what_one_user_took(start_service):
    """The popular item's text says for whom it was, and so would its profile's vector."""
    async with start_service(roles=(Role.READ,), auto_create=True) as client:
        engine = client.engine
        titles = {"only": "wuggawugga", "popular": "jazz"}
        await engine.upsert_clients(
            [
                ClientChange(
                    key=ClientKey(kind=ClientKind.ITEM, id=name), title=name, attributes=(word,)
                )
                for name, word in titles.items()
            ]
        )
        await engine.record([choice("popular", user) for user in "abc"])
        await engine.drain()
        before = await read_similarities(client.stub, "only")
        await engine.record([choice("only", "v"), choice("popular", "v")])
        await engine.drain()
        texts = await engine.store.load_texts(await engine.store.find_refs([popular_item()]))
        assert "wuggawugga" in str(texts), "else there is nothing to hide"
        assert await read_similarities(client.stub, "only") == before


def popular_item():
    return ClientKey(kind=ClientKind.ITEM, id="popular")


def choice(item, user):
    return NewInteraction(
        event_id=f"{user}-{item}", user_id=user, item_id=item, time=1, content_hash="h"
    )


async def read_similarities(stub, item):
    answer = await stub.SimilarClients(
        pb.SimilarClientsRequest(key=pb.ClientKey(kind=ITEM, id=item), limit=1_000)
    )
    return {one.key.id: one.similarity for one in answer.neighbours}


async def test_a_refused_stream_is_read_until_its_end(start_service):
    """grpc.aio's clients say INTERNAL where a write fails, whatever the service has answered."""
    events = [
        pb.StreamInteractionsRequest(
            interaction=pb.Interaction(event_id=f"e{number}", user_id="ann", item_id="i1")
        )
        for number in range(400)
    ]
    async with start_service(roles=(Role.READ,)) as client:
        for _ in range(5):
            answers = client.stub.StreamInteractions(iter(events))
            assert await catch_code(answers.read()) == grpc.StatusCode.PERMISSION_DENIED
