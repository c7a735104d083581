"""The ten tasks of docs/window.md, clicked through.

Each test has the name of its task. It reads the page as a person does: by words.
"""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.browser.conftest import PICTURES

DOCS = Path(__file__).parents[2] / "docs" / "window.md"
PERSON = "nils"
WORD = "map novels"


def keep(browser, name):
    """Keep a picture of the end of a task."""
    browser.keep_picture(PICTURES / "tasks" / f"{name}.png")


def find_user(browser):
    """Go to a user's page by search; return her id."""
    browser.open("/")
    browser.click("Clients")
    browser.type("Id or words", PERSON)
    browser.choose("Among", "users")
    browser.click("Search", within="main")
    browser.wait_for("Found for")
    browser.click(f"user {PERSON}", within="main table")
    assert browser.path.startswith("/client?kind=user")
    return parse_qs(urlsplit(browser.path).query)["id"][0]


def test_is_all_well(browser):
    browser.open("/")
    health = browser.read("#health strong")
    assert health in ("well", "late")
    for kind in ("users", "items"):
        assert re.search(rf"^{kind}\n[1-9]", browser.text, re.MULTILINE)
    assert "propagation" in browser.find(".verdict").text
    browser.click("Run a round now")
    browser.wait_for_notice()
    keep(browser, "is-all-well")


def test_why_is_this_item_in_her_list(browser):
    find_user(browser)
    browser.click("Recommendations")
    browser.wait_for("What is recommended, and why")
    first = browser.find("ol.lines li a").text
    assert first
    browser.click("All of the reasons")
    browser.wait_for("Its score in parts")
    assert "Through routers" in browser.text or "From its history" in browser.text
    assert "With and without propagation" in browser.text
    keep(browser, "why-is-this-item-in-her-list")


def test_where_did_this_word_come_from(browser):
    find_user(browser)
    heard = browser.find_all(".lines li")
    line = next(one for one in heard if "heard from" in one.text.lower())
    link = next(
        one for one in line.find_elements("tag name", "a") if "How it came here" in one.text
    )
    link.click()
    browser.wait_for("Where a line came from")
    browser.wait_for("In words")
    assert "router" in browser.text
    assert "chose" in browser.text
    assert browser.find_all("svg a[href]"), "the picture leads on"
    address = browser.path
    browser.open(address)
    browser.wait_for("In words")  # the address can be sent to a colleague
    keep(browser, "where-did-this-word-come-from")


def test_whom_did_this_event_reach(browser):
    """Not every event reaches somebody: what a message says may be known already."""
    person = find_user(browser)
    browser.click("Events")
    browser.wait_for("newest first")
    events = [one.text for one in browser.find_all("main table td a[href^='/trace?event=']")]
    address = browser.path
    for event in reversed(events):
        browser.open(address)
        browser.click(event, within="main table")
        browser.wait_for("In words")
        assert parse_qs(urlsplit(browser.path).query) == {"event": [event]}
        if re.search(r"[1-9]\d* lines? of other profiles rests? on it, through", browser.text):
            break
    else:
        raise AssertionError(f"no event of {person} reached another profile")
    reached = browser.find_all("main svg a[href^='/client?']")
    assert any(f"id={person}" not in one.get_dom_attribute("href") for one in reached)
    keep(browser, "whom-did-this-event-reach")


def test_which_routers_speak_of_this(browser):
    browser.open("/")
    browser.click("Routers")
    browser.type("Attribute or word", WORD)
    browser.click("Show", within="main")
    browser.wait_for("found")
    [first, *_] = browser.find_all("main table th[scope=row] a")
    first.click()
    browser.wait_for("Members")
    browser.wait_for("Messages")
    assert WORD in browser.text.lower()
    keep(browser, "which-routers-speak-of-this")


def test_what_did_last_nights_evolution_change_and_take_it_back(browser):
    browser.open("/")
    browser.click("Evolution")
    browser.wait_for("Run 1")
    assert "merge" in browser.text.lower() or "split" in browser.text.lower()
    browser.click("Undo run 1")
    browser.wait_for("Nothing was changed yet")
    browser.click("Undo run 1", within="main form")
    browser.wait_for_notice()
    browser.wait_for("undone by run")
    keep(browser, "what-did-last-nights-evolution-change-and-take-it-back")


def test_what_was_done_and_when(browser):
    browser.open("/")
    browser.click("History")
    browser.type("With these words", "evolution")
    browser.click("Search", within="main")
    browser.wait_for("were searched contain these words")
    assert "evolution 1" in browser.text
    browser.click("Figures of run 1")
    browser.wait_for("log-loss before")
    keep(browser, "what-was-done-and-when")


def test_where_does_this_setting_come_from(browser):
    browser.open("/")
    browser.click("Settings")
    browser.type("With these words", "web.port")
    browser.click("Search", within="main")
    browser.wait_for("Show all")
    [name, value, source, _] = browser.find_all("[aria-labelledby=changed] tbody tr > *")
    assert name.text == "web.port"
    assert value.text.split()[0] == "0"
    assert "--set" in source.text
    keep(browser, "where-does-this-setting-come-from")


def test_take_one_event_back(browser):
    find_user(browser)
    browser.click("Events")
    browser.wait_for("newest first")
    browser.click("Take back", within="main table")
    browser.click("Yes, take back", within="main table")
    browser.wait_for("was taken back")
    keep(browser, "take-one-event-back")


def test_forget_this_user(browser):
    user = find_user(browser)
    browser.click("Export and forgetting")
    browser.wait_for("Forget it")
    assert re.search(r"\d+ events?", browser.text)
    browser.click("Count exactly what would go")
    browser.wait_for("As of entry")
    browser.type("Type its id to confirm", user)
    browser.click("Forget this user")
    browser.wait_for("forgotten")
    browser.open(f"/client?kind=user&id={user}")
    browser.wait_for("There is no such thing")
    keep(browser, "forget-this-user")


def test_every_task_of_the_docs_is_clicked_through():
    from tests.browser import test_dead_letters

    tasks = re.findall(r"^### (.+)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    names = {
        re.sub(r"[^a-z]+", "_", task.lower().replace("’", "").replace("'", "")).strip("_")
        for task in tasks
    }
    tests = {
        name.removeprefix("test_")
        for module in (globals(), vars(test_dead_letters))
        for name in module
        if name.startswith("test_")
    }
    assert len(tasks) == 10
    assert names <= tests
