"""What every answer of the page carries, and which requests it refuses."""

import asyncio
from urllib.parse import urlsplit

import pytest

from services.web.access.feed import SharedFeed
from services.web.access.protection import CONTENT_POLICY, FORGERY_FIELD, MAX_FORM_BYTES


async def send_raw(address, head, body=b"", *, until=None):
    """Send bytes, and return what comes back until the server closes or `until` was seen."""
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
    answer = bytearray()
    async with asyncio.timeout(10):
        while until is None or until not in answer:
            part = await reader.read(65_536)
            if not part:
                break
            answer += part
    writer.close()
    return bytes(answer)


async def test_every_answer_has_the_content_policy(service, start_page, monkeypatch):
    async with start_page(service.address) as page:
        await page.get("/")
        answers = [
            await page.get(path)
            for path in ("/", "/sign-in", "/static/style.css", "/static/none", "/none", "/health")
        ]
        answers.append(await page.get("/live?view=none"))
        answers.append(await page.http.post("/round", data={}))
        answers.append(await page.http.put("/", content=b"x"))
        answers.append(await page.get("/", headers={"host": "attacker.example"}))
        answers.append(await page.http.head("/"))
        monkeypatch.setattr(SharedFeed, "find_snapshot", fail_at_once)
        answers.append(await page.get("/"))
    assert [answer.status_code for answer in answers] == [
        *(200, 200, 200, 404, 404, 200),
        *(400, 403, 405, 421, 200, 500),
    ]
    for answer in answers:
        assert answer.headers["content-security-policy"] == CONTENT_POLICY, answer
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers
        assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/", "GET, HEAD"),
        ("DELETE", "/sign-in", "GET, HEAD, POST"),
        ("GET", "/round", "POST"),
        ("PATCH", "/static/page.js", "GET, HEAD"),
    ],
)
async def test_a_refused_method_says_which_are_allowed(service, start_page, method, path, allowed):
    async with start_page(service.address) as page:
        answer = await page.http.request(method, path)
        assert answer.status_code == 405
        assert answer.headers["allow"] == allowed


def fail_at_once(*_):
    raise RuntimeError("planted")


async def test_pages_are_kept_by_no_cache_and_files_by_all(service, start_page):
    async with start_page(service.address) as page:
        assert (await page.get("/")).headers["cache-control"] == "no-store"
        assert "max-age" in (await page.get("/static/page.js")).headers["cache-control"]


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({}, None),
        ({}, ""),
        ({}, "0" * 64),
        ({"origin": "https://attacker.example"}, "own"),
        ({"origin": "null"}, "own"),
        ({"origin": "http://127.0.0.1"}, "own"),
    ],
)
async def test_a_forged_form_does_nothing(service, start_page, headers, key):
    async with start_page(service.address) as page:
        own = await page.find_key()
        fields = {} if key is None else {FORGERY_FIELD: own if key == "own" else key}
        answer = await page.http.post("/round", data=fields, headers=headers)
        assert answer.status_code == 403
        assert "Not done" in answer.text
        assert (await page.get("/")).text.count('class="notice"') == 0
        done = await page.send("/round", {})
        assert done.status_code == 303, "the page's own form is accepted"


OTHER_SITE = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
LINK = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({**OTHER_SITE, "sec-fetch-dest": "image"}, 403),
        ({**OTHER_SITE, "sec-fetch-dest": "script"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({**LINK, "sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"}, 403),
        ({**OTHER_SITE, "sec-fetch-site": "same-site", "sec-fetch-dest": "image"}, 403),
        ({"sec-fetch-site": "", **LINK, "sec-fetch-dest": "image"}, 403),
        ({**LINK, "sec-fetch-site": "cross-site"}, 200),
        ({**LINK, "sec-fetch-site": "same-site"}, 200),
        ({**LINK, "sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": ""}, 200),
        ({}, 200),
    ],
)
async def test_other_sites_load_nothing_but_links_open(service, start_page, headers, status):
    async with start_page(service.address) as page:
        for path in ("/", "/sign-in", "/static/page.js", "/health", "/evolution"):
            answer = await page.get(path, headers=headers)
            assert answer.status_code == status, path
            assert answer.headers["content-security-policy"] == CONTENT_POLICY
            assert status == 200 or "set-cookie" not in answer.headers


async def test_the_key_of_another_visitor_does_nothing(service, start_page):
    async with start_page(service.address) as page:
        other = await page.find_key()
        page.http.cookies.clear()
        own = await page.find_key()
        assert own != other
        answer = await page.http.post("/round", data={FORGERY_FIELD: other})
        assert answer.status_code == 403


async def test_a_sign_in_from_another_site_is_refused(service, start_page):
    async with start_page(service.address) as page:
        answer = await page.http.post(
            "/sign-in", data={"token": "x"}, headers={"origin": "https://attacker.example"}
        )
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:{port}", 200),
        ("LOCALHOST.:{port}", 200),
        ("127.0.0.1", 200),
        ("[::1]:{port}", 200),
        ("attacker.example:{port}", 421),
        ("127.0.0.1.attacker.example", 421),
        ("localhost.attacker.example:{port}", 421),
        ("127.0.0.1@attacker.example", 421),
        ("", 421),
    ],
)
async def test_only_own_host_names_are_answered(service, start_page, host, status):
    """Else a foreign site could let its name point here (DNS rebinding)."""
    async with start_page(service.address) as page:
        port = urlsplit(page.address).port
        answer = await send_raw(
            page.address,
            f"GET / HTTP/1.1\nHost: {host.format(port=port)}\nConnection: close",
        )
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert (b"set-cookie" in answer.lower()) == (status == 200)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/%2e%2e%2f%2e%2e%2fserver.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/",
        "/static/.",
        "/static/" + "a" * 5_000,
    ],
)
async def test_only_files_of_the_page_are_served(service, start_page, path):
    async with start_page(service.address) as page:
        answer = await send_raw(
            page.address, f"GET {path} HTTP/1.1\nHost: 127.0.0.1\nConnection: close"
        )
        assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ")), answer[:200]
        assert b"import" not in answer
        assert b"root:" not in answer
        assert b"Traceback" not in answer


async def test_a_very_large_form_is_refused_before_it_is_read(service, start_page):
    async with start_page(service.address) as page:
        await page.get("/")
        for path in ("/round", "/sign-in"):
            cookie = "; ".join(f"{name}={value}" for name, value in page.http.cookies.items())
            answer = await send_raw(
                page.address,
                f"POST {path} HTTP/1.1\nHost: 127.0.0.1:{urlsplit(page.address).port}"
                f"\nCookie: {cookie}\nContent-Length: 1000000000",
                b"a=" + b"b" * (MAX_FORM_BYTES + 10),
                until=b"</html>",
            )
            assert answer.startswith(b"HTTP/1.1 413 "), answer[:200]
            assert b"so nothing was done" in answer


async def test_a_form_of_odd_bytes_is_refused_in_words(service, start_page):
    async with start_page(service.address) as page:
        await page.get("/")
        for body in (b"\xff\xfe=%ff&&&===", b"%", b"\x00" * 100, b"a=b&" * 10_000):
            answer = await page.http.post(
                "/round",
                content=body,
                headers={"content-type": "application/x-www-form-urlencoded"},
            )
            assert answer.status_code == 403
            assert "Not done" in answer.text


async def test_other_methods_are_refused_in_words(service, start_page):
    async with start_page(service.address) as page:
        await page.get("/")
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            for path in ("/", "/round", "/sign-in", "/live"):
                answer = await page.http.request(method, path)
                assert answer.status_code == 405, (method, path)
                assert "access-control-allow-origin" not in answer.headers
        for path in ("/round", "/client/forget/preview", "/evolution/undo", "/evolution/plan"):
            assert (await page.get(path)).status_code == 405, "a link must not do anything"


async def test_a_head_request_has_no_body_and_ends(service, start_page):
    async with start_page(service.address) as page:
        await page.get("/")
        for path in ("/", "/sign-in", "/static/page.js"):
            answer = await page.http.head(path)
            assert (answer.status_code, answer.content) == (200, b"")
        async with asyncio.timeout(5):
            answer = await page.http.head("/live?view=now")
        assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "next_",
    [
        "https://attacker.example",
        "//attacker.example",
        "/\\attacker.example",
        "/\t/attacker.example",
        "javascript:alert(1)",
        "\r\nSet-Cookie: a=b",
        "/\r\nSet-Cookie: a=b",
    ],
)
async def test_a_sign_in_never_leads_to_another_site(service, start_page, next_):
    async with start_page(service.address) as page:
        # Any token is welcome at a service that needs none.
        answer = await page.http.post("/sign-in", data={"token": "a.b", "next": next_})
        assert answer.status_code == 303
        where = answer.headers["location"]
        assert where.startswith("/")
        assert not where.startswith(("//", "/\\"))
        assert "\t" not in where
        assert "a" not in answer.cookies
