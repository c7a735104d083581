"""A headless Chromium, and what it saw: console errors, requests, findings of axe-core."""

import base64
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from selenium.common.exceptions import (
    NoSuchElementException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

WIDE, NARROW = 1_200, 360
HEIGHT = 900
WAIT_SECONDS = 15
SLOWEST_SECONDS = 120  # axe-core on a long page, on a busy machine
MAX_PICTURE_HEIGHT = 4_000
# While the next page is loaded.
CHANGING = (NoSuchElementException, StaleElementReferenceException)
SERIOUS = ("serious", "critical")
READ = "return document.querySelector(arguments[0])?.textContent ?? '';"
# One call: between two the page may be replaced by the next one.
VISIBLE = "return document.querySelector('main')?.innerText ?? '';"
# A look at one element after the other would be a call each.
FIND = """
const [selector, words] = arguments;
const shown = [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
const says = (one) => one.innerText ?? one.textContent;
const found = shown.find((one) => says(one).toLowerCase().includes(words.toLowerCase()));
return [found ?? null, [...new Set(shown.map(says))].sort()];
"""
CHECK = """
const [axe, done] = arguments;
if (window.axe === undefined) (0, eval)(axe);
const describe = (one) => ({
  rule: one.id, impact: one.impact, help: one.help,
  places: one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + " " + node.failureSummary),
});
window.axe.run(document, {resultTypes: ["violations"]}).then(
  (found) => done(found.violations.map(describe)),
  (error) => done([{rule: "axe", impact: "critical", help: String(error), places: []}]));
"""

TRIES = 5


class Browser:
    """One visitor's browser."""

    def __init__(self, driver: Chrome, address: str) -> None:
        self.driver = driver
        self.address = address
        self._axe = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")

    @property
    def path(self) -> str:
        """Path and query of the page."""
        place = urlsplit(self.driver.current_url)
        return place.path + (f"?{place.query}" if place.query else "")

    @property
    def text(self) -> str:
        """What a person reads in the page's main part; empty while a page is loaded."""
        return str(self.driver.execute_script(VISIBLE))

    def read(self, selector: str) -> str:
        """Return the text of an element, even of one that is replaced every second."""
        return str(self.driver.execute_script(READ, selector))

    def open(self, path: str) -> None:
        """Open a page by its path."""
        self.driver.get(self.address + path)

    def find(self, selector: str) -> WebElement:
        """Return the first element for a CSS selector."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector: str) -> list[WebElement]:
        """Return all elements for a CSS selector."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def click(self, words: str, *, within: str = "") -> None:
        """Click the first visible link, button or summary with these words in its text.

        Args:
            within: CSS selector of the part of the page to look in.
        """
        for left in reversed(range(TRIES)):
            try:
                self.find_control(words, within=within).click()
                return
            except StaleElementReferenceException:  # a live part was replaced meanwhile
                if not left:
                    raise

    def find_control(self, words: str, *, within: str = "") -> WebElement:
        """Return the first visible link, button or summary with these words."""
        selector = ", ".join(f"{within} {name}" for name in ("a[href]", "button", "summary"))
        found, known = self.driver.execute_script(FIND, selector, words)
        if found is None:
            raise AssertionError(f"nothing to click says {words!r} at {self.path}: {known}")
        control: WebElement = found
        return control

    def type(self, label: str, text: str) -> None:
        """Type into the field with this label."""
        field = self.find_field(label)
        field.clear()
        field.send_keys(text)

    def choose(self, label: str, option: str) -> None:
        """Choose an option of the list with this label."""
        Select(self.find_field(label)).select_by_visible_text(option)

    def find_field(self, label: str) -> WebElement:
        """Return the field with this label."""
        for one in self.find_all("label[for]"):
            if label.lower() in one.text.lower():
                return self.driver.find_element(By.ID, str(one.get_attribute("for")))
        known = [one.text for one in self.find_all("label")]
        raise AssertionError(f"no field has the label {label!r} at {self.path}: {known}")

    def wait_for(self, words: str) -> None:
        """Wait until the page says something."""
        wait = WebDriverWait(self.driver, WAIT_SECONDS, ignored_exceptions=CHANGING)
        try:
            wait.until(lambda _: words.lower() in self.text.lower())
        except TimeoutException as error:
            said = self.text[:2_000]
            raise AssertionError(f"{self.path} does not say {words!r}, but: {said}") from error

    def wait_for_notice(self) -> None:
        """Wait until the page tells what a form did."""
        wait = WebDriverWait(self.driver, SLOWEST_SECONDS, ignored_exceptions=CHANGING)
        wait.until(lambda _: self.find(".notice").is_displayed())

    def resize(self, width: int, height: int = HEIGHT) -> None:
        """Give the window's inside this size in CSS pixels."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def use_scheme(self, scheme: str) -> None:
        """Prefer `light` or `dark`."""
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )

    def check(self) -> list[Mapping[str, object]]:
        """Return the serious and critical findings of axe-core."""
        found = self.driver.execute_async_script(CHECK, self._axe)
        return [one for one in found if one["impact"] in SERIOUS]

    def measure_overflow(self) -> int:
        """Return by how many pixels the page can be scrolled sideways."""
        return int(
            self.driver.execute_script(
                "const all = document.documentElement;"
                "return Math.max(all.scrollWidth, document.body.scrollWidth) - all.clientWidth;"
            )
        )

    def list_wide_elements(self) -> list[str]:
        """List elements that reach over the right border outside of scrolled parts."""
        return list(
            self.driver.execute_script(
                "return [...document.querySelectorAll('main *, header *')].filter((one) =>"
                " one.getBoundingClientRect().right > document.documentElement.clientWidth + 1"
                " && one.closest('.scroll') === null && one.closest('svg') === null)"
                ".slice(0, 5).map((one) => one.outerHTML.slice(0, 160));"
            )
        )

    def list_console_errors(self) -> list[str]:
        """Return the errors in the console since the last call."""
        return [
            str(one["message"])
            for one in self.driver.get_log("browser")
            if one["level"] in ("SEVERE", "ERROR")
        ]

    def list_foreign_requests(self) -> list[str]:
        """Return addresses of other hosts that were requested since the last call."""
        own = urlsplit(self.address).netloc
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        return [
            url
            for url in asked
            if urlsplit(url).scheme in ("http", "https", "ws", "wss")
            and urlsplit(url).netloc != own
        ]

    def keep_picture(self, file: Path, *, whole: bool = True) -> None:
        """Keep a picture of the page.

        Args:
            whole: All of the page, and not only what the window shows.
        """
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})
        shown = size["cssVisualViewport"]
        height = size["cssContentSize"]["height"] if whole else shown["clientHeight"]
        clip = {
            "x": 0,
            "y": 0,
            "width": shown["clientWidth"],
            "height": min(height, MAX_PICTURE_HEIGHT),
            "scale": 1,
        }
        taken = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot",
            {"format": "png", "captureBeyondViewport": whole, "clip": clip},
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(taken["data"]))

    def press(self, key: str = Keys.TAB) -> WebElement:
        """Press a key; return the element that then has the focus."""
        self.driver.switch_to.active_element.send_keys(key)
        return self.driver.switch_to.active_element


@contextmanager
def open_browser(address: str) -> Iterator[Browser]:
    """Run a headless Chromium within the block."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--disable-background-networking",
        "--no-proxy-server",
        "--lang=en-GB",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(SLOWEST_SECONDS)
        driver.set_script_timeout(SLOWEST_SECONDS)
        browser = Browser(driver, address)
        browser.resize(WIDE)
        browser.use_scheme("light")
        yield browser
    finally:
        driver.quit()
