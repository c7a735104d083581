"""The task "repair the dead letters": a model that answers nonsense, and is mended."""

import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.browser.chromium import open_browser
from tests.browser.conftest import PICTURES, ROOT
from tests.ports import find_free_port
from tests.waiting import block_until

EVENTS, ITEMS = 6, 4


@contextmanager
def run_command(folder: Path, *arguments: object):
    """Run `propagation` within the block; yield it after its first line."""
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "services.cli.main", *map(str, arguments)],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture
def failing(tmp_path):
    """The page of a service whose model fails, and what stops the model."""
    data = tmp_path / "data"
    data.mkdir()
    items = (f'{{"kind":"item","id":"i{n}","title":"Record {n}"}}' for n in range(ITEMS))
    (data / "clients.jsonl").write_text("\n".join(items) + "\n")
    events = (
        f'{{"event_id":"e{n}","user_id":"ann","item_id":"i{n % ITEMS}"}}' for n in range(EVENTS)
    )
    (data / "events.jsonl").write_text("\n".join(events) + "\n")
    port = find_free_port()
    model = ExitStack()
    model.enter_context(run_command(tmp_path, "fake-llm", "--port", port, "--fault", "not_json=1"))
    settings = ("reasoner=openai", "openai.model=scripted", "reason_backoff=0", "web.port=0")
    settings += (f"openai.base_url=http://127.0.0.1:{port}/v1",)
    options = [part for one in settings for part in ("--set", one)]
    serve = ("serve", "--database", tmp_path / "x.db", "--port", 0, "--auto-create", "--web")
    with model, run_command(tmp_path, *serve, *options) as (service, address):
        page = service.stdout.readline().split()[-1]
        with run_command(tmp_path, "import", data, "--address", address) as (importing, _):
            importing.wait(timeout=60)
        yield page, model, lambda: run_command(tmp_path, "fake-llm", "--port", port)


@pytest.fixture
def browser(failing):
    """A browser at the page of the failing service."""
    page, _, _ = failing
    with open_browser(page) as browser:
        yield browser


def test_repair_the_dead_letters(failing, browser):
    _, model, mend = failing
    browser.open("/")

    def is_damaged():
        return browser.read("#health strong") == "damaged"

    block_until(is_damaged, 60)  # the page is updated by itself
    browser.click("Dead letters")
    assert browser.path.startswith("/failures")
    browser.wait_for("user ann")
    browser.click("What the model was asked and answered")
    browser.wait_for("It answered")
    browser.keep_picture(PICTURES / "tasks" / "dead-letters.png")
    model.close()
    with mend():
        browser.click("Replay all")
        browser.click("Yes, replay all")
        browser.wait_for_notice()
        browser.open("/")
        block_until(lambda: not is_damaged(), 60)
        browser.open("/failures")
        browser.wait_for("no dead letters")
        browser.keep_picture(PICTURES / "tasks" / "repair-the-dead-letters.png")
