"""The cache of users' texts for reading, over every store: none is used for more than a second."""

from dataclasses import replace

from propagation.model import Epoch, FilterMemory, FilterRule
from propagation.workflow.read import recommend as user_texts
from propagation.workflow.read.recommend import FilterMemoryCache
from propagation.workflow.views import load_texts_in_force
from tests.contract.graph.test_graph_erasure import acquire_learn_lease, record_history, retraction
from tests.contract.graph_store import checkpoint, create_clients, text, user, withdraw

ANN, BOB = user(0), user(1)


def list_line_texts(text):
    return [line.text for line in text.profile.lines]


async def test_a_text_is_loaded_again_after_a_second(store, monkeypatch):
    await create_clients(store)
    fresh = FilterMemoryCache(store)
    monkeypatch.setattr(user_texts, "FRESH_SECONDS", 0.0)
    expired = FilterMemoryCache(store)
    assert (await expired.get(BOB)).profile.version == 0
    for version, said in ((1, "likes jazz"), (2, "likes opera")):
        await store.commit_texts([text(ANN, version, said)], [], 0)
        assert [list_line_texts(await expired.get(ANN)) for _ in range(3)] == [[said]] * 3
        assert list_line_texts(await fresh.get(ANN)) == ["likes jazz"]
    fresh.forget([ANN])
    assert list_line_texts(await fresh.get(ANN)) == ["likes opera"]


async def test_rules_about_routers_from_before_a_bootstrap_do_not_count(store, monkeypatch):
    monkeypatch.setattr(user_texts, "FRESH_SECONDS", 0.0)
    await create_clients(store)
    rules = (
        FilterRule(router=3, factor=0.4, text="Leave out router 3.", age=1),
        FilterRule(attribute="jazz", factor=0.4, text="Leave out jazz.", age=1),
    )
    await store.commit_texts(
        [replace(text(ANN, 1), filter_memory=FilterMemory(rules=rules))], [], 0
    )
    texts = FilterMemoryCache(store)
    assert (await texts.get(ANN)).filter_memory.rules == rules
    await open_epoch(store, Epoch(number=1, sequence=0, session_k=4, taste_k=5, era=1))
    assert (await texts.get(ANN)).filter_memory.rules == rules[1:], "the text is cached still"
    assert (await load_texts_in_force(store, [ANN]))[ANN].filter_memory.rules == rules[1:]


async def open_epoch(store, epoch):
    lease = await acquire_learn_lease(store)
    await store.open_epoch(lease, epoch, checkpoint(3, barrier=True, epoch=epoch.number))


async def test_a_text_that_lost_what_was_withdrawn_is_loaded_again(store, monkeypatch):
    """A withdrawal writes the next version of each current text that it changes."""
    monkeypatch.setattr(user_texts, "FRESH_SECONDS", 0.0)
    await record_history(store)
    texts = FilterMemoryCache(store)
    before = await texts.get(BOB)
    assert list_line_texts(before)
    row = (await store.get_interactions_of_clients([ANN]))[0]
    version = before.profile.version
    cleaned, following = (text(BOB, one, "likes what is left") for one in (version, version + 1))
    await withdraw(
        store,
        await acquire_learn_lease(store),
        retraction([row], rewritten=[cleaned], texts=[following]),
        checkpoint(3, barrier=True),
    )
    after = await texts.get(BOB)
    assert (after.profile.version, list_line_texts(after)) == (version + 1, ["likes what is left"])
