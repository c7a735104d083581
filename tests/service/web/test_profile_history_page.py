"""A profile at any time on the page, over HTTP."""

from types import SimpleNamespace

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.web.views.clients.profile_history import Past
from tests.service.scenarios import ANN, propagate_opera

PAGE = "/client/history?kind=user&id=ann"


async def read_profile(service, key=ANN, at=None):
    as_of = pb.AsOf(sequence=at) if at else None
    return (await service.stub.GetProfile(pb.GetProfileRequest(key=key, as_of=as_of))).profile


@pytest.mark.parametrize("key", [ANN, pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="i15")])
async def test_the_walk_back_finds_every_entry_that_changed_the_profile(service, key):
    await propagate_opera(service)
    newest = (await service.stub.GetStatus(pb.GetStatusRequest())).recorded_through
    past = Past(SimpleNamespace(stub=service.stub), key, newest)
    await past.start()
    place, changes = newest, []
    while (change := await past.find_last_change(place)) is not None:
        changes.append(change)
        place = change.sequence - 1
        if change.before is None or place < past.oldest:
            break
    every = [await read_profile(service, key, entry) for entry in range(1, newest + 1)]
    versions = [profile.version for profile in every]
    assert [(change.sequence, change.after.version) for change in reversed(changes)] == [
        (entry, versions[entry - 1])
        for entry in range(2, newest + 1)
        if versions[entry - 1] != versions[entry - 2]
    ]
    assert [change.before.version for change in changes[:-1]] == [
        change.after.version for change in changes[1:]
    ]
    assert len(changes) >= 2
    for change in changes:
        assert await past.find_next_change(change.sequence - 1) == change.sequence


async def test_changes_are_shown_with_their_lines_and_causes(service, start_page):
    heard = await propagate_opera(service)
    async with start_page(service.address) as page:
        now = await page.get(PAGE)
        assert now.status_code == 200
        then, changes = split(now.text)
        assert heard.text in then
        assert "messages of routers" in changes
        added = changes.split('<li class="added">')[1]
        assert "heard from <a" in added
        before = now.text.split('">Before the last change')[0].split('href="')[-1]
        earlier = await page.get(before.replace("&amp;", "&"))
        then, changes = split(earlier.text)
        assert heard.text not in then
        assert "an event" in changes
        assert "After the next change" in earlier.text


def split(document):
    then, changes = document.split('<h2 id="changes">')
    return then.split('<h2 id="then">')[1], changes


async def test_a_profile_before_the_client_was_there(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        answer = await page.get(f"{PAGE}&at=1")
    assert answer.status_code == 200
    assert "There was nothing of it yet." in answer.text


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("at=0", "choose a place between them"),
        ("at=999999999", "choose a place between them"),
        ("at=x", "is a number"),
        ("time=yesterday", "A time is written as"),
        ("time=0001-01-01T00:00", "1970"),
        ("time=9000-01-01T00:00", "future"),
    ],
)
async def test_a_place_that_cannot_be_shown_gets_one_sentence(service, start_page, place, sentence):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        answer = await page.get(f"{PAGE}&{place}")
    assert answer.status_code == 400
    assert sentence in answer.text


async def test_a_time_in_the_past_shows_the_profile_of_then(service, start_page):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        old = await page.get(f"{PAGE}&time=2001-01-01T00:00")
    assert old.status_code == 200
    assert "There was nothing of it yet." in old.text
