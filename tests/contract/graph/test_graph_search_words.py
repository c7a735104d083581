"""Search words are made anew when the rules that make them change, and go with their client."""

import unicodedata
from types import SimpleNamespace

import pytest

from propagation.graph_rules import search_words, split_words
from propagation.model import ClientKind, EntryKind, Withdrawal
from tests.contract.graph_store import (
    change,
    checkpoint,
    event,
    item,
    learn_all,
    user,
    withdraw,
)

USER, ITEM = ClientKind.USER, ClientKind.ITEM
TITLE = "Hafið ab7cd"
"""Only letters beyond ASCII bring Unicode's tables into play."""


@pytest.fixture
def change_unicode(monkeypatch):
    """Return a function that makes "7" no part of a word, as a new table of Unicode might."""

    def find_category(letter):
        return "Zs" if letter == "7" else unicodedata.category(letter)

    def change_table():
        changed = SimpleNamespace(
            category=find_category, normalize=unicodedata.normalize, unidata_version="99.0"
        )
        monkeypatch.setattr(search_words, "unicodedata", changed)

    return change_table


async def find(store, kind, *words):
    return list(await store.find_clients_by_words(kind, words, -1, 99))


async def test_words_are_made_anew_at_open_if_the_rules_changed(reopen, change_unicode):
    store = await reopen()
    await store.upsert_clients([change(ITEM, f"i{n}", title=TITLE) for n in range(30)])
    await store.record([event("e", "ann7é", "plain")], auto_create=True)
    assert await find(store, ITEM, "ab7cd") == [item(n) for n in range(30)]
    change_unicode()
    assert split_words([TITLE]) == ["hafið", "ab", "cd"]
    store = await reopen()
    assert await find(store, ITEM, "ab7cd") == [], "no word of the old rules is left"
    assert await find(store, ITEM, "cd") == [item(n) for n in range(30)]
    assert await find(store, USER, "e") == await find(store, USER, "ann") == [user(0)]
    assert await store.check() == []
    store = await reopen()
    assert await find(store, ITEM, "cd") == [item(n) for n in range(30)]


async def test_an_erasure_finds_words_that_other_rules_made(store, change_unicode):
    """The words of a client go by its number, and not by its text."""
    await store.upsert_clients([change(USER, "ann", title=TITLE), change(USER, "bob")])
    await store.record([event("e", "ann", "blue")], auto_create=True)
    await learn_all(store)
    change_unicode()
    rows = await store.get_interactions_of_clients([user(0)])
    erasure = Withdrawal(kind=EntryKind.ERASURE, refs=(user(0),), interactions=rows, erased=user(0))
    lease = await store.acquire_lease("learn", "test", 60_000)
    await withdraw(store, lease, erasure, checkpoint(3, barrier=True))
    assert await find(store, USER, "ab7cd") == []
    assert await find(store, USER, "bob") == [user(1)]
    assert await store.check() == []
