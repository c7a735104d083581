"""Forms of a session that is gone: the page was started again, or the token's session ended."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from services.security.roles import Role
from services.web.access.protection import FORGERY_FIELD
from tests.service.web.conftest import KEY
from tests.service.web.test_sign_in import run_closed_service


def find_fields(shown):
    """Return the key of the form that is shown."""
    found = KEY.search(shown.text)
    assert found
    return found[1]


async def start_again(page, other):
    """Let the visitor of a page go to the same page, started again; return her form's old key."""
    key = await page.find_key()
    name = f"propagation_session_{urlsplit(other.address).port}"
    [session] = page.http.cookies.values()
    other.http.cookies.set(name, session, domain="127.0.0.1")
    return key


@pytest.mark.parametrize("live_view_came_first", [False, True])
async def test_after_a_restart_one_more_press_does_it(service, start_page, live_view_came_first):
    async with start_page(service.address) as page, start_page(service.address) as again:
        old = await start_again(page, again)
        if live_view_came_first:  # it brings a new cookie to the page that is still open
            await again.get("/live?view=none")
        asked = await again.http.post(
            "/client/forget",
            data={FORGERY_FIELD: old, "kind": "user", "id": "<i>ann", "typed": "ann"},
            headers={"origin": again.address},
        )
        assert asked.status_code == 409
        assert "press once more" in asked.text
        assert 'action="/client/forget"' in asked.text
        for field in ('name="id" value="&lt;i&gt;ann"', 'name="typed" value="ann"'):
            assert field in asked.text
        fields = {FORGERY_FIELD: find_fields(asked), "kind": "user", "id": "<i>ann", "typed": "no"}
        done = await again.http.post(
            "/client/forget", data=fields, headers={"origin": again.address}
        )
        assert done.status_code == 303
        assert "Nothing was erased" in (await again.get("/clients")).text


@pytest.mark.parametrize("origin", ["https://attacker.example", "null", ""])
async def test_a_form_of_another_site_is_not_offered_again(service, start_page, origin):
    async with start_page(service.address) as page:
        await page.get("/")
        for data in ({FORGERY_FIELD: "0" * 64}, {}):
            asked = await page.http.post(
                "/round", data=data, headers={"origin": origin} if origin else {}
            )
            assert asked.status_code == 403
            assert "<button>Do it" not in asked.text
        page.http.cookies.clear()
        asked = await page.http.post("/round", headers={"origin": origin} if origin else {})
        assert asked.status_code == 403


@pytest.fixture
async def closed(tmp_path, tokens):
    async with run_closed_service(tmp_path, tokens) as service:
        yield service


@pytest.mark.parametrize(
    ("referer", "leads_to"),
    [
        ("{}/client/forget?kind=user&id=ann", "/client/forget?kind=user&id=ann"),
        ("{}/", "/"),
        ("{}/client/forget/preview", "/"),
        ("{}/live?view=now", "/"),
        ("{}/no/such/page", "/"),
        ("https://attacker.example/clients", "/"),
        ("http://[", "/"),
        ("", "/"),
    ],
)
async def test_a_sign_in_leads_to_the_page_of_the_form(
    closed, start_page, tokens, referer, leads_to
):
    async with start_page(closed.address, token_needed=True) as page:
        sent = await page.http.post(
            "/client/forget",
            data={"kind": "user", "id": "ann"},
            headers={"referer": referer.format(page.address), "origin": page.address},
        )
        place = urlsplit(sent.headers["location"])
        assert (sent.status_code, place.path) == (303, "/sign-in")
        assert parse_qs(place.query) == {"next": [leads_to], "undone": ["1"]}
        fields = {"token": tokens.secrets[Role.ADMIN], "next": leads_to}
        signed_in = await page.http.post("/sign-in", data=fields)
        assert signed_in.headers["location"] == leads_to


# Browsers drop the tab, and urlsplit takes the rest for a host that is none.
BROKEN = ("/\t/[", "/\t/a\u2100b", "/\t/evil.example/", "/[")


@pytest.mark.parametrize(
    "form", ["/round", "/failures/replay", "/live?view=now", "/sign-in", *BROKEN]
)
async def test_a_sign_in_leads_to_no_forms_address(closed, start_page, tokens, form):
    async with start_page(closed.address, token_needed=True) as page:
        shown = await page.get(f"/sign-in?{urlencode({'next': form})}")
        assert shown.status_code == 200
        assert f'name="next" value="{form}"' not in shown.text
        signed_in = await page.http.post(
            "/sign-in", data={"token": tokens.secrets[Role.ADMIN], "next": form}
        )
        assert signed_in.headers["location"] == "/"
