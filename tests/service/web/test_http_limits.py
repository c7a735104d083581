"""Connections that are too many or too slow are closed, and close the page for nobody."""

import asyncio
import contextlib
from urllib.parse import urlsplit

import pytest

from services.web import live
from services.web.access import http_limits
from services.web.access.http_limits import RefusalLog
from tests.service.web.test_protection import send_raw
from tests.waiting import wait_until


async def open_silent(address, number):
    """Open connections that send nothing."""
    place = urlsplit(address)
    return [await asyncio.open_connection(place.hostname, place.port) for _ in range(number)]


async def is_closed(reader):
    async with asyncio.timeout(10):
        try:
            return await reader.read() == b""
        except ConnectionResetError:
            return True


async def test_an_address_has_so_many_connections(service, start_page, caplog):
    async with start_page(service.address) as page:
        held = page.server.server_state.connections
        await page.get("/health")
        silent = await open_silent(page.address, 200)
        await wait_until(lambda: len(held) == 64, 10)
        place = urlsplit(page.address)
        other = await asyncio.open_connection(
            place.hostname, place.port, local_addr=("127.0.0.2", 0)
        )
        other[1].write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert (await other[0].read()).startswith(b"HTTP/1.1 200")
        assert await is_closed(silent[-1][0])
        for _, writer in (*silent, other):
            writer.close()
        await wait_until(lambda: len(held) <= 1, 10)
        assert (await page.get("/health")).status_code == 200
    assert not [one for one in caplog.records if one.name.startswith("uvicorn")]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /health HT",
    ],
)
async def test_headers_that_do_not_arrive_close_the_connection(
    service, start_page, monkeypatch, sent
):
    monkeypatch.setattr(http_limits, "HEADER_SECONDS", 0.3)
    async with start_page(service.address) as page:
        place = urlsplit(page.address)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(sent)
        got = b""
        async with asyncio.timeout(4):  # a connection that is kept for a next request has 5 s
            try:
                while part := await reader.read(65_536):
                    got += part
                    writer.write(b"x")  # what trickles in renews nothing
            except ConnectionResetError:
                pass
        assert b" 400 " not in got
        writer.close()


async def test_a_connection_that_is_not_used_is_closed_without_a_word(
    service, start_page, monkeypatch
):
    """Browsers open some beforehand."""
    noted = []
    monkeypatch.setattr(http_limits, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(http_limits.REFUSALS, "note", noted.append)
    async with start_page(service.address) as page:
        [(reader, writer)] = await open_silent(page.address, 1)
        assert await is_closed(reader)
        writer.close()
    assert not noted


async def test_a_body_that_does_not_arrive_closes_the_connection(
    service, start_page, monkeypatch, caplog
):
    monkeypatch.setattr(http_limits, "BODY_SECONDS", 0.3)
    async with start_page(service.address) as page:
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            answer = await send_raw(
                page.address,
                "POST /sign-in HTTP/1.1\nHost: 127.0.0.1\nContent-Length: 100",
                b"token=",
            )
        assert answer == b""
        await wait_until(lambda: not page.server.server_state.tasks, 10)
    assert not [one for one in caplog.records if one.name.startswith("uvicorn")]


async def test_a_slow_answer_and_a_live_view_have_no_deadline(service, start_page, monkeypatch):
    monkeypatch.setattr(http_limits, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(http_limits, "BODY_SECONDS", 0.3)
    async with start_page(service.address) as page:
        await page.get("/")
        async with page.http.stream("GET", "/live?view=now") as answer:
            frames = answer.aiter_text()
            began = asyncio.get_running_loop().time()
            async with asyncio.timeout(10):
                while asyncio.get_running_loop().time() < began + 1.0:
                    assert await anext(frames)


async def test_a_token_has_so_many_live_views(service, start_page, monkeypatch):
    monkeypatch.setattr(live, "MAX_STREAMS", 3)
    async with start_page(service.address) as page:
        await page.get("/")
        streams = [page.http.stream("GET", "/live?view=now") for _ in range(3)]
        for stream in streams:
            assert (await stream.__aenter__()).status_code == 200
        refused = await page.get("/live?view=now")
        assert refused.status_code == 429
        assert "3 live views are open" in refused.text
        for stream in streams:
            await stream.__aexit__(None, None, None)
        await wait_until(lambda: not page.state.streams._open, 10)
        async with page.http.stream("GET", "/live?view=now") as answer:
            assert answer.status_code == 200


def test_refusals_are_logged_once_a_minute(monkeypatch):
    lines = []
    monkeypatch.setattr(http_limits.log, "warning", lambda text, **facts: lines.append(facts))
    now = [0.0]
    refusals = RefusalLog(lambda: now[0])
    for _ in range(50):
        refusals.note("too many")
    assert lines == [{"number": 1, "last": "too many"}]
    now[0] += 61
    refusals.note("too slow")
    assert lines[1:] == [{"number": 50, "last": "too slow"}]
