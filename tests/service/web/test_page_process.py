"""The page's process: its start and its end, beside a service and alone."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from services.cli.exits import ExitCode
from services.web.access.protection import FORGERY_FIELD
from services.web.server import PageOptions, choose_pause, serve_page_beside
from tests.ports import find_free_port
from tests.service.web.conftest import KEY
from tests.waiting import block_until, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PROGRAM = (sys.executable, "-m", "services.cli.main")
GONE_SECONDS = 2.0
SMALL = ("--set", "session.k=4", "--set", "taste.k=4", "--set", "reasoning_in=loop")


def start_program(folder, *arguments, path=()):
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT)))},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )


@contextmanager
def run_program(folder, *arguments, **options):
    """Run `propagation` within the block; kill what is left of it at the end."""
    process = start_program(folder, *arguments, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


@contextmanager
def serve(folder, *arguments):
    """Run a service with its page; yield the process, and the page's address."""
    command = ("serve", "--database", folder / "graph.db", "--port", "0", *SMALL, "--web")
    with run_program(folder, *command, "--set", "web.port=0", *arguments) as process:
        service = process.stdout.readline()
        assert service.startswith("listening on "), (folder / "log").read_text()
        page = process.stdout.readline()
        assert page.startswith("the page is at http://127.0.0.1:")
        yield process, page.split()[-1]


def fetch(address, path="/health"):
    """Return the answer, None if nothing listens."""
    try:
        return httpx2.get(address + path, trust_env=False, timeout=5)
    except httpx2.TransportError:
        return None


def find_children(parent):
    """Return the ids of processes that run the page for a parent."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"services.web.server" in words and str(parent).encode() in words:
            found.append(int(process.name))
    return found


def run_refused(folder, *arguments, path=()):
    """Run `propagation` until its end; return the exit code and its last line."""
    with run_program(folder, *arguments, path=path) as process:
        process.communicate(timeout=60)
        log = (folder / "log").read_text()
        assert "Traceback" not in log
        return process.returncode, log.strip().splitlines()[-1]


def test_the_page_dies_with_a_killed_service(tmp_path):
    with serve(tmp_path) as (service, address):
        assert fetch(address).text == "the page is served\n"
        assert fetch(address, "/").status_code == 200
        assert len(find_children(service.pid)) == 1
        service.kill()
        service.wait(timeout=10)
        block_until(lambda: fetch(address) is None, GONE_SECONDS)
        block_until(lambda: not find_children(service.pid), GONE_SECONDS)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_page_says_that_the_service_is_starting(tmp_path, number):
    """The service waits for a Neo4j that is not there."""
    page, nobody = find_free_port(), find_free_port()
    settings = (f"web.port={page}", "store=neo4j", f"neo4j.uri=bolt://127.0.0.1:{nobody}")
    chosen = [word for setting in settings for word in ("--set", setting)]
    command = ("serve", "--port", "0", *SMALL, "--web", *chosen)
    with run_program(tmp_path, *command) as service:
        address = f"http://127.0.0.1:{page}"
        block_until(lambda: fetch(address) is not None, 30.0)
        shown = fetch(address, "/")
        assert shown.status_code == 503
        assert "The service is starting" in shown.text
        assert "This page tries again by itself." in shown.text
        service.send_signal(number)
        service.wait(timeout=GONE_SECONDS + 1)
        block_until(lambda: fetch(address) is None, GONE_SECONDS)
        block_until(lambda: not find_children(service.pid), GONE_SECONDS)


def test_the_page_gets_no_passwords_of_the_service(tmp_path, monkeypatch):
    secret = "planted-and-secret"
    for name in ("NEO4J_PASSWORD", "OPENAI_API_KEY", "MY_PATH", "PATH_TO_SECRETS"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("LC_TIME", "C")
    with serve(tmp_path) as (service, _):
        [page] = find_children(service.pid)
        passed = Path(f"/proc/{page}/environ").read_bytes().split(b"\0")
        assert secret.encode() in Path(f"/proc/{service.pid}/environ").read_bytes()
    assert not [one for one in passed if secret.encode() in one]
    assert b"LC_TIME=C" in passed
    assert [one for one in passed if one.startswith(b"PYTHONPATH=")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("group", [False, True])
def test_a_signal_ends_service_and_page(tmp_path, number, group):
    """A terminal's Ctrl-C reaches both processes."""
    with serve(tmp_path) as (service, address):
        with httpx2.stream("GET", address + "/", trust_env=False) as first:
            cookies = first.cookies
        with httpx2.stream(
            "GET", address + "/live?view=now", cookies=cookies, trust_env=False
        ) as live:
            assert live.status_code == 200
            frames = live.iter_text()
            assert next(frames)
            began = time.monotonic()
            (os.killpg if group else os.kill)(service.pid, number)
            service.wait(timeout=20)
        assert service.returncode == 0
        assert time.monotonic() - began < 5
        assert fetch(address) is None
        assert not find_children(service.pid)
        log = (tmp_path / "log").read_text()
        assert "Traceback" not in log
        assert "started again" not in log


def test_a_page_that_was_killed_is_started_again_at_its_address(tmp_path):
    with (
        serve(tmp_path) as (service, address),
        httpx2.Client(base_url=address, trust_env=False, headers={"origin": address}) as visitor,
    ):
        open_page = visitor.get("/").text
        [first] = find_children(service.pid)
        os.kill(first, signal.SIGKILL)

        def is_back():
            answer = fetch(address, "/")
            return answer is not None and answer.status_code == 200

        block_until(is_back, 20)
        [second] = find_children(service.pid)
        assert second != first
        assert "is started again" in (tmp_path / "log").read_text()
        assert service.poll() is None

        once = visitor.post("/round", data={FORGERY_FIELD: KEY.search(open_page)[1]})
        assert once.status_code == 409
        done = visitor.post("/round", data={FORGERY_FIELD: KEY.search(once.text)[1]})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        assert "No round was run" in visitor.get("/").text


def test_a_ctrl_c_that_reaches_the_page_leaves_its_end_to_the_service(tmp_path):
    with serve(tmp_path) as (service, address):
        assert fetch(address).status_code == 200, "the server, which sets signals, runs"
        [page] = find_children(service.pid)
        status = Path(f"/proc/{page}/status").read_text()
        ignored = int(re.search(r"^SigIgn:\s*([0-9a-f]+)$", status, re.MULTILINE)[1], 16)
        assert ignored & 1 << signal.SIGINT - 1
        assert not ignored & 1 << signal.SIGTERM - 1, "the service ends it so"
        os.kill(page, signal.SIGINT)
        assert fetch(address).status_code == 200
        assert find_children(service.pid) == [page]
        assert "started again" not in (tmp_path / "log").read_text()


async def test_a_page_that_is_being_started_again_ends_with_the_service():
    options = PageOptions("127.0.0.1", 0, "127.0.0.1:1")
    async with serve_page_beside(options):
        [first] = find_children(os.getpid())
        os.kill(first, signal.SIGKILL)
        await wait_until(lambda: [one for one in find_children(os.getpid()) if one != first], 20)
    assert not find_children(os.getpid())


@pytest.mark.parametrize(
    ("last", "life", "pause"),
    [(0, 5, 1), (1, 5, 2), (32, 59, 60), (60, 5, 60), (60, 60, 1), (8, 4_000, 1)],
)
def test_pauses_grow_until_a_page_lives_for_a_minute(last, life, pause):
    assert choose_pause(last, life) == pause


def test_a_page_alone_shows_a_service_and_outlives_it(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    command = ("serve", "--database", tmp_path / "graph.db", "--port", "0", *SMALL)
    with run_program(tmp_path, *command) as service:
        where = service.stdout.readline().split()[-1]
        with run_program(other, "web", "--address", where, "--port", "0") as page:
            address = page.stdout.readline().split()[-1]
            assert fetch(address, "/").status_code == 200
            service.send_signal(signal.SIGTERM)
            service.wait(timeout=30)
            away = fetch(address, "/")
            assert away.status_code == 503
            assert "The service does not answer" in away.text
            began = time.monotonic()
            page.send_signal(signal.SIGTERM)
            page.wait(timeout=20)
            assert time.monotonic() - began < 3
            assert page.returncode in (ExitCode.DONE, ExitCode.INTERRUPTED)
            assert "Traceback" not in (other / "log").read_text()


def test_a_taken_port_is_named(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = run_refused(tmp_path, "web", "--port", port)
        assert code != 0
        assert f"127.0.0.1:{port} is taken" in said
        code, said = run_refused(
            tmp_path, "serve", "--port", 0, "--web", "--set", f"web.port={port}"
        )
        assert code != 0
        assert f"127.0.0.1:{port} is taken" in said


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_others_reach_needs_tls_and_tokens(tmp_path, host):
    code, said = run_refused(tmp_path, "serve", "--port", 0, "--web", "--set", f"web.host={host}")
    assert code != 0
    assert "not loopback" in said
    assert "server.tls.certificate" in said
    code, said = run_refused(tmp_path, "web", "--host", host, "--port", find_free_port())
    assert code == ExitCode.USAGE
    assert "is not loopback: give --certificate and --key" in said


def test_without_its_packages_one_sentence_names_them(tmp_path):
    missing = tmp_path / "missing"
    missing.mkdir()
    (missing / "uvicorn.py").write_text("raise ImportError('planted')\n")
    for command in (("web",), ("serve", "--port", "0", "--web", "--set", "web.port=0", *SMALL)):
        code, said = run_refused(tmp_path, *command, path=[missing])
        assert code != 0
        assert re.search(r"needs a package.*pip install 'preference-propagation\[web\]'", said)


def test_a_temporary_folder_with_a_long_name_is_named(tmp_path, monkeypatch):
    long = tmp_path / ("a" * 100)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    command = ("serve", "--port", "0", "--web", "--set", "web.port=0", *SMALL)
    code, said = run_refused(tmp_path, *command)
    assert code != 0
    assert "let TMPDIR name a folder" in said
