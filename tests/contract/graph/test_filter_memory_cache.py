"""The cache of users' texts for reading, over every store: an old text is used again only while it
is the newest."""

import pytest

from propagation.workflow.read import recommend as user_texts
from propagation.workflow.read.recommend import FilterMemoryCache
from tests.contract.graph.test_graph_erasure import lease_of, lived, retraction
from tests.contract.graph_store import checkpoint, known_clients, text, user, withdraw

ANN, BOB = user(0), user(1)


@pytest.fixture
def loads(store, monkeypatch):
    """Refs whose texts were loaded, one after another; no cached text is fresh."""
    monkeypatch.setattr(user_texts, "FRESH_SECONDS", 0.0)
    loaded, load = [], store.load_texts

    async def counted(refs):
        loaded.extend(refs)
        return await load(refs)

    monkeypatch.setattr(store, "load_texts", counted)
    return loaded


def words(text):
    return [line.text for line in text.profile.lines]


async def test_a_text_is_loaded_again_when_there_is_a_newer_one(store, loads):
    await known_clients(store)
    texts = FilterMemoryCache(store)
    assert (await texts.get(BOB)).profile.version == 0
    for version, said in ((1, "likes jazz"), (2, "likes opera")):
        await store.commit_texts([text(ANN, version, said)], [], 0)
        assert [words(await texts.get(ANN)) for _ in range(3)] == [[said]] * 3
    assert loads == [BOB, ANN, ANN]


async def test_a_text_that_lost_what_was_taken_back_is_loaded_again_at_the_same_version(
    store, loads
):
    await lived(store)
    texts = FilterMemoryCache(store)
    before = await texts.get(BOB)
    assert words(before)
    row = (await store.interactions_of_clients([ANN]))[0]
    cleaned = text(BOB, before.profile.version, "likes what is left")
    await withdraw(
        store,
        await lease_of(store),
        retraction([row], rewritten=[cleaned]),
        checkpoint(3, barrier=True),
    )
    after = await texts.get(BOB)
    assert (after.profile.version, words(after)) == (before.profile.version, ["likes what is left"])
