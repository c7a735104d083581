"""Export and forgetting on the page, over HTTP."""

import html
import json
import re

import grpc
import pytest

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.runtime.console import make_printable
from tests.service.scenarios import ANN, catch_code, propagate_opera, record_choices

FORM = {"kind": "user", "id": "ann"}
PAGE = "/client/forget?kind=user&id=ann"


async def test_the_export_is_a_file_of_what_the_service_holds(service, start_page):
    await propagate_opera(service)
    held = [
        record.json_line
        async for record in service.stub.ExportClient(pb.ExportClientRequest(key=ANN))
    ]
    async with start_page(service.address) as page:
        answer = await page.get("/client/export?kind=user&id=ann")
    assert answer.headers["content-disposition"].startswith("attachment; filename=")
    records = [json.loads(line) for line in answer.text.split("\n")[:-1]]
    assert len(records) == len(held) > 3
    assert {one["what"] for one in records} == {json.loads(one)["what"] for one in held}


async def test_an_odd_id_cannot_break_the_header_of_its_file(service, start_page):
    odd = 'a"; filename="x.html'
    await service.stub.UpsertClients(
        pb.UpsertClientsRequest(clients=[pb.Client(key=pb.ClientKey(kind=1, id=odd), title="t")])
    )
    async with start_page(service.address) as page:
        answer = await page.http.get("/client/export", params={"kind": "user", "id": odd})
    assert answer.status_code == 200
    assert "x.html" not in answer.headers["content-disposition"].replace("x.html.jsonl", "")
    assert answer.headers["content-disposition"].count('"') == 2


async def test_a_client_is_forgotten_only_if_its_id_was_typed(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        assert "<strong>4 events</strong>" in (await page.get(PAGE)).text
        before = await page.send("/client/forget/preview", FORM)
        planned = await service.stub.ForgetClient(pb.ForgetClientRequest(key=ANN, dry_run=True))
        assert planned.events_erased == 4
        assert f"As of entry {planned.as_of_sequence}" in before.text
        assert "<strong>4 events</strong>" in before.text
        assert f"<strong>{pluralize(planned.lines_dropped, 'line')}</strong>" in before.text
        assert f"<strong>{pluralize(planned.router_texts, 'text')}</strong>" in before.text
        wrong = await page.send("/client/forget", {**FORM, "typed": "anne"})
        assert wrong.status_code == 303
        assert "Nothing was erased" in (await page.get(PAGE)).text
        assert (await page.get("/client?kind=user&id=ann")).status_code == 200

        done = await page.send("/client/forget", {**FORM, "typed": " ann "})
        assert done.status_code == 303
        said = await page.get(done.headers["location"])
        assert "User ann was forgotten: 4 events erased" in said.text
        assert (await page.get("/client?kind=user&id=ann")).status_code == 404
        again = await page.send("/client/forget", {**FORM, "typed": "ann"})
        assert again.status_code == 404


@pytest.mark.parametrize("odd", ["a\u200bb", "a\u202eb", "a\u200db"])
async def test_forms_act_on_the_client_that_the_page_shows(service, start_page, odd):
    """Its twin is called as the page writes the invisible characters of the other."""
    twin = make_printable(odd)
    await record_choices(service, [("e1", odd, "i1"), ("e2", twin, "i1")])
    async with start_page(service.address) as page:
        shown = await page.http.get("/client/forget", params={"kind": "user", "id": odd})
        hidden = re.search('name="id" value="([^"]*)"', shown.text)
        assert hidden is not None
        form = {"kind": "user", "id": html.unescape(hidden[1]), "typed": twin}
        assert (await page.send("/client/forget", form)).status_code == 303
        events = await page.http.get("/client/events", params={"kind": "user", "id": twin})
    assert "e2" in events.text
    for name, there in ((odd, False), (twin, True)):
        key = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=name)
        code = await catch_code(service.stub.GetProfile(pb.GetProfileRequest(key=key)))
        assert (code == grpc.StatusCode.OK) == there, name


async def test_items_that_only_its_events_named_are_counted_beforehand(service, start_page):
    await record_choices(service, [("e1", "ann", "i1"), ("e2", "ann", "i2"), ("e3", "bob", "i2")])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    async with start_page(service.address) as page:
        before = await page.send("/client/forget/preview", FORM)
    assert "<strong>1 item</strong> that only its events named" in before.text
