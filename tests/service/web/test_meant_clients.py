"""Whoever gives words of a title in place of an id is shown the clients that have them."""

import html
import re
from urllib.parse import quote

import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation_client import Credentials, PropagationClient
from services.security.roles import Role
from tests.service.scenarios import propagate_opera
from tests.service.web.test_sign_in import run_closed_service

MEANT = re.compile(r'<h2 id="meant">Did you mean</h2>(.*?)</section>', re.DOTALL)


def list_meant(answer):
    """Return the addresses that a page offers in place of an unknown id."""
    found = MEANT.search(answer.text)
    return [html.unescape(one) for one in re.findall('href="([^"]+)"', found[1])] if found else []


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("/client?kind=item&id={}", "/client?kind=item&id={}"),
        ("/client/similar?kind=item&of=item&id={}", "/client/similar?kind=item&of=item&id={}"),
        ("/client/forget?kind=item&id={}", "/client/forget?kind=item&id={}"),
        ("/trace?item={}", "/trace?item={}"),
        ("/trace?item={}&limit=5", "/trace?limit=5&item={}"),
        ("/routers?attribute=opera&item={}", "/routers?attribute=opera&item={}"),
    ],
)
async def test_what_was_asked_is_offered_of_each_client_with_the_words(
    service, start_page, asked, meant
):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        answer = await page.get(asked.format(quote("record 15")))
        assert answer.status_code == 404
        assert list_meant(answer) == [meant.format("i15")]
        assert "Record 15" in answer.text
        assert (await page.get(list_meant(answer)[0])).status_code == 200
        for unknown in (asked.format("nothing-like-it"), asked.format("%20")):
            assert list_meant(await page.get(unknown)) == []


async def test_the_form_of_a_trace_takes_a_title(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        sent = await page.get("/trace?from=item&value=Record+15")
        answer = await page.get(sent.headers["location"])
        assert list_meant(answer) == ["/trace?item=i15"]


async def test_a_line_that_is_gone_offers_no_other_clients(service, start_page):
    await propagate_opera(service)
    await service.stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[pb.Client(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann-2"))]
        )
    )
    async with start_page(service.address) as page:
        answer = await page.get("/trace?line=99999&kind=user&id=ann")
    assert answer.status_code == 404
    assert list_meant(answer) == []


async def test_who_typed_another_client_can_go_to_it(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        fields = {"kind": "item", "id": "i3", "typed": "record 15"}
        wrong = await page.send("/client/forget", fields)
        answer = await page.get(wrong.headers["location"])
        assert "Nothing was erased" in answer.text
        assert list_meant(answer) == ["/client/forget?kind=item&id=i15"]


@pytest.mark.parametrize(("role", "offered"), [(Role.PERSONS, False), (Role.ANALYST, True)])
async def test_a_token_is_offered_only_whom_it_may_search(
    tmp_path, tokens, start_page, role, offered
):
    key = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="u1")
    async with (
        run_closed_service(tmp_path, tokens) as closed,
        PropagationClient(
            closed.address, Credentials(token=tokens.secrets[Role.WRITE]), timeout=10
        ) as writer,
        start_page(closed.address, token_needed=True) as page,
    ):
        await writer.stub.UpsertClients(
            pb.UpsertClientsRequest(clients=[pb.Client(key=key, title="Ann Marie")])
        )
        await page.sign_in(tokens.secrets[role])
        answer = await page.get("/client?kind=user&id=Marie")
        assert answer.status_code == 404
        assert list_meant(answer) == (["/client?kind=user&id=u1"] if offered else [])
