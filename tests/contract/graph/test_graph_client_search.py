"""Clients are found by the words of what the graph holds of them now."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from propagation.graph_rules import holds_words, split_words
from propagation.model import ClientKey, ClientKind, EntryKind, Withdrawal
from tests.contract.graph_store import (
    STRANGE,
    change,
    checkpoint,
    event,
    item,
    learn_all,
    record_pairs,
    user,
    withdraw,
)

USER, ITEM = ClientKind.USER, ClientKind.ITEM


async def find(store, kind, text, after=-1, limit=100):
    return list(await store.find_clients_by_words(kind, split_words([text]), after, limit))


async def test_each_word_begins_a_word_of_id_title_attributes_or_categories(store):
    await store.upsert_clients(
        [
            change(
                ITEM, "b-17", title="Kind of Blue", attributes=("Modal Jazz",), categories=("LP",)
            ),
            change(ITEM, "b-18", title="Blue Train", attributes=("hard bop",)),
            change(USER, "blue"),
        ]
    )
    for text in ("Kind", "kin", "BLU kin", "modal", "jaz mod", "lp", "b 17", "b-17"):
        assert await find(store, ITEM, text) == [item(0)], text
    assert await find(store, ITEM, "blue") == [item(0), item(1)]
    assert await find(store, USER, "blue") == [user(0)]
    for text in ("lue", "kinds", "blue bop jazz", "title"):
        assert await find(store, ITEM, text) == [], text


async def test_pages_are_by_ref_and_complete(store):
    await store.upsert_clients([change(ITEM, f"i{n}", title="Same") for n in range(25)])
    found, after = [], -1
    while page := await find(store, ITEM, "sam", after, 10):
        found += page
        after = page[-1]
    assert found == [item(n) for n in range(25)]
    assert await find(store, ITEM, "sam", limit=3) == [item(0), item(1), item(2)]


async def test_words_follow_changes_and_outlast_a_restart(reopen):
    store = await reopen()
    await store.upsert_clients([change(ITEM, "a", title="Old name", attributes=("kept",))])
    await store.upsert_clients([change(ITEM, "a", title="New name")])
    await store.record([event("e", "ann-lee", "b")], auto_create=True)
    store = await reopen()
    assert await find(store, ITEM, "old") == []
    assert await find(store, ITEM, "new kept") == [item(0)]
    assert await find(store, ITEM, "name") == [item(0)]
    assert await find(store, USER, "lee") == [user(0)], "recording created the user"
    assert await find(store, ITEM, "b") == [item(1)]
    await store.upsert_clients([change(ITEM, "a", title="", attributes=())])
    assert await find(store, ITEM, "new") == []
    assert await find(store, ITEM, "a") == [item(0)]


async def test_an_erased_client_is_not_found_and_its_id_may_return(store):
    await store.upsert_clients([change(USER, "ann", title="Ann Lee"), change(USER, "bob")])
    await record_pairs(store, ("ann", "blue"), ("bob", "blue"))
    await learn_all(store)
    lease = await store.acquire_lease("learn", "test", 60_000)
    rows = await store.get_interactions_of_clients([user(0)])
    erasure = Withdrawal(kind=EntryKind.ERASURE, refs=(user(0),), interactions=rows, erased=user(0))
    await withdraw(store, lease, erasure, checkpoint(4, barrier=True))
    assert await find(store, USER, "lee") == await find(store, USER, "ann") == []
    assert await find(store, USER, "bob") == [user(1)]
    await store.upsert_clients([change(USER, "ann")])
    assert await find(store, USER, "ann") == await store.find_refs([ClientKey(USER, "ann")])
    assert await find(store, USER, "lee") == []


async def test_strange_texts_are_found_by_their_words_and_harm_nothing(store):
    await store.upsert_clients(
        [change(ITEM, f"s{n}", title=text) for n, text in enumerate(STRANGE)]
    )
    for place, text in enumerate(STRANGE):
        if split_words([text]):
            assert item(place) in await find(store, ITEM, text)
    for text in ('a" OR *:*', "a AND NOT b", "title:a", "s0~2", "[a TO z]", "%_", "s0 && s1"):
        found = await find(store, ITEM, text) if split_words([text]) else []
        assert found == [
            item(n)
            for n, title in enumerate(STRANGE)
            if split_words([text]) and holds_words(split_words([text]), (f"s{n}", title))
        ], text


TEXTS = st.lists(st.sampled_from(["jazz", "Jam", "café", "blue", "1959", "b"]), max_size=4)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    titles=st.lists(TEXTS, min_size=1, max_size=6), asked=TEXTS.filter(bool), cut=st.integers(1, 4)
)
async def test_a_store_finds_what_the_rule_says(store, titles, asked, cut):
    changes = [change(ITEM, f"i{n}", title=" ".join(words)) for n, words in enumerate(titles)]
    await store.upsert_clients(changes)
    words = split_words([word[:cut] for word in asked])
    clients = await store.scan_clients(ITEM, -1, 100)
    expected = [one.ref for one in clients if holds_words(words, (one.key.id, one.title))]
    assert list(await store.find_clients_by_words(ITEM, words, -1, 100)) == expected
