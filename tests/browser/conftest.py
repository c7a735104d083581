"""The demo's town behind its page, as `propagation demo` leaves it, and a browser.

PAGE_UNDER_TEST=http://... takes the page of a demo that runs already; the tests change its town.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
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
    with (folder / "errors").open("w") as errors:
        demo = subprocess.Popen(
            [sys.executable, "-u", "-m", "services.cli.main", "demo", *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    said = []
    try:
        assert demo.stdout is not None
        for line in demo.stdout:
            said.append(line)
            if line.startswith("Open http"):
                yield demo, line.split()[1]
                break
        else:
            raise AssertionError("".join(said) + (folder / "errors").read_text())
    finally:
        demo.terminate()
        try:
            demo.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            demo.kill()


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page of the demo's town."""
    if served := os.environ.get("PAGE_UNDER_TEST"):
        yield served.rstrip("/")
        return
    with run_demo(tmp_path_factory.mktemp("town")) as (_, address):
        yield address


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
