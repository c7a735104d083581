"""A visit to every view that links of the page lead to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tests.browser.chromium import NARROW, WIDE, Browser

MAX_VIEWS = 40
# What changes more of a view than which rows it lists.
KINDS_OF_VIEWS = ("at", "attribute", "bank", "event", "item", "line", "text", "user")
WIDE_LIGHT, NARROW_DARK = "wide, light", "narrow, dark"
LINKS = """
return [...document.querySelectorAll('a[href]:not([download])')]
  .filter((one) => one.origin === location.origin || one instanceof SVGElement)
  .map((one) => new URL(one.getAttribute('href'), location.href))
  .filter((url) => url.origin === location.origin).map((url) => url.pathname + url.search);
"""


@dataclass
class Visit:
    """What was seen at one view.

    Attributes:
        findings: Serious findings of axe-core, by how the view was shown.
        overflow: Pixels by which a narrow view scrolls sideways, and the elements that cause it.
    """

    path: str
    title: str
    text: str
    console: Sequence[str]
    foreign: Sequence[str]
    findings: Mapping[str, Sequence[Mapping[str, object]]]
    overflow: int
    wide: Sequence[str]
    links: Sequence[str] = field(default_factory=list)


def name_shape(path: str) -> str:
    """Return what views of one kind have in common: the path without ids."""
    place = urlsplit(path)
    parts = [re.sub(r"^\d+$", "N", part) for part in place.path.split("/")]
    fields = dict(parse_qsl(place.query, keep_blank_values=True))
    kind = f" of {fields['kind']}" if "kind" in fields else ""
    names = ",".join(name for name in KINDS_OF_VIEWS if name in fields)
    return "/".join(parts) + (f"?{names}" if names else "") + kind


def name_file(path: str) -> str:
    """Return a file's name for a view."""
    shape = name_shape(path).strip("/") or "now"
    return re.sub(r"[^a-z0-9]+", "-", shape.lower()).strip("-")


def visit_all(browser: Browser, pictures: Path) -> list[Visit]:
    """Follow links from the first view; visit one view of each kind."""
    waiting, seen, visits = ["/"], {name_shape("/")}, []
    while waiting and len(visits) < MAX_VIEWS:
        checked = WIDE_LIGHT if len(visits) % 2 == 0 else NARROW_DARK
        visit = visit_view(browser, waiting.pop(0), pictures, checked)
        visits.append(visit)
        for path in visit.links:
            if (shape := name_shape(path)) not in seen:
                seen.add(shape)
                waiting.append(path)
    return visits


def visit_view(browser: Browser, path: str, pictures: Path, checked: str) -> Visit:
    """Look at one view, wide and light, then narrow and dark.

    axe-core takes seconds for a long view, so it checks a view once. Views take turns in how they
    are shown meanwhile: what several views have in common is checked in both ways.

    Args:
        checked: How the view is shown while axe-core checks it: WIDE_LIGHT or NARROW_DARK.
    """
    browser.use_scheme("light")
    browser.resize(WIDE)
    browser.open(path)
    title = browser.find("h1").text
    text = browser.text
    links = list(browser.driver.execute_script(LINKS))
    findings = browser.check() if checked == WIDE_LIGHT else []
    browser.keep_picture(pictures / f"{name_file(path)}.png")
    browser.use_scheme("dark")
    browser.resize(NARROW)
    findings = browser.check() if checked == NARROW_DARK else findings
    browser.keep_picture(pictures / f"{name_file(path)}-narrow-dark.png")
    return Visit(
        path,
        title,
        text,
        browser.list_console_errors(),
        browser.list_foreign_requests(),
        {checked: findings},
        browser.measure_overflow(),
        browser.list_wide_elements(),
        links,
    )
