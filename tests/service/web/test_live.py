"""Live views: slow readers, a service that is away or restarts, readers who leave."""

import asyncio
import json
import re
import socket
import time
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.settings import WorkflowSettings
from propagation_client import PropagationClient
from services.config.settings import ServerSettings, Settings
from services.server import run_service
from services.web.access import feed
from services.web.access.feed import Feed, SharedFeed, Snapshot
from services.web.access.protection import FORGERY_FIELD
from services.web.server import STOP_SECONDS
from tests.ports import find_free_port
from tests.service.conftest import SMALL
from tests.service.running.test_embedder_away import learn_catalogue, make_settings
from tests.service.scenarios import propagate_opera
from tests.waiting import wait_until

FLOOD_CHARS = 400_000
SMALL_BUFFER = 4_096


async def follow(page, seen, view="now"):
    """Put each frame of a live view into `seen`."""
    async with page.http.stream("GET", f"/live?view={view}") as answer:
        text = ""
        async for part in answer.aiter_text():
            text += part
            *events, text = text.split("\n\n")
            for event in events:
                if event.startswith("event: frame\ndata: "):
                    seen.append(json.loads(event.removeprefix("event: frame\ndata: ")))


@asynccontextmanager
async def following(page, view="now"):
    """Follow a live view within the block; yield its frames."""
    seen = []
    task = asyncio.create_task(follow(page, seen, view))
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def run_on_port(folder, port):
    settings = Settings(
        database=folder / "restarting.db",
        reasoning_in="loop",
        server=ServerSettings(port=port, grace_seconds=0.2),
        workflow=WorkflowSettings(**SMALL, auto_create=True),
    )
    async with run_service(settings) as service:
        yield service


async def test_a_view_is_updated_while_events_arrive(service, start_page, monkeypatch):
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.1)
    async with start_page(service.address) as page, following(page) as frames:
        await wait_until(lambda: frames)
        assert "<dt>items</dt><dd>0</dd>" in frames[0]["parts"]["figures"]
        await service.stub.RecordInteractions(
            pb.RecordInteractionsRequest(
                interactions=[pb.Interaction(event_id="e", user_id="ann", item_id="i")]
            )
        )
        await wait_until(
            lambda: any("<dt>items</dt><dd>1</dd>" in f["parts"].get("figures", "") for f in frames)
        )
        await wait_until(lambda: any("health" not in frame["parts"] for frame in frames))
    sent = {}
    for frame in frames:
        for name, markup in frame["parts"].items():
            assert sent.get(name) != markup, "only changed parts are sent"
            sent[name] = markup


async def test_what_was_done_lately_is_told_while_the_page_is_open(
    service, start_page, monkeypatch
):
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(feed, "OPERATIONS_SECONDS", 0.1)

    async with start_page(service.address) as page, following(page) as frames:

        def tells(words):
            return any(words in frame["parts"].get("latest", "") for frame in frames)

        await wait_until(lambda: tells("Nothing was done yet"))
        await propagate_opera(service)
        last = (await service.stub.GetStatus(pb.GetStatusRequest())).last_round.number
        await wait_until(lambda: tells(f"round {last}: "))
        await service.stub.ForgetClient(
            pb.ForgetClientRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann"))
        )
        await wait_until(lambda: tells("a client was forgotten"))
        newest = [frame["parts"]["latest"] for frame in frames if "latest" in frame["parts"]][-1]
        links = re.findall(r'href="([^"]+)"', newest)
        assert "/history?kind=erasure" in links
        assert any(link.startswith("/routers?at=") for link in links)
        for link in links:
            assert (await page.get(link)).status_code == 200
        assert newest in (await page.get("/")).text


@pytest.mark.slow
async def test_a_slow_reader_gets_fewer_frames_and_delays_nobody(service, start_page, monkeypatch):
    """The slow reader's frames are large, so the buffers between are full after a few."""
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.02)
    rendered = {"slow": [], "fast": []}

    def render(name, chars):
        def parts(_, snapshot: Snapshot):
            rendered[name].append(snapshot.number)
            return {"flood": f"{snapshot.number} " + "x" * chars}

        return parts

    async with start_page(service.address) as page:
        page.state.live["slow"] = render("slow", FLOOD_CHARS)
        page.state.live["fast"] = render("fast", 10)
        await page.get("/")
        place = urlsplit(page.address)
        cookie = "; ".join(f"{name}={value}" for name, value in page.http.cookies.items())
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
            slow.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(slow, (place.hostname, place.port))
            head = (
                f"GET /live?view=slow HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {cookie}\r\n\r\n"
            )
            await loop.sock_sendall(slow, head.encode())
            async with following(page, "fast") as frames:
                await wait_until(lambda: len(frames) > 100)
                blocked = len(rendered["slow"])
                await wait_until(lambda: len(frames) > 200)
                assert len(rendered["slow"]) == blocked, "nothing is rendered for who does not read"
                assert blocked < 50
                waiting = sum(
                    connection.transport.get_write_buffer_size()
                    for connection in page.server.server_state.connections
                )
                assert waiting < 3 * FLOOD_CHARS, "at most a frame or two wait in memory"
                # Who reads again gets what was on the way, and then the newest.
                newest = rendered["fast"][-1]
                while not rendered["slow"] or rendered["slow"][-1] < newest:
                    assert await asyncio.wait_for(loop.sock_recv(slow, 1 << 20), 5)
                assert len(rendered["slow"]) < blocked + 50


async def test_a_reader_who_leaves_is_forgotten(service, start_page, monkeypatch):
    monkeypatch.setattr(feed, "LINGER_SECONDS", 0.1)
    async with start_page(service.address) as page:
        async with following(page) as frames:
            await wait_until(lambda: frames)
            connection = page.state.sessions.anonymous.connection
            assert connection.feed.find_snapshot() is not None
        await wait_until(lambda: connection.feed.find_snapshot() is None, 10)
        assert await wait_until(lambda: not page.server.server_state.tasks, 10)


@pytest.mark.slow
async def test_a_service_that_is_away_gets_one_sentence_and_comes_back(
    tmp_path, start_page, monkeypatch
):
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.1)
    port = find_free_port()
    async with start_page(f"127.0.0.1:{port}") as page:
        away = await page.get("/")
        assert away.status_code == 503
        assert "The service does not answer" in away.text
        assert "data-again" in away.text, "the page tries again by itself"
        async with run_on_port(tmp_path, port):

            async def is_back():
                return (await page.get("/")).status_code == 200

            await wait_until(is_back, 10)
            async with following(page) as frames:
                await wait_until(lambda: frames)
                assert frames[-1]["problem"] == ""
            key = await page.find_key()
        async with following(page) as frames:
            await wait_until(lambda: frames and frames[-1]["problem"], 10)
            assert "away" in frames[-1]["parts"]["health"]
            gone = await page.get("/")
            assert gone.status_code == 503
            assert "set-cookie" not in gone.headers
            sent = await page.http.post(
                "/round", data={FORGERY_FIELD: key}, headers={"referer": f"{page.address}/history"}
            )
            assert sent.status_code == 503
            assert "data-again" not in sent.text, "nobody pressed twice"
            assert "It is not known whether this was done" in sent.text
            assert '<a href="/history">' in sent.text
            async with run_on_port(tmp_path, port):
                await wait_until(lambda: frames[-1]["problem"] == "", 10)
                assert (await page.get("/")).status_code == 200, "the session goes on"


@pytest.mark.slow
async def test_a_service_that_starts_says_what_it_waits_for(tmp_path, start_page):
    port, own_port = find_free_port(), find_free_port()
    await learn_catalogue(tmp_path, port)

    async def serve():
        async with run_service(make_settings(tmp_path, port, own_port)):
            await asyncio.Event().wait()

    starting = asyncio.create_task(serve())  # it waits for its embedder
    try:
        async with start_page(f"127.0.0.1:{own_port}") as page:

            async def find_title():
                answer = await page.get("/")
                assert answer.status_code == 503
                return "The service is starting" in answer.text

            await wait_until(find_title, 20)
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)


async def test_the_end_of_the_server_ends_live_views(service, start_page):
    """Else uvicorn would cancel them after a second, and log stack traces."""
    async with start_page(service.address) as page, following(page) as frames:
        await wait_until(lambda: frames)
        began = time.monotonic()
        page.server.should_exit = True
        await wait_until(lambda: not page.server.started or not page.server.server_state.tasks)
        await wait_until(lambda: not page.server.server_state.connections)
        assert time.monotonic() - began < STOP_SECONDS


async def test_a_feed_that_failed_is_shown_and_started_again(
    service, start_page, monkeypatch, caplog
):
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.1)
    measure, faults = Feed._measure_rate, [grpc.aio.UsageError("Channel is closed.")]

    def fail_once(self, status):
        if faults:
            raise faults.pop()
        return measure(self, status)

    monkeypatch.setattr(Feed, "_measure_rate", fail_once)
    async with start_page(service.address) as page, following(page) as frames:
        await wait_until(lambda: frames and not frames[-1]["problem"])
        assert frames[0]["problem"].startswith("The live view failed, and is started again.")
    assert "UsageError('Channel is closed.')" in caplog.text


async def test_a_feed_lingers_after_its_last_reader(service, monkeypatch):
    async with PropagationClient(service.address) as client:
        shared = SharedFeed(client, lambda _: None)
        monkeypatch.setattr(feed, "LINGER_SECONDS", 0.05)
        async with shared.follow() as first:
            pass
        monkeypatch.setattr(feed, "LINGER_SECONDS", 60.0)
        async with shared.follow() as second:
            assert second is first
        ended = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.1, ended.set_result, None)
        await ended  # the earlier reader's time is over now
        assert shared.find_snapshot() is not None
        await shared.close()
        assert shared.find_snapshot() is None
        async with shared.follow() as late:
            assert late.ended, "nothing calls through a client that is closed"


@pytest.mark.parametrize("view", ["/", "/routers", "/routers/taste/0", "/evolution"])
async def test_a_view_opens_before_the_feed_has_its_first_status(
    service, start_page, monkeypatch, view
):
    monkeypatch.setattr(SharedFeed, "find_snapshot", lambda _: Snapshot())
    async with start_page(service.address) as page:
        assert (await page.get(view)).status_code == 200
