"""Routers on the page: the picture, the list, filters, one router, and what roles see."""

import html
import json
import re
from urllib.parse import quote

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from services.web.views.routers import router_listing
from tests.service.scenarios import ANN, ITEM, propagate_opera, record_choices
from tests.unit.services.report.test_page import ParsedPage
from tests.waiting import wait_until

ROW = re.compile(r'<th scope="row"><a href="/routers/(taste|session)/(\d+)')
DOT = re.compile(r'<a href="/routers/taste/(\d+)[^>]* aria-label')
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"' \u202e\u2066 😀 &amp;"


def list_rows(answer):
    """Return the numbers of the list's routers, in its order."""
    assert answer.status_code == 200, answer.text
    return [int(number) for _, number in ROW.findall(answer.text)]


def list_dots(answer):
    """Return the numbers of the routers that are links in the picture."""
    return sorted(int(number) for number in DOT.findall(answer.text))


def show_problem(answer):
    """Return a problem's sentence as the visitor reads it."""
    return html.unescape(re.search(r'<p class="problem">(.*?)</p>', answer.text, re.DOTALL)[1])


def assert_only_own_markup(text):
    """Fail if a browser would find elements or attributes that no template of the page has."""
    read = ParsedPage(text)
    assert read.tags.count("script") == 1
    assert not {"img", "iframe", "style"} & set(read.tags)
    names = {name for name, _ in read.attributes}
    assert not {name for name in names if name.startswith("on") or name == "style"}


async def list_taste_routers(service, **fields):
    request = pb.ListRoutersRequest(bank=pb.BANK_TASTE, **fields)
    return list((await service.stub.ListRouters(request)).routers)


async def test_an_empty_service_says_what_to_do_first(start_service, start_page):
    async with start_service() as service, start_page(service.address) as page:
        for path, words in (
            ("/routers", "add items with `propagation import FOLDER`"),
            ("/routers?bank=session", "add items"),
            ("/evolution", "No evolution has run yet"),
            ("/routers/taste/0", "It has sent no message yet"),
        ):
            answer = await page.get(path)
            assert answer.status_code == 200, path
            assert words in answer.text, path


async def test_the_picture_and_the_list_show_all_routers(service, start_page):
    await propagate_opera(service)
    routers = await list_taste_routers(service)
    async with start_page(service.address) as page:
        answer = await page.get("/routers")
        assert sorted(list_rows(answer)) == list_dots(answer) == [one.number for one in routers]
        for router in routers:
            assert html.escape(router.name, quote=False) in answer.text
        session = await page.get("/routers?bank=session")
        assert len(list_rows(session)) == 4
        for bank, number in (("taste", 1), ("session", 2)):
            shown = await page.get(f"/routers/{bank}/{number}")
            assert shown.status_code == 200, shown.text


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("members", lambda one: -one.members),
        ("mass", lambda one: -one.mass),
        ("number", lambda one: one.number),
        ("messages", lambda one: -one.version),
        ("name", lambda one: (one.name or f"router {one.number}").casefold()),
    ],
)
async def test_the_list_is_sorted(service, start_page, sort, key):
    await propagate_opera(service)
    wanted = [one.number for one in sorted(await list_taste_routers(service), key=key)]
    async with start_page(service.address) as page:
        assert list_rows(await page.get(f"/routers?sort={sort}")) == wanted


async def test_routers_beyond_the_first_page_are_listed_too(service, start_page, monkeypatch):
    monkeypatch.setattr(router_listing, "PAGE_SIZE", 1)
    await propagate_opera(service)
    numbers = [one.number for one in await list_taste_routers(service)]
    item = pb.ClientKey(kind=ITEM, id="i15")
    holding = [one.number for one in await list_taste_routers(service, member=item)]
    assert min(len(numbers), len(holding)) > 1
    async with start_page(service.address) as page:
        assert sorted(list_rows(await page.get("/routers"))) == numbers
        assert sorted(list_rows(await page.get("/routers?item=i15"))) == holding
        last = await page.get(f"/routers/taste/{numbers[-1]}")
        assert last.status_code == 200
        assert "This router is retired" not in last.text
        profile = await page.get("/client?kind=item&id=i15")
        for number in holding:
            assert f'href="/routers/taste/{number}"' in profile.text


async def test_filters_choose_routers_in_the_picture_and_the_list(service, start_page):
    await propagate_opera(service)
    routers = await list_taste_routers(service)
    texts = {one.number: f"{one.name} {one.text}".casefold() for one in routers}
    word, with_word = next(
        (word, found)
        for word in sorted(" ".join(texts.values()).split())
        if 0 < len(found := [number for number, text in texts.items() if word in text]) < 4
    )
    holding = await list_taste_routers(service, member=pb.ClientKey(kind=ITEM, id="i15"))
    assert 0 < len(holding) < 4
    async with start_page(service.address) as page:
        answer = await page.get(f"/routers?attribute={quote(word.upper())}")
        assert sorted(list_rows(answer)) == list_dots(answer) == with_word
        answer = await page.get("/routers?item=i15")
        assert sorted(list_rows(answer)) == list_dots(answer) == [one.number for one in holding]
        answer = await page.get("/routers?user=ann")
        assert list_rows(answer)
        nothing = await page.get("/routers?attribute=nosuchword")
        assert list_rows(nothing) == list_dots(nothing) == []
        assert "No router matches" in nothing.text


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/routers?sort=age", 400, "sort is none of"),
        ("/routers?bank=x", 400, "bank is none of"),
        ("/routers?at=yesterday", 400, "neither a sequence"),
        ("/routers?at=99999", 400, "99999"),
        ("/routers?at=0", 400, "from 1"),
        ("/routers?at=" + "9" * 400, 400, "from 1"),
        ("/routers?at=9999-12-31T23:59:59-23:00", 400, "neither a sequence"),
        ("/routers?item=nosuch", 404, "nosuch"),
        ("/routers?item=i1&user=ann", 400, "not of both"),
        ("/routers?item=i1&at=3", 400, "of now"),
        ("/routers/taste/99", 404, "99"),
        ("/routers/taste/-1", 400, "The number of a router is"),
        ("/routers/taste/" + "9" * 5_000, 400, "The number of a router is"),
        ("/routers/taste/0000000000019999999999", 400, "The number of a router is"),
        ("/routers/taste/1?page=forged.1", 400, "begin at the list"),
        ("/routers/taste/99/messages", 404, "99"),
        ("/routers/taste/1/messages?page=forged.1", 400, "begin at the list"),
        ("/routers/x/1", 400, "bank"),
        ("/routers/session/1?at=3", 400, "as_of"),
        ("/evolution?page=forged.1", 400, "begin at the list"),
    ],
)
async def test_a_wrong_address_gets_one_sentence(service, start_page, path, code, words):
    await record_choices(service, [("e1", "ann", "i1")])
    async with start_page(service.address) as page:
        answer = await page.get(path)
    assert answer.status_code == code
    assert words in show_problem(answer)


async def test_a_router_is_shown_as_it_was(service, start_page):
    await propagate_opera(service)
    router = max(await list_taste_routers(service), key=lambda one: one.version)
    assert router.version > 1
    async with start_page(service.address) as page:
        now = await page.get(f"/routers/taste/{router.number}")
        assert html.escape(router.text, quote=False) in html.unescape(now.text)
        before = re.search(r'href="([^"]*)" rel="prev"', now.text)[1]
        then = await page.get(html.unescape(before))
    (was,) = [
        one
        for one in await list_taste_routers(service, as_of=pb.AsOf(sequence=router.sequence - 1))
        if one.number == router.number
    ]
    assert was.text != router.text
    assert was.text in html.unescape(then.text)
    assert was.text in html.unescape(now.text), "the message before"
    assert router.text not in html.unescape(then.text)


async def test_messages_are_shown_by_version_with_who_merged_them(service, start_page):
    await propagate_opera(service)
    shown = set()
    async with start_page(service.address) as page:
        for router in await list_taste_routers(service):
            request = pb.ListRouterVersionsRequest(number=router.number)
            versions = (await service.stub.ListRouterVersions(request)).versions
            answer = await page.get(f"/routers/taste/{router.number}/messages")
            assert answer.status_code == 200, answer.text
            text = html.unescape(answer.text)
            assert text.count("<article") == len(versions)
            for one in versions:
                assert one.text in text
                for key in one.clients:
                    assert f"id={key.id}" in text
                    shown.add((key.kind, key.id))
    assert (ANN.kind, ANN.id) in shown


async def test_members_are_shown_by_page(service, start_page):
    await propagate_opera(service)
    router = max(await list_taste_routers(service), key=lambda one: one.members)
    shown, path = [], f"/routers/taste/{router.number}"
    async with start_page(service.address) as page:
        while path:
            text = (await page.get(path)).text
            shown += re.findall(r'<a class="client [^"]*" href="([^"]*)"', text)
            more = re.search(r'rel="next" href="([^"]*)"', text)
            path = html.unescape(more[1]) if more else ""
    assert len(shown) == len(set(shown)) == router.members


async def test_all_foreign_texts_are_shown_as_text(start_service, start_page):
    async with start_service(auto_create=True) as service:
        await service.stub.UpsertClients(
            pb.UpsertClientsRequest(
                clients=[
                    pb.Client(
                        key=pb.ClientKey(kind=ITEM, id=f"i{n} {HOSTILE}"),
                        title=f"{n} {HOSTILE}" + "x" * 5_000 * (n == 3),
                        attributes=[HOSTILE if n < 10 else "opera"],
                    )
                    for n in range(20)
                ]
            )
        )
        choices = [(f"{user} {HOSTILE}", n) for user in "abc" for n in range(4)]
        await record_choices(
            service, [(f"{user}-{n}", user, f"i{n} {HOSTILE}") for user, n in choices]
        )
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
        routers = await list_taste_routers(service)
        assert any("script" in f"{one.name} {one.text} {one.attributes}" for one in routers)
        async with start_page(service.address) as page:
            paths = ["/routers", "/routers?attribute=%3Cscript%3E&user=", "/evolution"]
            paths += [f"/routers/taste/{n}/messages" for n in range(4)]
            paths += [f"/routers/{bank}/{n}" for bank in ("taste", "session") for n in range(4)]
            paths += ["/routers?at=" + "x" * 5_000]
            for path in paths:
                text = (await page.get(path)).text
                assert_only_own_markup(text)
                assert not set("\u202e\u2066") & set(text), path


@pytest.mark.parametrize("role", ["read", "persons", "analyst", "admin"])
async def test_users_are_shown_to_analysts_and_buttons_to_operators(
    start_service, start_page, role
):
    async with start_service(auto_create=True) as service:
        await propagate_opera(service)
    async with start_service(roles=[Role(role)]) as service, start_page(service.address) as page:
        assert (await page.sign_in(service.token)).status_code == 303
        text = "".join([(await page.get(f"/routers/taste/{n}")).text for n in range(4)])
        assert ("kind=user&amp;id=ann" in text) == (role == "analyst")
        assert ("may not see by id" in text) == (role != "analyst")
        evolution = await page.get("/evolution")
        assert ("Evolve now" in evolution.text) == (role == "admin")
        asked = await page.get("/routers?user=ann")
        assert asked.status_code == (403 if role == "read" else 200)


async def test_flows_arrive_while_events_do(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        await page.get("/routers")
        async with page.http.stream("GET", "/live?view=routers") as answer:
            frames = (
                json.loads(line.removeprefix("data: "))
                async for line in answer.aiter_lines()
                if line.startswith("data: ")
            )
            first = await anext(frames)
            assert "flowing" in first["parts"]
            await record_choices(service, [(f"later-{n}", "ann", f"i{n}") for n in (12, 13, 16)])
            await service.stub.RunRound(pb.RunRoundRequest(drain=True))
            sent = {}
            while not sent:
                frame = await anext(frames)
                sent = {router: count for router, count, *_ in frame["flows"] if count}
        number = next(iter(sent))
        listed = await page.get("/routers?sort=sent")
        assert list_rows(listed)[0] in sent
        assert f'data-router="{number}" class="busy"' in listed.text


async def test_the_reach_of_messages_is_counted_once_for_all(service, start_page, monkeypatch):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        await page.get("/routers")
        reach = page.state.reach
        await wait_until(lambda: reach._kept)
        monkeypatch.setattr(type(reach), "_ask", None)  # a second call would fail
        answer = await page.get("/routers")
        assert answer.status_code == 200
        assert "is being counted" not in answer.text
