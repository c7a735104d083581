"""A profile at any time on the page, over HTTP."""

import re

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.web.views.clients.profile_history import Change, Stop, group_stops, read_changes
from tests.service.scenarios import ANN, ITEM, propagate_opera, record_choices, upsert_records

PAGE = "/client/history?kind=user&id=ann"


class Visiting:
    """What the functions of the view need of a visitor."""

    def __init__(self, stub):
        self.stub = stub


@pytest.mark.parametrize("key", [ANN, pb.ClientKey(kind=ITEM, id="i15")])
async def test_changes_are_the_differences_of_the_profiles_of_their_entries(service, key):
    await propagate_opera(service)
    newest = (await service.stub.GetStatus(pb.GetStatusRequest())).recorded_through
    past = [
        (
            await service.stub.GetProfile(
                pb.GetProfileRequest(key=key, as_of=pb.AsOf(sequence=entry))
            )
        ).profile
        for entry in range(1, newest + 1)
    ]
    answer = await service.stub.ListProfileVersions(pb.ListProfileVersionsRequest(key=key))
    stops = group_stops(answer.versions)
    changes = await read_changes(Visiting(service.stub), key, stops, answer.oldest_sequence)
    assert len(changes) == len(stops) >= 2
    for change in changes:
        entry = change.stop.sequence
        now = {line.text for line in past[entry - 1].lines}
        before = {line.text for line in past[entry - 2].lines} if entry > 1 else set()
        added, removed = change.lines.added, change.lines.removed
        reworded = change.lines.reworded
        assert {line.text for line in [*added, *(new for _, new in reworded)]} == now - before
        assert {line.text for line in [*removed, *(old for old, _ in reworded)]} == before - now
    assert changes[0].after == past[-1]


def write_change(before, after, version=2, **ids):
    """Return a change between two profiles, each a text by line id."""
    profiles = [
        pb.Profile(lines=[pb.Line(id=id_, text=text) for id_, text in lines.items()])
        for lines in (before, after)
    ]
    stop = Stop([pb.ProfileVersion(version=version, lines_added=0, **ids)])
    return Change(stop, *profiles).lines


def test_a_reworded_line_is_neither_new_nor_gone():
    found = write_change(
        {1: "likes jazz", 2: "likes rock", 3: "likes folk"},
        {1: "likes modal jazz", 3: "likes folk", 4: "likes rock"},
        added_line_ids=[4],
        removed_line_ids=[2],
        changed_line_ids=[1, 3],
    )
    assert [(old.text, new.text) for old, new in found.reworded] == [
        ("likes jazz", "likes modal jazz")
    ]
    assert [line.id for line in found.added] == [4]
    assert [line.id for line in found.removed] == [2]


def test_lines_without_lasting_ids_are_compared_by_their_words():
    found = write_change({1: "likes jazz"}, {1: "likes folk", 2: "likes jazz"}, version=0)
    assert [line.text for line in found.added] == ["likes folk"]
    assert not found.removed
    assert not found.reworded


async def test_changes_are_shown_with_their_lines_and_causes(service, start_page):
    heard = await propagate_opera(service)
    async with start_page(service.address) as page:
        now = await page.get(PAGE)
        assert now.status_code == 200
        then, changes = split(now.text)
        assert heard.text in then
        first, second = changes.split("<h3>")[1:3]
        assert "messages of routers" in first
        assert f'<li class="added"><span class="hidden">added: </span><bdi>{heard.text}' in first
        message = heard.sources[0].message
        assert f'"/routers/taste/{message.router}/messages?version={message.version}"' in first
        assert ": merged" in first
        assert "an event" in second
        assert 'class="removed"' in second
        before = re.search(r'href="([^"]*)">Before<', now.text)[1].replace("&amp;", "&")
        earlier = await page.get(before)
        then, changes = split(earlier.text)
        assert heard.text not in then
        assert "messages of routers" not in changes
        assert re.search(r'href="([^"]*)">After<', earlier.text)
        oldest = await page.get(f"{PAGE}&step=0")
        assert 'value="0" list="marks"' in oldest.text
        assert not re.search(r'">Before<', oldest.text)


def split(document):
    then, changes = document.split('<h2 id="changes">')
    return then.split('<h2 id="then">')[1], changes


async def test_a_time_as_the_page_shows_it_includes_what_was_written_in_its_second(
    service, start_page
):
    await record_choices(service, [("e1", "ann", "i1"), ("e2", "ann", "i2")])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    key = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann")
    listed = await service.stub.ListProfileVersions(pb.ListProfileVersionsRequest(key=key))
    newest = listed.versions[0]
    shown = newest.time.ToDatetime().isoformat(timespec="seconds")
    async with start_page(service.address) as page:
        found = await page.get(f"{PAGE}&time={shown}Z")
    assert found.headers["location"].endswith(f"at={newest.sequence}")


async def test_older_changes_are_paged_and_found_by_time(service, start_page):
    await upsert_records(service, [(f"i{n}", "jazz", None) for n in range(110)])
    await record_choices(service, [(f"e{n}", "ann", f"i{n}") for n in range(110)])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    async with start_page(service.address) as page:
        first = await page.get(PAGE)
        assert "100 changes on this page" in first.text
        following = re.search(r'href="([^"]*)">Older changes<', first.text)[1]
        second = await page.get(following.replace("&amp;", "&"))
        assert re.search(r"\d+ changes? on this page", second.text)
        assert "Older changes" not in second.text
        old = await page.get(f"{PAGE}&time=2001-01-01T00:00")
        assert old.status_code == 303
        shown = await page.get(old.headers["location"])
        assert "There was nothing of it yet" in shown.text
        now = await page.get(f"{PAGE}&time=2100-01-01T00:00%2B02:00")
        assert "page=" not in now.headers["location"]


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("at=x", "is a whole number"),
        ("step=-1", "is a whole number"),
        ("time=yesterday", "A time is written as"),
        ("time=0001-01-01T00:00%2B23:00", "A time is written as"),
        ("page=forged", "begin at the list"),
    ],
)
async def test_a_place_that_cannot_be_shown_gets_one_sentence(service, start_page, place, sentence):
    await propagate_opera(service)
    async with start_page(service.address) as page:
        answer = await page.get(f"{PAGE}&{place}")
    assert answer.status_code == 400
    assert sentence in answer.text


async def test_a_client_without_a_past_is_told_so(service, start_page):
    await service.stub.UpsertClients(pb.UpsertClientsRequest(clients=[pb.Client(key=ANN)]))
    async with start_page(service.address) as page:
        answer = await page.get(PAGE)
    assert answer.status_code == 200
    assert "there is no past" in answer.text
