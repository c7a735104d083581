"""The demo's town behind its page, as `propagation demo` leaves it, and a browser.

PAGE_UNDER_TEST=http://... takes the page of a demo that runs already; the tests change its town.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.chromium import Browser, open_browser

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "screenshots"
END_SECONDS = 10


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@contextmanager
def run_demo(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `propagation demo` within the block; yield it and the page's address."""
    with start_demo(folder, *arguments) as demo:
        yield demo, read_address(demo, folder)


@contextmanager
def start_demo(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run `propagation demo` within the block."""
    with (folder / "errors").open("w") as errors:
        demo = subprocess.Popen(
            [sys.executable, "-u", "-m", "services.cli.main", "demo", *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        yield demo
    finally:
        demo.terminate()
        try:
            demo.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            demo.kill()


def read_address(demo: subprocess.Popen[str], folder: Path) -> str:
    """Wait for the page of a demo; return its address."""
    said = []
    assert demo.stdout is not None
    for line in demo.stdout:
        said.append(line)
        if line.startswith("Open http"):
            return line.split()[1]
    raise AssertionError("".join(said) + (folder / "errors").read_text())


@pytest.fixture(scope="session", autouse=True)
def starting_town(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], str]]:
    """Yield a function that waits for the town, which starts beside the tests without it."""
    if served := os.environ.get("PAGE_UNDER_TEST"):
        yield lambda: served.rstrip("/")
    elif any("town" in getattr(item, "fixturenames", ()) for item in request.session.items):
        folder = tmp_path_factory.mktemp("town")
        with start_demo(folder) as demo:
            yield lambda: read_address(demo, folder)
    else:
        yield lambda: ""


@pytest.fixture(scope="session")
def town(starting_town: Callable[[], str]) -> str:
    """The address of the page of the demo's town."""
    return starting_town()


@pytest.fixture(scope="session")
def shared_browser(town: str) -> Iterator[Browser]:
    """One browser for all tests; its start takes a second."""
    with open_browser(town) as browser:
        yield browser


@pytest.fixture
def browser(shared_browser: Browser) -> Browser:
    """A browser at the town's page, light and wide, without cookies."""
    shared_browser.resize(1_200)
    shared_browser.use_scheme("light")
    shared_browser.open("/")
    shared_browser.driver.delete_all_cookies()
    shared_browser.list_console_errors()
    shared_browser.list_foreign_requests()
    return shared_browser
