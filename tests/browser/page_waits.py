"""A pytest plugin that measures how long a task's pages let their visitor wait.

Chromium's own log says it: from the request of a page, by a click or an address, to its load.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from tests.browser.chromium import Browser


@dataclass(frozen=True)
class PageWait:
    """A page that was loaded.

    Args:
        path: Path and query of the first request; a form's answer may lead to another page.
    """

    method: str
    path: str
    seconds: float


@dataclass(frozen=True)
class TaskWaits:
    """How a task ended, and its pages in their order."""

    task: str
    passed: bool
    pages: tuple[PageWait, ...]

    def find_slowest(self, method: str) -> PageWait | None:
        """Return the longest wait for a page (GET), or for what a button does (POST)."""
        pages = [page for page in self.pages if page.method == method]
        return max(pages, key=lambda page: page.seconds, default=None)


@dataclass
class PageWaits:
    """The plugin; `tasks` has the tests that took a browser, in their order."""

    tasks: list[TaskWaits] = field(default_factory=list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        browser = getattr(item, "funcargs", {}).get("browser")
        if call.when == "call" and browser is not None:
            pages = read_page_waits(browser)
            self.tasks.append(TaskWaits(item.name, report.passed, tuple(pages)))
        return report


def read_page_waits(browser: Browser) -> Iterator[PageWait]:
    """Yield the pages that were loaded since the browser's log was last read."""
    entries = browser.driver.get_log("performance")
    return find_page_waits(json.loads(entry["message"])["message"] for entry in entries)


def find_page_waits(messages: Iterable[dict]) -> Iterator[PageWait]:
    """Yield the pages of DevTools messages.

    A request that is answered by a redirect keeps its id, so its wait has all of them. A page that
    was left before its load is not counted.
    """
    asked: dict | None = None
    for message in messages:
        given = message["params"]
        if message["method"] == "Network.requestWillBeSent" and given.get("type") == "Document":
            if asked is None or "redirectResponse" not in given:
                asked = given
        elif message["method"] == "Page.loadEventFired" and asked is not None:
            place = urlsplit(asked["request"]["url"])
            yield PageWait(
                asked["request"]["method"],
                place.path + (f"?{place.query}" if place.query else ""),
                given["timestamp"] - asked["timestamp"],
            )
            asked = None
