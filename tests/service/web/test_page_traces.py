"""The page of traces, over HTTP and a real service."""

import html
import re
from urllib.parse import urlencode

from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from tests.service.scenarios import ANN, ITEM, propagate_opera, record_choices, upsert_records

STRANGE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "a\u202eb",
    "👩 😀",
    "{{ 7 * 7 }} &amp;",
]


def read_text(answer) -> str:
    """Return the text of a page without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


async def test_an_event_leads_to_the_profiles_that_it_reached(service, start_page):
    line = await propagate_opera(service)
    trace = await service.stub.TracePropagation(
        pb.TracePropagationRequest(event_id="bob-i15", limit=1_000)
    )
    reached = [path for path in trace.paths if path.hops[-1].profile.client.clients.keys == [ANN]]
    assert reached
    async with start_page(service.address) as page:
        answer = await page.get("/trace?event=bob-i15&limit=1000")
    text = read_text(answer)
    assert answer.status_code == 200
    assert line.text in text
    for path in trace.paths:
        for hop in path.hops:
            assert hop.text in text
    assert '<svg viewBox="0 0 ' in answer.text
    assert answer.text.count('href="/client?kind=user&amp;id=ann"') >= 2
    assert re.search(
        r'<a href="/routers/taste/\d+/messages\?version=\d+" class="step message"', answer.text
    )
    senders = answer.text.split('id="senders"')[1].split("</section>")[0]
    assert '"/client?kind=user&amp;id=bob"' in senders
    assert senders.count("<li>") == len(
        {
            (source.message.router, source.message.version)
            for path in trace.paths
            for hop in path.hops
            for source in hop.profile.line.sources
            if source.message.HasField("senders")
        }
    )


async def test_a_line_leads_back_to_the_events_behind_it(service, start_page):
    line = await propagate_opera(service)
    async with start_page(service.address) as page:
        profile = await page.get("/trace?user=ann")
        address = f"/trace?{urlencode({'line': line.id, 'kind': 'user', 'id': 'ann'})}"
        assert html.escape(address) in profile.text
        answer = await page.get(address)
    text = read_text(answer)
    assert answer.status_code == 200
    assert "Where a line came from" in text
    assert "this line" in text
    assert line.text in text
    # Ann heard it from those who turned to opera, and the words begin at the line.
    assert re.search(r"user (bob|cid) chose “Record 15”", text)
    words = text[text.index("In words") :]
    assert words.index("the profile of user ann heard of it") < words.index("chose “Record 15”")


async def test_each_step_is_in_the_picture_once(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        answer = await page.get("/trace?attribute=opera")
    steps = re.findall(r'class="step event".*?</a>', answer.text, re.DOTALL)
    events = [re.findall(r"<text[^>]*>([^<]*)", step) for step in steps]
    assert events
    assert len(events) == len({tuple(event) for event in events})


async def test_the_form_makes_an_address_that_can_be_sent(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        begin = await page.get("/trace")
        assert "What routers speak of now" in begin.text
        assert 'href="/trace?attribute=opera"' in begin.text
        moved = await page.get(f"/trace?{urlencode({'from': 'item', 'value': 'i15 &x'})}")
        assert (moved.status_code, moved.headers["location"]) == (303, "/trace?item=i15+%26x")
        assert (await page.get("/trace?from=item&value=")).headers["location"] == "/trace"


async def test_an_attribute_in_other_words_leads_to_those_that_it_may_mean(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        for words in ("Operas", "the opera house"):
            shown = (await page.get(f"/trace?{urlencode({'attribute': words})}")).text
            meant = shown.split("Did you mean")[1].split("</section>")[0]
            assert 'href="/trace?attribute=opera"' in meant
        assert "Did you mean" not in (await page.get("/trace?attribute=zzz")).text


async def test_more_paths_than_the_limit_are_said_and_linked(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        short = await page.get("/trace?attribute=opera&limit=1")
        whole = await page.get("/trace?attribute=opera&limit=1000")
    assert "There are more paths than these 1." in read_text(short)
    assert "/trace?attribute=opera&amp;limit=5" in short.text
    assert "There are more paths" not in whole.text
    assert len(re.findall(r' id="path-\d+"', whole.text)) > 1


async def test_what_is_unknown_or_erased_gets_one_sentence(service, start_page):
    line = await propagate_opera(service)
    await service.stub.RetractInteractions(pb.RetractInteractionsRequest(event_ids=["cid-i15"]))
    bob = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="bob")
    await service.stub.ForgetClient(pb.ForgetClientRequest(key=bob))
    gone = {"line": line.id + 999, "kind": "user", "id": "ann"}
    async with start_page(service.address) as page:
        for query, sentence in {
            "event=cid-i15": "There is no such event: it was never recorded, or was taken back",
            "event=bob-i15": "There is no such event",
            "user=bob": "There is no such user",
            "item=none": "There is no such item",
            "attribute=none": "No attribute of this name can be traced",
            urlencode(gone): f"The present version of the profile has no line {line.id + 999} that",
        }.items():
            answer = await page.get(f"/trace?{query}")
            assert answer.status_code == 404, query
            assert sentence in read_text(answer), query
            assert 'name="value"' in answer.text  # and another trace can begin here


async def test_a_wrong_address_gets_one_sentence(service, start_page):
    async with start_page(service.address) as page:
        for query in (
            "item=a&user=b",
            "line=1",
            "line=1&kind=user",
            "line=1&kind=router&id=a",
            "line=x&kind=user&id=a",
            "line=99999999999999999999&kind=user&id=a",
            "item=a&limit=0",
            "item=a&limit=1001",
            "item=a&limit=²",
            "from=router&value=1",
            f"item={'x' * 300}",
        ):
            answer = await page.get(f"/trace?{query}")
            assert answer.status_code == 400, query
            assert '<p class="problem"' in answer.text


async def test_an_empty_service_says_what_to_do_first(service, start_page):
    async with start_page(service.address) as page:
        text = read_text(await page.get("/trace"))
        await upsert_records(service, [("i1", "jazz", None)])
        alone = read_text(await page.get("/trace?item=i1"))
    assert "Add items, record interactions" in text
    assert "It has reached no router yet." in alone


async def test_foreign_texts_are_shown_as_text(service, start_page):
    await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[
                pb.Client(
                    key=pb.ClientKey(kind=ITEM, id=f"i{n} {text}" if n < 5 else f"i{n}"),
                    title=text if n < 5 else "x" * 8_000 if n == 5 else "",
                    attributes=[text, "jazz" if n < 5 else "opera"],
                )
                for n, text in enumerate([*STRANGE, *(f"w{n}" for n in range(15))])
            ]
        )
    )
    chosen = [f"i{n} {text}" for n, text in enumerate(STRANGE)]
    await service.engine.init()
    for wave in (chosen[:3], [*chosen[3:], "i5"]):
        await record_choices(
            service,
            [(f"{user} {item} {text}", f"{user} {text}", item)
             for text in STRANGE[:1] for user in ("ann", "bob", "cid") for item in wave],
        )  # fmt: skip
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    async with start_page(service.address) as page:
        for query, code in (
            ({"event": f"bob {chosen[0]} {STRANGE[0]}"}, 200),
            ({"user": f"ann {STRANGE[0]}"}, 200),
            *(({"item": item}, 200) for item in (*chosen, "i5")),
            ({"attribute": STRANGE[0]}, 404),
            ({"event": STRANGE[1]}, 404),
            ({"attribute": "x" * 10_000}, 400),
        ):
            answer = await page.get(f"/trace?{urlencode(query)}")
            assert answer.status_code == code, query
            assert "<script>alert" not in answer.text
            assert "<img" not in answer.text
            # Forms send back what was asked for as it is.
            assert "\u202e" not in re.sub('value="[^"]*"', "", answer.text)
            assert set(re.findall(r"<script src=\"([^\"?]*)", answer.text)) <= {
                "/static/page.js",
                "/static/trace.js",
            }
        for place in (0, 1, 3, 4):
            shown = await page.get(f"/trace?{urlencode({'item': chosen[place]})}")
            assert STRANGE[place] in html.unescape(re.sub(r"<[^>]*>", " ", shown.text))


async def test_a_visitor_sees_no_more_than_her_token(start_service, start_page):
    async with start_service(auto_create=True) as service:
        await propagate_opera(service)
    async with (
        start_service(roles=(Role.READ,)) as service,
        start_page(service.address) as page,
    ):
        assert (await page.sign_in(service.token)).status_code == 303
        begin = await page.get("/trace")
        assert '<option value="user"' not in begin.text
        assert '<option value="event"' not in begin.text
        for query in ("user=ann", "event=bob-i15", "line=1&kind=user&id=ann"):
            answer = await page.get(f"/trace?{query}")
            assert answer.status_code == 403, query
            assert "needs" in read_text(answer)
        item = await page.get("/trace?item=i15")
        trace = await service.stub.TracePropagation(
            pb.TracePropagationRequest(client=pb.ClientKey(kind=ITEM, id="i15"))
        )
    assert item.status_code == 200
    assert trace.paths
    for path in trace.paths:
        for hop in path.hops:
            assert hop.text in read_text(item)
    for user in ("ann", "bob", "cid"):
        assert user not in re.findall(r"[a-z]+", read_text(item))
