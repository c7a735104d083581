"""Sign-in with tokens and roles, cookies, and sessions that end."""

import asyncio
import logging
import re
import ssl
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import grpc
import pytest

from propagation.workflow.settings import WorkflowSettings
from propagation_client import CallFailed, Credentials
from services.config.settings import ServerSettings, Settings, TlsSettings
from services.grpc import interceptor
from services.security import reloaded_file
from services.security.rate_limits import TokenBuckets
from services.security.roles import Role
from services.security.tokens import create_token, write_tokens
from services.server import run_service
from services.web.access import feed, sessions, sign_in_slots
from services.web.access.sessions import Sessions
from tests.service.certificates import make_authority, make_certificate
from tests.service.conftest import SMALL
from tests.service.web.conftest import open_visitor
from tests.waiting import wait_until


@asynccontextmanager
async def run_closed_service(folder, tokens, **server):
    settings = Settings(
        database=folder / "closed.db",
        reasoning_in="loop",
        server=ServerSettings(port=0, grace_seconds=0.2, tokens=tokens.path, **server),
        workflow=WorkflowSettings(**SMALL, auto_create=True),
    )
    async with run_service(settings) as service:
        yield service


@pytest.fixture
async def closed(tmp_path, tokens, monkeypatch):
    """Yield a service that wants tokens, and notices changes of their file at once."""
    monkeypatch.setattr(reloaded_file, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(interceptor, "RECHECK_SECONDS", 0.05)
    async with run_closed_service(tmp_path, tokens) as service:
        yield service


async def read_live(page, view="now", events=1):
    """Return the text of some events of a live view."""
    async with page.http.stream("GET", f"/live?view={view}") as answer:
        assert answer.status_code == 200
        text = ""
        async with asyncio.timeout(10):
            async for part in answer.aiter_text():
                text += part
                if text.count("event: ") >= events:
                    break
        return text


async def test_nothing_is_shown_before_the_sign_in(closed, start_page):
    async with start_page(closed.address, token_needed=True) as page:
        answer = await page.get("/")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/sign-in?next=%2F"
        live = await page.get("/live?view=now")  # a browser would follow a redirect for ever
        assert live.headers["content-type"].startswith("text/event-stream")
        assert live.text == "event: signed-out\ndata: {}\n\n"
        form = await page.http.post("/round", data={})
        assert form.status_code == 303
        asked = await page.get(form.headers["location"])
        assert "Nothing was done." in asked.text
        assert "session has ended" not in asked.text, "there was none"
        assert "set-cookie" not in form.headers


@pytest.mark.parametrize("role", list(Role))
async def test_a_visitor_may_do_what_the_token_may(closed, start_page, tokens, role):
    async with start_page(closed.address, token_needed=True) as page:
        answer = await page.sign_in(tokens.secrets[role])
        if role in (Role.APPLICATION, Role.WRITE):
            assert answer.status_code == 403
            assert "may not read" in answer.text
            return
        assert answer.status_code == 303
        shown = await page.get("/")
        assert shown.status_code == 200
        assert ("Run a round now" in shown.text) == (role == Role.ADMIN)
        sent = await page.send("/round", {})
        assert sent.status_code == (303 if role == Role.ADMIN else 403)
        if role != Role.ADMIN:
            assert "Your token may not do this" in sent.text
            assert "This needs the role admin. Sign in with a token that has it." in sent.text


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        ("", "Paste a token"),
        ("nobody.nothing", "does not know this token"),
        ("a b", "contains a space"),
        ("ä", "other letters"),
        ("a\x00b", "other letters"),
        ("a" * 600, "too long"),
        ("<script>alert(1)</script>", "does not know this token"),
    ],
)
async def test_a_bad_token_gets_one_sentence(closed, start_page, token, sentence):
    async with start_page(closed.address, token_needed=True) as page:
        answer = await page.sign_in(token)
        assert answer.status_code == 403
        assert sentence in answer.text
        assert "set-cookie" not in answer.headers
        assert not token or token not in answer.text


async def test_cookies_are_closed_to_scripts_and_to_other_sites(closed, start_page, tokens):
    async with start_page(closed.address, token_needed=True) as page:
        answer = await page.sign_in(tokens.secrets[Role.READ])
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Secure" not in cookie, "it would not be sent over plain loopback"
        assert "Domain" not in cookie
        left = await page.send("/sign-out", {})
        assert "Max-Age=0" in left.headers["set-cookie"]
        assert (await page.get("/")).status_code == 303


@pytest.mark.slow
async def test_over_tls_cookies_are_secure(tmp_path, tokens, start_page):
    authority = make_authority(tmp_path, "ca")
    own = make_certificate(tmp_path, "server", authority)
    tls = TlsSettings(certificate=own.certificate, key=own.key)
    async with (
        run_closed_service(tmp_path, tokens, tls=tls) as service,
        start_page(
            service.address,
            tls=True,
            ca=str(authority.certificate),
            certificate=str(own.certificate),
            key=str(own.key),
            token_needed=True,
            verify=ssl.create_default_context(cafile=authority.certificate),
        ) as page,
    ):
        assert page.address.startswith("https://")
        answer = await page.sign_in(tokens.secrets[Role.READ])
        assert answer.status_code == 303
        assert "Secure" in answer.headers["set-cookie"]
        assert (await page.get("/")).status_code == 200
        assert (await page.send("/sign-out", {})).status_code == 303


async def test_no_secret_is_in_an_address_a_log_or_a_page(
    closed, start_page, tokens, caplog, capsys
):
    caplog.set_level(logging.DEBUG)
    secret = tokens.secrets[Role.ADMIN]
    seen = []
    async with start_page(closed.address, token_needed=True) as page:
        seen.append(await page.sign_in("my-admin.wrong-and-secret"))
        seen.append(await page.sign_in(secret))
        paths = ("/", "/none", "/live?view=none", "/sign-in")
        seen += [await page.get(path) for path in paths]
        seen.append(await page.send("/round", {}))
        seen.append(await page.get("/"))
        live_text = await read_live(page)
        session = next(iter(page.http.cookies.values()))
        seen.append(await page.send("/sign-out", {}))
    # The visitor's own HTTP client logs, too.
    logged = [one for one in caplog.records if not one.name.startswith("http")]
    assert any(one.name.startswith("grpc") for one in logged)
    written = "".join([*capsys.readouterr(), *(one.getMessage() for one in logged), live_text])
    for answer in seen:
        written += answer.text + str(answer.url) + answer.headers.get("location", "")
    assert "request refused" in written, "the log was looked at"
    for hidden in (secret, secret.partition(".")[2], "wrong-and-secret", session):
        assert hidden not in written


@pytest.mark.slow
async def test_a_withdrawn_token_ends_the_session_of_an_open_page(closed, start_page, tokens):
    async with start_page(closed.address, token_needed=True) as page:
        await page.sign_in(tokens.secrets[Role.READ])
        assert (await page.get("/")).status_code == 200
        async with page.http.stream("GET", "/live?view=now") as answer:
            text = ""
            async with asyncio.timeout(10):
                async for part in answer.aiter_text():
                    text += part
                    if "event: frame" in text:
                        tokens.keep([Role.ADMIN])
            assert text.endswith("event: signed-out\ndata: {}\n\n"), "the stream ended by itself"
        shown = await page.get("/")
        assert shown.headers["location"] == "/sign-in?next=%2F&ended=1"
        assert "your token was withdrawn" in (await page.get("/sign-in?ended=1")).text
        assert (await page.get("/")).headers["location"].startswith("/sign-in?next=")


@pytest.mark.slow
async def test_an_expired_token_ends_the_session(closed, start_page, tokens):
    secret, entry = create_token("short", [Role.READ], datetime.now(UTC) + timedelta(seconds=1.5))
    write_tokens(tokens.path, [entry])
    async with start_page(closed.address, token_needed=True) as page:
        assert (await page.sign_in(secret)).status_code == 303

        async def is_refused():
            return (await page.get("/")).status_code == 303

        assert not await is_refused()
        await wait_until(is_refused, 10, pause=0.1)


async def test_a_role_that_was_taken_away_hides_its_buttons(closed, start_page, tokens):
    async with start_page(closed.address, token_needed=True) as page:
        secret, entry = create_token("ann", [Role.ADMIN])
        write_tokens(tokens.path, [entry])
        await page.sign_in(secret)
        key = await page.find_key()
        entry = type(entry)(entry.name, frozenset({Role.READ}), entry.hashed)
        write_tokens(tokens.path, [entry])
        refused = await page.http.post("/round", data={"forgery_key": key})
        assert refused.status_code == 403, "the service decides, whatever the page still shows"
        await read_live(page)
        assert "Run a round now" not in (await page.get("/")).text


async def test_a_page_that_wants_tokens_refuses_a_service_without(service, start_page):
    """Else a page that others reach would be open to all."""
    async with start_page(service.address, token_needed=True) as page:
        assert (await page.get("/")).status_code == 303
        answer = await page.sign_in("any.token")
        assert answer.status_code == 403
        assert "open to everybody" in answer.text


async def test_visitors_without_a_token_are_kept_from_their_first_form_on(
    service, start_page, monkeypatch
):
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 20)
    async with start_page(service.address) as page:
        held = page.state.sessions
        for _ in range(60):
            page.http.cookies.clear()
            assert (await page.get("/live?view=none")).status_code == 400
        assert not held._visitors
        page.http.cookies.clear()
        first_key = await page.find_key()
        first_cookies = dict(page.http.cookies)
        assert not held._visitors
        for _ in range(30):
            page.http.cookies.clear()
            assert (await page.http.post("/round", data={})).status_code == 403
            await page.find_key()
            assert (await page.http.post("/round", data={})).status_code == 403
        assert len(held._visitors) == 20
        page.http.cookies.clear()
        page.http.cookies.update(first_cookies)
        done = await page.http.post("/round", data={"forgery_key": first_key})
        assert done.headers["location"] == "/"
        shown = await page.get("/")
        assert "set-cookie" not in shown.headers
        assert 'class="notice"' in shown.text, "what the form did is told"
        assert 'class="notice"' not in (await page.get("/")).text
        await read_live(page)


async def test_a_cookie_that_another_page_signed_is_no_session(service, start_page):
    async with start_page(service.address) as page, start_page(service.address) as other:
        await other.get("/")
        [session] = other.http.cookies.values()
        assert await other.state.sessions.find(session) is not None
        assert await page.state.sessions.find(session) is None
        nonce = session.partition(".")[0]
        for forged in (nonce, f"{nonce}.", f".{nonce}", ".", f"{nonce}.{'0' * 64}"):
            assert await other.state.sessions.find(forged) is None
            assert other.state.sessions.look_up(forged) is None


async def test_a_token_ends_no_sessions_of_another(closed, tokens, monkeypatch):
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 5)
    opened = Sessions(closed.address, Credentials(), token_needed=False)
    admin = await opened.sign_in(tokens.secrets[Role.ADMIN])
    readers = [await opened.sign_in(tokens.secrets[Role.READ]) for _ in range(12)]
    assert await opened.find(admin.session) is admin
    assert [await opened.find(reader.session) for reader in readers] == [None] * 7 + readers[7:]
    await opened.close()


async def count_calls(service, monkeypatch):
    """Return the list to which each call without a known token adds."""
    seen = []
    take = TokenBuckets.take

    def note(self, client, amount, longest_seconds=0.0):
        if self._unit == "wrong tokens":
            seen.append(client)
        return take(self, client, amount, longest_seconds)

    monkeypatch.setattr(TokenBuckets, "take", note)
    return seen


async def test_visitors_without_a_token_ask_the_service_once(closed, start_page, monkeypatch):
    seen = await count_calls(closed, monkeypatch)
    async with start_page(closed.address) as page:
        answers = await asyncio.gather(*(page.get("/") for _ in range(40)))
        assert {answer.status_code for answer in answers} == {303}
        assert {answer.headers["location"] for answer in answers} == {"/sign-in?next=%2F"}
    assert len(seen) == 1


@pytest.mark.parametrize(("known", "calls"), [(True, 0), (False, 1)])
async def test_sign_ins_send_no_wrong_tokens(closed, start_page, tokens, monkeypatch, known, calls):
    seen = await count_calls(closed, monkeypatch)
    options = {"token_needed": True, "service_has_tokens": known}
    async with start_page(closed.address, **options) as page:
        for _ in range(20):
            assert (await page.sign_in(tokens.secrets[Role.READ])).status_code == 303
    assert len(seen) == calls


async def test_a_service_that_had_too_many_wrong_tokens_lets_valid_ones_in(closed, tokens):
    """The page's calls are one peer, which any visitor's wrong tokens use up."""
    other = Sessions(closed.address, Credentials(), token_needed=False)
    wrong = [other.sign_in(f"nobody.{number}", f"10.0.0.{number}") for number in range(40)]
    refused = asyncio.gather(*wrong, return_exceptions=True)
    opened = Sessions(closed.address, Credentials(), token_needed=True)
    while not opened._visitors:
        await asyncio.sleep(0)
        await opened.sign_in(tokens.secrets[Role.READ])
    assert await opened.visit_without_token() is None
    assert await other.visit_without_token() is None
    assert grpc.StatusCode.RESOURCE_EXHAUSTED in {
        error.code() for error in await refused if isinstance(error, CallFailed)
    }
    await opened.close()
    await other.close()


async def sign_in_wrongly(page, number):
    """Send a wrong token over a connection of its own; return the status of the answer."""
    async with open_visitor(page.address) as http:
        return (await http.post("/sign-in", data={"token": f"nobody.{number}"})).status_code


async def test_a_flood_of_wrong_tokens_does_not_refuse_a_good_one(
    closed, start_page, tokens, monkeypatch
):
    monkeypatch.setattr(sign_in_slots, "SLOTS", 4)
    monkeypatch.setattr(sign_in_slots, "WRONG_SECONDS", 2.0)
    seen = await count_calls(closed, monkeypatch)
    options = {"token_needed": True, "service_has_tokens": True}
    async with start_page(closed.address, **options) as page:
        assert (await page.sign_in(tokens.secrets[Role.READ])).status_code == 303
        flood = [asyncio.create_task(sign_in_wrongly(page, number)) for number in range(8)]
        await wait_until(lambda: len(seen) == 4)
        known = await page.sign_in(tokens.secrets[Role.READ])
        assert known.status_code == 303
        assert len(seen) == 4, "a token that signed in before waits for nobody"
        first = await page.sign_in(tokens.secrets[Role.ADMIN])
        assert first.status_code == 303
        assert len(seen) == 8, "it waited for those before it"
        assert set(await asyncio.gather(*flood)) == {403}


async def test_who_leaves_the_line_delays_nobody(closed, start_page, tokens, monkeypatch):
    monkeypatch.setattr(sign_in_slots, "SLOTS", 1)
    monkeypatch.setattr(sign_in_slots, "WRONG_SECONDS", 0.3)
    seen = await count_calls(closed, monkeypatch)
    options = {"token_needed": True, "service_has_tokens": True}
    async with start_page(closed.address, **options) as page:
        flood = [asyncio.create_task(sign_in_wrongly(page, number)) for number in range(20)]
        await wait_until(lambda: seen)
        for one in flood:
            one.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
        assert (await page.sign_in(tokens.secrets[Role.ADMIN])).status_code == 303
        assert len(seen) < 5


async def test_a_machine_with_many_addresses_is_counted_as_one(closed, monkeypatch):
    monkeypatch.setattr(sign_in_slots, "SLOTS", 1)
    monkeypatch.setattr(sign_in_slots, "WRONG_SECONDS", 0.3)
    opened = Sessions(closed.address, Credentials(), token_needed=False)

    async def measure(host):
        began = time.monotonic()
        with pytest.raises(sessions.SignInRefused):
            await opened.sign_in("nobody.x", host)
        return time.monotonic() - began

    await measure("fd00::1")
    assert await measure("fd00:1::1") < 0.25, "another network"
    assert await measure("fd00::1:2:3:4") > 0.25
    await opened.close()


@pytest.mark.parametrize(
    ("code", "waits"),
    [(grpc.StatusCode.UNAVAILABLE, False), (grpc.StatusCode.RESOURCE_EXHAUSTED, True)],
)
async def test_only_what_the_service_refused_keeps_its_place(code, waits):
    places = sign_in_slots.SignInSlots()
    for _ in range(sign_in_slots.SLOTS):
        with pytest.raises(CallFailed):
            async with places.take("here"):
                raise CallFailed(code)
    async with asyncio.timeout(1):
        async with places.take("elsewhere"):
            pass
    following = asyncio.create_task(places.take("here").__aenter__())
    done, _ = await asyncio.wait([following], timeout=0.1)
    assert bool(done) != waits
    following.cancel()


async def test_wrong_tokens_leave_nothing_behind(closed):
    opened = Sessions(closed.address, Credentials(), token_needed=True)
    for number in range(9):  # the service holds back its answers to more
        with pytest.raises(sessions.SignInRefused, match="Ask for a new one"):
            await opened.sign_in(f"nobody.{number}")
    assert not opened._connections
    assert not opened._visitors
    await opened.close()


async def test_a_visitor_who_leaves_does_not_end_the_sign_in_of_another(closed, tokens):
    opened = Sessions(closed.address, Credentials(), token_needed=False)
    secret = tokens.secrets[Role.READ]
    for _ in range(10):
        first = await opened.sign_in(secret)
        joining = asyncio.create_task(opened.sign_in(secret))
        await asyncio.sleep(0)
        await opened.sign_out(first.session)
        second = await joining
        assert await opened.find(second.session) is second
        await opened.sign_out(second.session)
    assert not opened._connections
    await opened.close()


async def test_an_idle_session_ends_and_leaves_nothing(closed, tokens):
    now = [0.0]
    opened = Sessions(closed.address, Credentials(), token_needed=False, clock=lambda: now[0])
    visitor = await opened.sign_in(tokens.secrets[Role.READ])
    now[0] += sessions.IDLE_SECONDS - 1
    assert await opened.find(visitor.session) is visitor
    now[0] += sessions.IDLE_SECONDS - 1
    assert opened.look_up(visitor.session) is visitor
    now[0] += 2
    assert opened.look_up(visitor.session) is None, "a look-up renews nothing"
    await opened.end_idle()
    assert not opened._visitors
    assert not opened._connections
    await opened.close()


async def test_an_open_live_view_does_not_keep_a_session(
    closed, start_page, tokens, monkeypatch, caplog
):
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.05)
    async with start_page(closed.address, token_needed=True) as page:
        await page.sign_in(tokens.secrets[Role.READ])
        held = page.state.sessions
        async with page.http.stream("GET", "/live?view=now") as answer:
            parts = answer.aiter_text()
            async with asyncio.timeout(10):
                while "event: frame" not in await anext(parts):
                    pass
                monkeypatch.setattr(held, "clock", lambda: time.monotonic() + 13 * 3_600)
                assert "event: signed-out" in [part async for part in parts][-1]
        assert (await page.get("/")).status_code == 303
        assert not held._visitors
        assert not held._connections
    assert "the live feed failed" not in caplog.text, "it ends before its client is closed"


async def test_a_second_sign_in_ends_the_first_session(closed, start_page, tokens):
    async with start_page(closed.address, token_needed=True) as page:
        await page.sign_in(tokens.secrets[Role.ADMIN])
        [first] = page.state.sessions._visitors
        await page.sign_in(tokens.secrets[Role.READ])
        [second] = page.state.sessions._visitors
        assert second != first
        assert len(page.state.sessions._connections) == 1
        assert (await page.get("/")).status_code == 200


async def test_reports_follow_the_roles_of_now(closed, start_page, tokens, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "first.html").write_text("<p>names of users")
    secret, entry = create_token("ann", [Role.ANALYST])
    write_tokens(tokens.path, [entry])
    async with start_page(closed.address, token_needed=True, reports=str(folder)) as page:
        await page.sign_in(secret)
        assert "names of users" in (await page.get("/reports/first.html")).text
        entry = type(entry)(entry.name, frozenset({Role.READ}), entry.hashed)
        write_tokens(tokens.path, [entry])
        for path in ("/reports/first.html", "/reports"):
            answer = await page.get(path)
            assert "roles analyst and admin only" in answer.text
        write_tokens(tokens.path, [tokens.entries[Role.ADMIN]])
        gone = await page.get("/reports/first.html")
        assert gone.headers["location"] == "/sign-in?next=%2Freports%2Ffirst.html&ended=1"


@pytest.mark.slow
async def test_visitors_of_one_token_share_a_feed(closed, start_page, tokens, monkeypatch):
    monkeypatch.setattr(feed, "LINGER_SECONDS", 0.1)
    async with start_page(closed.address, token_needed=True) as page:
        visitors = [open_visitor(page.address) for _ in range(3)]
        for visitor, role in zip(visitors, (Role.READ, Role.READ, Role.ADMIN), strict=True):
            await visitor.post("/sign-in", data={"token": tokens.secrets[role]})
        streams = [visitor.stream("GET", "/live?view=now") for visitor in visitors]
        for stream in streams:
            await stream.__aenter__()
        feeds = [one.feed for one in page.state.sessions._connections.values()]
        assert len(feeds) == 2
        assert all(one.find_snapshot() is not None for one in feeds)
        for stream, visitor in zip(streams, visitors, strict=True):
            await stream.__aexit__(None, None, None)
            await visitor.aclose()
        await wait_until(lambda: all(one.find_snapshot() is None for one in feeds), 10)


async def test_a_cookie_that_nobody_gave_is_no_session(closed, start_page):
    async with start_page(closed.address, token_needed=True) as page:
        name = f"propagation_session_{re.search(r':([0-9]+)$', page.address)[1]}"
        for value in ("", "x", "a" * 4_000, "%00", "../../x"):
            answer = await page.get("/", headers={"cookie": f"{name}={value}"})
            assert answer.status_code == 303
