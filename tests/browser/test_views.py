"""Every view: it opens, loads nothing foreign, and people can use it."""

from contextlib import contextmanager
from urllib.parse import parse_qsl, urlsplit

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.chromium import NARROW, WIDE
from tests.browser.conftest import PICTURES
from tests.browser.views import visit_all
from tests.waiting import block_until

NAVIGATION = (
    "/",
    "/routers",
    "/clients",
    "/trace",
    "/evolution",
    "/history",
    "/failures",
    "/settings",
    "/reports",
)
PROBLEMS = ("There is no such page", "A fault of this page", "The service refused")
MAX_STOPS = 150
PORTIONS = 6
STOPS = """
return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea,'
  + ' summary, [tabindex="0"]')].filter((one) => !one.disabled && one.checkVisibility()
  && !one.classList.contains('skip')).map((one, place) => {
    one.dataset.stop = place; return one.outerHTML.slice(0, 120); });
"""
# Notes each element that gets the focus, and whether that can be seen. In a drawing the shape's
# thick border or the underlined text shows it; of a field for a time, Chromium marks the part that
# has it.
WATCH = """
window.reached = new Map();
const note = (one) => {
  const style = getComputedStyle(one);
  const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
  const inside = [...one.querySelectorAll('rect, circle, text')];
  const drawn = inside.map((part) => getComputedStyle(part)).some((part) =>
    part.textDecorationLine === 'underline'
    || (part.stroke !== 'none' && parseFloat(part.strokeWidth) >= 3));
  window.reached.set(Number(one.dataset.stop), outlined || drawn || one.type === 'datetime-local');
};
document.addEventListener('focusin', (event) => {
  if (event.target.dataset.stop !== undefined) note(event.target);
});
document.body.tabIndex = -1;
document.body.focus();
"""
REACHED = "return [...window.reached];"
KEPT = "return document.querySelector(`[data-stop='${arguments[0]}']`) !== null;"
TIME = """
const time = document.querySelector('[aria-labelledby=lately] time');
return [time.textContent, time.title];
"""


@pytest.fixture(scope="module")
def visits(shared_browser):
    """One visit to each kind of view."""
    shared_browser.list_console_errors()  # those of other tests
    shared_browser.list_foreign_requests()
    return visit_all(shared_browser, PICTURES)


def test_every_view_opens(visits):
    assert {visit.path for visit in visits} >= set(NAVIGATION)
    assert {visit.path: visit.title for visit in visits if visit.title in PROBLEMS} == {}


def test_no_view_has_an_error_in_the_console(visits):
    assert {visit.path: visit.console for visit in visits if visit.console} == {}


def test_no_view_asks_another_host(visits):
    assert {visit.path: visit.foreign for visit in visits if visit.foreign} == {}


def test_axe_core_finds_nothing_serious(visits):
    assert {
        f"{visit.path} ({shown})": found
        for visit in visits
        for shown, found in visit.findings.items()
        if found
    } == {}


def test_narrow_views_do_not_scroll_sideways(visits):
    assert {
        visit.path: (visit.overflow, visit.wide) for visit in visits if visit.overflow > 0
    } == {}


def test_the_checks_notice_a_broken_page(browser):
    """Else the tests above could not fail."""
    browser.open("/")
    browser.driver.execute_script(
        "const bad = document.createElement('div');"
        "bad.innerHTML = '<img src=\"/static/icon.svg\"><p class=bad>x</p>';"
        "bad.className = 'too-wide'; document.querySelector('main').append(bad);"
        "bad.style.width = '2000px'; console.error('planted');"
        "fetch('http://attacker.invalid/').catch(() => null);"
    )
    browser.resize(NARROW)
    assert "image-alt" in [one["rule"] for one in browser.check()]
    assert browser.measure_overflow() > 100
    assert any("too-wide" in one for one in browser.list_wide_elements())
    assert any("planted" in one for one in browser.list_console_errors())
    # The content policy stops the request before it leaves, and says so in the console.
    browser.resize(WIDE)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_everything_is_reached_by_the_keyboard(browser, visits, width):
    problems = {}
    browser.resize(width)
    for visit in visits:
        browser.open(visit.path)
        stops = browser.driver.execute_script(STOPS)[:MAX_STOPS]
        browser.driver.execute_script(WATCH)
        reached: dict[int, bool] = {}
        for _ in range(PORTIONS):  # some stops are not listed, and a field for a time has several
            left = len(set(range(len(stops))) - set(reached))
            if not left:
                break
            ActionChains(browser.driver).send_keys(Keys.TAB * (left + 5)).perform()
            reached = dict(browser.driver.execute_script(REACHED))
        hidden = [stops[stop] for stop, shown in reached.items() if not shown and stop < len(stops)]
        # A live part that was replaced meanwhile has new elements.
        missed = [
            text
            for place, text in enumerate(stops)
            if place not in reached and browser.driver.execute_script(KEPT, place)
        ]
        if missed or hidden:
            problems[visit.path] = {"not reached": missed[:5], "focus not seen": hidden[:5]}
    assert problems == {}


def test_the_first_stop_leads_to_the_content(browser):
    browser.open("/")
    ActionChains(browser.driver).send_keys(Keys.TAB).send_keys(Keys.ENTER).perform()
    assert browser.driver.switch_to.active_element.get_attribute("id") == "content"


@contextmanager
def zone(browser, name):
    """Be in a time zone within the block."""
    browser.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": name})
    try:
        yield
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_times_are_shown_in_the_visitors_zone(browser):
    with zone(browser, "Pacific/Auckland"):
        browser.open("/")
        shown, written = browser.driver.execute_script(TIME)
        assert written.endswith(" UTC")
        assert "UTC" not in shown
    with zone(browser, "America/New_York"):
        browser.open("/")
        assert browser.driver.execute_script(TIME)[0] != shown


# The last odd second, which no whole minute is, as the visitor types it, and in UTC.
NOW = """
const now = new Date(2000 * Math.floor(Date.now() / 2000) - 1000);
return [now.toLocaleString('sv'), now.toISOString()];
"""
SET = "document.getElementById(arguments[0]).value = arguments[1];"


def wait_for_address(browser, part):
    """Wait until the page's address contains this part, and the page is there."""
    block_until(lambda: part in browser.path and browser.text)


def test_times_are_asked_for_in_the_visitors_zone(browser):
    with zone(browser, "Pacific/Auckland"):
        browser.open("/history")
        assert browser.find("label[for=since]").text == "From (Pacific/Auckland)"
        # Thirteen hours before UTC in summer, twelve in winter.
        for name, local in (("since", "2026-01-15T14:00"), ("until", "2031-07-15T14:00")):
            browser.driver.execute_script(SET, name, local)
        browser.click("Search", within="main")
        wait_for_address(browser, "since=")
        asked = dict(parse_qsl(urlsplit(browser.path).query))
        assert asked == {"since": "2026-01-15T01:00Z", "until": "2031-07-15T02:00Z"}
        fields = [browser.find_field(label).get_property("value") for label in ("From", "Before")]
        assert fields == ["2026-01-15T14:00", "2031-07-15T14:00"]
        browser.type("With these words", "bootstrap")
        browser.click("Search", within="main")  # the times that were read are sent unchanged
        wait_for_address(browser, "words=bootstrap")
        assert dict(parse_qsl(urlsplit(browser.path).query)) == asked | {"words": "bootstrap"}
        browser.open("/routers")
        typed, sent = browser.driver.execute_script(NOW)
        browser.type("Sequence or time", typed)
        browser.click("Show", within="main")
        browser.wait_for("Routers as of")
        assert dict(parse_qsl(urlsplit(browser.path).query))["at"] == sent
        shown = browser.find("h1 time").get_attribute("datetime")
        assert shown == sent.replace(".000Z", ".999+00:00"), "a second is meant to its end"
        browser.type("Sequence or time", "1")
        browser.click("Show", within="main")
        browser.wait_for("as of sequence 1")
    with zone(browser, "America/New_York"):
        browser.open("/history?since=2026-01-15T01:00Z")
        assert browser.find_field("From").get_property("value") == "2026-01-14T20:00"


HELD = """
const part = document.getElementById('health');
part.querySelector('p').tabIndex = 0;
part.querySelector('p').focus();
replacePart('health', '<p class="health good"><strong>newer</strong> <span>words</span></p>');
const kept = part.textContent.includes('newer');
part.querySelector('p').blur();
return kept;
"""


def test_what_came_while_a_part_had_the_focus_is_shown_when_the_focus_leaves(browser):
    browser.open("/settings")  # nothing is live there
    browser.driver.execute_script(
        "document.querySelector('main').innerHTML ="
        " '<div id=\"health\"><p><strong>older</strong> <span>words</span></p></div>';"
    )
    assert not browser.driver.execute_script(HELD), "nobody loses her place"
    block_until(lambda: "newer" in browser.find("#health").text, 5.0)


def test_a_page_that_hears_nothing_says_away_in_place_of_the_health(browser):
    browser.open("/")
    browser.wait_for("well")
    word = browser.driver.execute_script(
        "loseConnection('lost'); loseConnection('lost');"
        " const word = document.querySelector('#health strong').textContent;"
        " regainConnection(); return word;"  # at once, or a frame would come between
    )
    assert word == "away"
    assert browser.find("#health strong").text != "away"


def test_the_page_works_without_its_script(browser):
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        for path in NAVIGATION:
            browser.open(path)
            assert browser.find("h1").text not in PROBLEMS
        browser.open("/")
        assert browser.find("[aria-labelledby=lately] time").text.endswith(" UTC")
        browser.open("/history")
        assert browser.find("label[for=since]").text == "From (UTC)"
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
