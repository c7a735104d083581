"""The pages of history and of measurements, over HTTP and a real service."""

import html
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from propagation.model import HOUR_MS, EvolutionChange, EvolutionKind, EvolutionRun
from propagation.usage import Expenses, PromptCost, Usage
from propagation.v1 import propagation_pb2 as pb
from tests.service.scenarios import ANN, record_choices, upsert_records

STRANGE = "<script>alert(1)</script> a\u202eb 😀 " + "x" * 10_000


def read_text(answer) -> str:
    """Return the text of a page without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def read_rows(answer) -> list[str]:
    """Return the operations that a page lists, in words."""
    return [
        html.unescape(row)
        for row in re.findall(r"<tr><td><time.*?</time></td><td><bdi>(.*?)</bdi>", answer.text)
    ]


async def operate(service) -> None:
    """Bootstrap, two rounds, a run that is not published, a retraction, an erasure."""
    await upsert_records(service, [(f"i{n}", "jazz", None) for n in range(6)])
    await service.engine.init()
    for user in ("ann", "bob"):
        await record_choices(service, [(f"{user}-{n}", user, f"i{n}") for n in range(3)])
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    change = EvolutionChange(kind=EvolutionKind.SPLIT, before=(1,), after=(1, 5), reason=STRANGE)
    await service.engine.store.save_evolution(
        EvolutionRun(verdict="worse, so not published", changes=(change,))
    )
    await service.stub.RetractInteractions(pb.RetractInteractionsRequest(event_ids=["ann-0"]))
    await service.stub.ForgetClient(pb.ForgetClientRequest(key=ANN))


async def test_operations_are_listed_with_their_figures(service, start_page):
    await operate(service)
    listed = await service.stub.ListOperations(pb.ListOperationsRequest())
    rounds = [one.round for one in listed.operations if one.kind == pb.OPERATION_KIND_ROUND]
    async with start_page(service.address) as page:
        answer = await page.get("/history")
    rows = read_rows(answer)
    assert len(rows) == len(listed.operations)
    assert rows[0] == "a client was forgotten"
    assert rows[2].endswith("worse, so not published")
    for done in rounds:
        assert f"Figures of round {done.number}" in answer.text
        assert f'href="/routers?at={done.sequence}"' in answer.text
    assert "split: <a" in answer.text
    assert 'href="/routers/taste/5/messages"' in answer.text
    assert "<script>alert" not in answer.text
    assert "\u202e" not in answer.text


async def test_operations_are_searched_by_kind_time_and_words(service, start_page):
    await operate(service)
    later = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M}"
    async with start_page(service.address) as page:

        async def find(**fields: object) -> list[str]:
            return read_rows(await page.get(f"/history?{urlencode(fields, doseq=True)}"))

        everything = await find()
        assert await find(kind="round") == [row for row in everything if row.startswith("round")]
        assert await find(kind=["erasure", "evolution"]) == [everything[0], everything[2]]
        assert await find(since=later) == []
        assert await find(until=later) == everything
        assert await find(until="2020-01-01") == []
        assert await find(words="WORSE published") == [everything[2]]
        assert await find(words="alert(1)") == [everything[2]]
        assert await find(words="worse nothing") == []
        nothing = read_text(await page.get("/history?words=nothing-like-this"))
    assert f"0 of the {len(everything)} operations that were searched" in nothing


async def test_a_long_history_is_read_by_page(service, start_page):
    store = service.engine.store
    for number in range(120):
        await store.save_evolution(EvolutionRun(verdict=f"plan {number} refused"))
    found: list[str] = []
    address, pages = "/history?kind=evolution", 0
    async with start_page(service.address) as page:
        while address:
            answer = await page.get(address)
            found += read_rows(answer)
            more = re.search(r'rel="next" href="([^"]*)"', answer.text)
            address, pages = html.unescape(more[1]) if more else "", pages + 1
        bad = await page.get("/history?page=forged")
    assert pages == 3
    assert [row.split("plan ")[1] for row in found] == [f"{n} refused" for n in range(119, -1, -1)]
    assert bad.status_code == 400


HOUR = datetime(2026, 11, 22, 15, tzinfo=UTC)


async def note_two_hours(service, monkeypatch) -> None:
    """Rank interactions and spend in two neighbouring hours."""
    engine, start = service.engine, int(HOUR.timestamp() * 1_000)
    await upsert_records(service, [(f"i{n}", "jazz", None) for n in range(9)])
    for hour, calls in enumerate((2, 5)):
        await record_choices(
            service, [(f"e{hour}-{n}", f"u{n % 3}", f"i{n}") for n in range(4 + hour)]
        )
        await engine.drain()
        cost = PromptCost(calls=calls, prompt_tokens=1_000 * calls, seconds=1.5, money=0.1 * calls)
        monkeypatch.setattr(
            type(engine), "expenses", Expenses(this_run=Usage((("forward@4", cost),)))
        )
        assert await engine.note_measurements(start + hour * HOUR_MS)


async def test_the_gauge_and_the_spending_are_drawn_and_listed(service, start_page, monkeypatch):
    await note_two_hours(service, monkeypatch)
    measured = await service.stub.GetMeasurements(pb.GetMeasurementsRequest())
    assert len(measured.gauge) == len(measured.spending) == 2
    async with start_page(service.address) as page:
        hours = await page.get("/history/measurements?until=2026-11-22T18:30")
        days = await page.get("/history/measurements?by=day&until=2026-11-23")
        before = await page.get("/history/measurements?until=2026-11-22T15:00")
    for gauge in measured.gauge:
        row = f'<td class="number">{gauge.interactions}</td>'
        assert f'{row}<td class="number">{gauge.with_propagation:.4f}</td>' in hours.text
    assert hours.text.count('class="without"') == hours.text.count('class="with"') == 3
    assert "N@10 of the recent stream over time" in hours.text
    for label in ("Calls of the model", "Tokens in and out", "Seconds of the model", "Money"):
        assert f"<figcaption>{label}</figcaption>" in hours.text
    assert "Answers without a call" not in hours.text  # there was none
    assert '<td class="number">2,000</td>' in hours.text
    assert '<td class="number">5</td>' in days.text  # calls of the day
    assert days.text.count('class="with"') == 2
    assert "Nothing was ranked in this time" in before.text


async def test_windows_of_measurements_follow_each_other(service, start_page):
    found: list[str] = []
    address = "/history/measurements?by=day&until=2026-11-23"
    async with start_page(service.address) as page:
        for _ in range(3):
            answer = await page.get(address)
            found += re.findall(r'<time datetime="(\d+-\d+-\d+)T', answer.text)
            address = html.unescape(re.search(r'<a href="([^"]*)">Earlier', answer.text)[1])
    starts, ends = found[::2], found[1::2]
    assert ends == ["2026-11-23", *starts[:2]]
    assert starts[0] == "2026-08-25"


async def test_a_wrong_address_gets_one_sentence(service, start_page):
    async with start_page(service.address) as page:
        for path in (
            "/history?kind=none",
            "/history?since=yesterday",
            "/history?until=0001-01-01",
            "/history?since=2026-01-02&until=2026-01-01",
            f"/history?words={'x' * 300}",
            "/history/measurements?by=week",
            "/history/measurements?until=9999-12-31T23:59",
            "/history/measurements?until=1970-01-01",
            "/history/measurements?until=x",
        ):
            answer = await page.get(path)
            assert answer.status_code == 400, path
            assert '<p class="problem"' in answer.text


async def test_an_empty_history_says_what_appears_here(service, start_page):
    async with start_page(service.address) as page:
        assert "Nothing was done yet." in read_text(await page.get("/history"))
        assert "Nothing of this kind" in read_text(await page.get("/history?kind=backup"))
