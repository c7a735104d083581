"""Pages of clients over HTTP: search, profile, similar ones, events."""

import re
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.settings import WorkflowSettings
from propagation_client import Credentials, PropagationClient
from services.config.settings import ServerSettings, Settings
from services.security.roles import Role
from services.server import run_service
from tests.service.conftest import SMALL
from tests.service.scenarios import ANN, ITEM, USER, propagate_opera, record_choices, upsert_records

SCRIPT = "<script>alert(1)</script>"
FOREIGN = [
    SCRIPT,
    '"><img src=x onerror=alert(1)>',
    "abc\u202edlrow\u2066",
    "\u200b \u2028x",
    "{{ 7 * 7 }}",
    "x" * 8_000,
    " ",
    "🦜" * 50,
]


def address(path, **fields):
    return f"{path}?{urlencode(fields)}"


@asynccontextmanager
async def serve_with_tokens(tokens, tmp_path):
    """Serve with the tokens of the fixture; yield the service and a client with all roles."""
    settings = Settings(
        database=tmp_path / "tokens.db",
        reasoning_in="loop",
        server=ServerSettings(port=0, grace_seconds=1, tokens=tokens.path),
        workflow=WorkflowSettings(**{**SMALL, "auto_create": True}),
    )
    async with (
        run_service(settings) as running,
        PropagationClient(running.address, Credentials(token=tokens.secrets[Role.ADMIN])) as client,
    ):
        yield running, client


async def test_search_finds_by_words_and_an_exact_id_leads_to_the_client(service, start_page):
    await upsert_records(service, [("i1", "jazz", None), ("i2", "jazz", None)])
    async with start_page(service.address) as page:
        empty = await page.get("/clients")
        assert empty.status_code == 200
        found = await page.get(address("/clients", kind="item", text="jazz"))
        assert found.text.count('href="/client?kind=item&amp;id=i') == 2
        exact = await page.get(address("/clients", kind="item", text="i2"))
        assert exact.status_code == 303
        assert exact.headers["location"] == "/client?kind=item&id=i2"
        none = await page.get(address("/clients", kind="item", text="opera"))
        assert "Nothing has these words" in none.text


async def test_an_exact_id_with_others_of_the_same_word_leads_back_to_them(service, start_page):
    await upsert_records(service, [("jazz", "x", None), ("i2", "jazz", None)])
    async with start_page(service.address) as page:
        exact = await page.get(address("/clients", kind="item", text="jazz"))
        assert exact.status_code == 303
        client = await page.get(exact.headers["location"])
        assert "/clients?kind=item&amp;text=jazz&amp;all=1" in client.text
        all_ = await page.get("/clients?kind=item&text=jazz&all=1")
        assert all_.status_code == 200
        assert all_.text.count('class="client item"') == 2


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"kind": "router", "text": "x"}, 400, "The kind of a client is"),
        ({"kind": "item", "text": "a b c d e f g h i j k l m n o p q r"}, 400, "words"),
        ({"kind": "item", "text": "x" * 257}, 400, "“Id or words” is 257 characters long"),
        ({"kind": "item", "text": "x", "page": "forged"}, 400, "begin at the list"),
    ],
)
async def test_a_bad_search_gets_one_sentence(service, start_page, fields, status, sentence):
    async with start_page(service.address) as page:
        answer = await page.get(address("/clients", **fields))
        assert answer.status_code == status
        assert sentence in answer.text
        assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/client", 400, "The kind of a client is"),
        ("/client?kind=user", 400, "names no client"),
        ("/client?kind=user&id=none", 404, "none"),
        ("/client?kind=user&id=%00", 400, "The id holds a control character"),
        (f"/client?kind=user&id={'x' * 300}", 400, "The id is 300 bytes long"),
        ("/client/recommendations?kind=item&id=i1", 400, "Items are recommended to users"),
        ("/client/recommendations?kind=user&id=a&limit=0", 400, "1 to 50"),
        ("/client/recommendations?kind=user&id=a&limit=99999999999999", 400, "1 to 50"),
        ("/client/recommendations?kind=user&id=a&limit=x", 400, "1 to 50"),
        ("/client/similar?kind=user&id=none", 404, "none"),
        ("/client/similar?kind=user&id=a&by=x", 400, "compared by"),
        ("/client/events?kind=user&id=none", 404, "none"),
        ("/client/events?kind=user&id=none&page=forged", 400, "begin at the list"),
        ("/client/export?kind=user&id=none", 404, "none"),
        ("/client/forget?kind=user&id=none", 404, "none"),
    ],
)
async def test_a_wrong_address_gets_one_sentence(service, start_page, path, status, sentence):
    async with start_page(service.address) as page:
        answer = await page.get(path)
        assert (answer.status_code, sentence in answer.text) == (status, True), answer.text
        assert "Traceback" not in answer.text


async def test_a_profile_shows_lines_their_sources_and_their_paths(service, start_page):
    line = await propagate_opera(service)
    async with start_page(service.address) as page:
        answer = await page.get(address("/client", kind="user", id="ann"))
    assert answer.status_code == 200
    assert line.text in answer.text
    assert f"/trace?line={line.id}&amp;kind=user&amp;id=ann" in answer.text
    assert "From others, through routers" in answer.text
    assert "heard from <a" in answer.text
    router = line.sources[0].message.router
    assert f'href="/routers/taste/{router}"' in answer.text
    assert 'href="/trace?event=ann-i0"' in answer.text
    assert 'href="/client?kind=user&amp;id=bob"' in answer.text, "the senders"
    table = answer.text.split("Routers it belongs to")[1].split("</section>")[0]
    held = await service.stub.ListRouters(pb.ListRoutersRequest(member=ANN))
    assert held.routers
    for one in held.routers:
        assert f'href="/routers/taste/{one.number}"' in table
    assert "Communities that count for its recommendations" in table


async def test_waiting_messages_are_merged_by_the_button(service, start_page):
    await propagate_opera(service)
    await record_choices(service, [("e1", "bob", "i16"), ("e2", "cid", "i16")])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    async with start_page(service.address) as page:
        # No read comes before the button, because messages are merged soon after a read.
        merged = await page.send("/client/merge", {"kind": "user", "id": "ann"})
        assert merged.status_code == 303
        after = await page.get(merged.headers["location"])
        assert re.search(r"\d messages? merged: ", after.text)
        assert "No message waits." in after.text
        await page.send("/client/merge", {"kind": "user", "id": "ann"})
        assert "No message was waiting." in (await page.get("/client?kind=user&id=ann")).text


async def test_similar_clients_by_profile_and_by_routers(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        users = await page.get(address("/client/similar", kind="user", id="ann"))
        assert 'href="/client?kind=user&amp;id=bob"' in users.text
        items = await page.get(
            address("/client/similar", kind="user", id="ann", of="item", by="routers")
        )
        assert items.status_code == 200
        assert 'class="client item"' in items.text


async def test_events_are_paged_and_one_is_taken_back(service, start_page):
    await upsert_records(service, [(f"i{n}", "jazz", None) for n in range(60)])
    await record_choices(service, [(f"e{n}", "ann", f"i{n}") for n in range(60)])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    async with start_page(service.address) as page:
        path = address("/client/events", kind="user", id="ann")
        first = await page.get(path)
        assert first.text.count('href="/trace?event=') == 50
        following = first.text.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
        second = await page.get(following)
        assert second.text.count('href="/trace?event=') == 10
        fields = {"kind": "user", "id": "ann", "event": "e59"}
        done = await page.send("/client/events/retract", fields)
        assert done.status_code == 303
        after = await page.get(path)
        assert "Event e59 was taken back" in after.text
        assert after.text.count("was taken back</span>") == 1
        again = await page.send("/client/events/retract", fields)
        assert again.status_code == 303
        assert "was taken back before" in (await page.get(path)).text


@pytest.mark.parametrize("text", FOREIGN)
async def test_foreign_texts_are_shown_as_text(service, start_page, text):
    user, item = text[:200], f"i{text[:100]}"
    await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[
                pb.Client(
                    key=pb.ClientKey(kind=ITEM, id=item),
                    title=text,
                    description=text,
                    attributes=[text[:256].strip() or "x"],
                ),
                pb.Client(key=pb.ClientKey(kind=USER, id=user), title=text),
            ]
        )
    )
    await record_choices(service, [("e", user, item)])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    async with start_page(service.address) as page:
        for kind, id_, pages in (
            ("user", user, ("", "/recommendations", "/similar", "/events", "/forget")),
            ("item", item, ("", "/similar", "/events", "/forget")),
        ):
            for name in pages:
                answer = await page.get(address(f"/client{name}", kind=kind, id=id_))
                assert answer.status_code == 200, (kind, name)
                check_shown_as_text(answer.text)
                assert "{{ 7 * 7 }}" in answer.text or text != "{{ 7 * 7 }}"
        for kind in ("item", "user"):
            answer = await page.get(address("/clients", kind=kind, text=text[:200], all=1))
            assert answer.status_code == (200 if text.strip() else 400)
            check_shown_as_text(answer.text)


def check_shown_as_text(document):
    assert "<script>alert" not in document
    assert "<img" not in document
    visible = re.sub('value="[^"]*"', "", document)  # forms send ids back as they are
    assert not set(visible) & set("\u202d\u2066\u200b\u2028"), "direction marks are escaped"


PERSONAL = ("/client?kind=user&id=ann", "/client/recommendations?kind=user&id=ann")
OPERATING = (
    "/client/events?kind=user&id=ann",
    "/client/export?kind=user&id=ann",
    "/client/forget?kind=user&id=ann",
)


async def test_each_role_sees_what_its_token_may_read(tokens, tmp_path, start_page):
    async with serve_with_tokens(tokens, tmp_path) as (running, client):
        await propagate_opera(client)
        async with start_page(running.address) as page:
            await page.sign_in(tokens.secrets[Role.READ])
            for path in (*PERSONAL, *OPERATING):
                refused = await page.get(path)
                assert refused.status_code == 403, path
                assert "Your token may not see this" in refused.text
                assert "This needs the role " in refused.text
            item = await page.get("/client?kind=item&id=i15")
            assert item.status_code == 200
            for person in ("ann", "bob", "cid"):
                assert f"id={person}" not in item.text
            assert "/client/events" not in item.text
            search = await page.get("/clients")
            assert "and no users" in search.text
            assert '<option value="user"' not in search.text
            users = await page.get("/clients?kind=user&text=ann")
            assert users.status_code == 403
            assert 'href="/client?kind=user' not in users.text

            await page.sign_in(tokens.secrets[Role.PERSONS])
            for path in PERSONAL:
                assert (await page.get(path)).status_code == 200, path
            for path in OPERATING:
                assert (await page.get(path)).status_code == 403, path
            assert "id=bob" not in (await page.get(PERSONAL[0])).text
            exact = await page.get("/clients?kind=user&text=ann")
            assert exact.headers["location"] == "/client?kind=user&id=ann"
            lines = await page.get("/clients?kind=item&text=opera&lines=1")
            assert lines.status_code == 403
            neighbours = await page.get("/client/similar?kind=user&id=ann&of=user")
            assert neighbours.status_code == 403
            taken = await page.send(
                "/client/events/retract", {"kind": "user", "id": "ann", "event": "ann-i0"}
            )
            assert taken.status_code == 403
