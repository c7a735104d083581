"""The page of recommendations over HTTP."""

import re

import pytest

from propagation.v1 import propagation_pb2 as pb
from tests.service.scenarios import propagate_opera, record_choices, upsert_records

PATH = "/client/recommendations?kind=user&id=ann"
SCORE = re.compile(r'<th scope="row">score</th>(?:<td></td>)*<td class="number">([-.\d]+)</td>')
ITEM = re.compile(r'<p class="line"><a class="client item" href="/client\?kind=item&amp;id=(\w+)"')


async def test_items_reasons_and_places_are_those_of_the_service(service, start_page):
    await propagate_opera(service)
    on, off = [
        (
            await service.stub.Recommend(
                pb.RecommendRequest(
                    user_id="ann", limit=limit, explain=propagate, propagate=propagate
                )
            )
        ).recommendations
        for propagate, limit in ((True, 5), (False, 1_000))
    ]
    async with start_page(service.address) as page:
        answer = await page.get(f"{PATH}&limit=5")
    assert answer.status_code == 200
    assert ITEM.findall(answer.text) == [one.item_id for one in on]
    for one in on:
        assert one.explanation.text.replace("'", "&#39;") in answer.text
    # The fast kNN fades by the second, so a score of a later call is a little smaller.
    assert [float(score) for score in SCORE.findall(answer.text)] == pytest.approx(
        [one.score for one in on], abs=0.05
    )
    places = {one.item_id: place for place, one in enumerate(off, 1)}
    table = answer.text.split("propagation moves it")[1]
    for place, one in enumerate(on, 1):
        row = table.split(f'id={one.item_id}"')[1]
        numbers = re.findall(r'<td class="number">([^<]*)</td>', row)[:2]
        assert numbers == [str(places[one.item_id]), str(place)]
    assert answer.text.count("<svg") >= 2


async def test_filters_reach_the_service(service, start_page):
    await upsert_records(
        service, [("j1", "jazz", "music"), ("o1", "opera", "music"), ("b1", "jazz", "books")]
    )
    await record_choices(service, [("e", "ann", "j1")])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    async with start_page(service.address) as page:
        for filters, found in (
            ("", {"o1", "b1"}),
            ("&seen=1", {"j1", "o1", "b1"}),
            ("&attributes=jazz", {"b1"}),
            ("&attributes=jazz%0Aopera", {"b1", "o1"}),
            ("&categories=music&seen=1", {"j1", "o1"}),
            ("&categories=none", set()),
        ):
            answer = await page.get(f"{PATH}{filters}")
            assert set(ITEM.findall(answer.text)) == found, filters
        assert "Nothing is left to recommend" in answer.text


async def test_an_unknown_user_gets_the_list_that_anybody_would(service, start_page):
    await upsert_records(service, [("i1", "jazz", None)])
    async with start_page(service.address) as page:
        answer = await page.get("/client/recommendations?kind=user&id=nobody")
    assert answer.status_code == 200
    assert "does not know this user" in answer.text
