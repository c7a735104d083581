"""The page of failures: dead letters that are replayed, and what fails now."""

import asyncio
import html
import re
from contextlib import contextmanager

import pytest

from propagation.model import ReasonerFailed
from propagation.ports import note_exchange
from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from services.web.views.failures import list_failing
from tests.service.scenarios import record_choices

ASKED = "which of them? <script>alert(1)</script> a\u202eb 😀 {{ 7 * 7 }}"
ANSWERED = '"><img src=x onerror=alert(1)> I cannot say'


def read_text(answer) -> str:
    """Return the text of a page without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


@contextmanager
def failing_reasoner(service, monkeypatch):
    """Let the reasoner fail as one with a model does, until the body ends."""

    async def fail(*_):
        note_exchange(ASKED, ANSWERED)
        raise ReasonerFailed(f"no JSON: {ANSWERED}")

    with monkeypatch.context() as patch:
        patch.setattr(type(service.engine.reasoner), "backward", fail)
        yield


async def fail_events(service, monkeypatch, count: int) -> list[int]:
    """Record events whose reasoning fails; return their sequences, oldest first."""
    with failing_reasoner(service, monkeypatch):
        await record_choices(service, [(f"e<i>{n}", "ann", f"i{n}") for n in range(count)])
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    letters = await service.stub.ListDeadLetters(pb.ListDeadLettersRequest())
    assert len(letters.dead_letters) == count
    return sorted(letter.sequence for letter in letters.dead_letters)


async def wait_until(service, count: int) -> None:
    """Wait until so many dead letters are left."""
    async with asyncio.timeout(20):
        while True:
            status = await service.stub.GetStatus(pb.GetStatusRequest())
            if status.dead_letters == count:
                return
            await asyncio.sleep(0.02)


@pytest.fixture
async def service(start_service):
    async with start_service(auto_create=True, reason_backoff=0) as running:
        yield running


async def test_dead_letters_are_shown_with_prompt_answer_and_reason(
    service, start_page, monkeypatch
):
    sequences = await fail_events(service, monkeypatch, 2)
    async with start_page(service.address) as page:
        answer = await page.get("/failures")
    text = html.unescape(re.sub(r"<[^>]*>", "", answer.text))
    assert text.count(ASKED.replace("\u202e", "\\u202e")) == 2
    assert text.count(ANSWERED) == 4  # in the reason, too
    for sequence in sequences:
        assert f'name="replay-{sequence}"' in answer.text
        assert f'name="only" value="{sequence}"' in answer.text
    # A browser presses a form's first button when somebody presses Enter.
    assert answer.text.index("Replay the chosen ones") < answer.text.index('name="only"')
    assert 'href="/trace?event=e%3Ci%3E1"' in answer.text
    assert "<script>alert" not in answer.text
    assert "<img" not in answer.text
    assert "\u202e" not in answer.text


async def test_one_some_and_all_are_replayed(service, start_page, monkeypatch):
    first, *rest = await fail_events(service, monkeypatch, 5)
    async with start_page(service.address) as page:
        # The box of another one does not count if a single one's button was pressed.
        fields = {"only": str(first), f"replay-{rest[0]}": "1"}
        answer = await page.send("/failures/replay", fields, of="/failures")
        assert (answer.status_code, answer.headers["location"]) == (303, "/failures")
        shown = read_text(await page.get("/failures"))
        assert "1 dead letter waits to be tried again in the background." in shown
        await wait_until(service, 4)
        fields = {f"replay-{sequence}": "1" for sequence in (*rest[:2], rest[-1] + 99)}
        await page.send("/failures/replay", fields, of="/failures")
        shown = read_text(await page.get("/failures"))
        assert "2 dead letters wait to be tried again" in shown
        assert "1 of those that were chosen are dead letters no longer" in shown
        await wait_until(service, 2)
        letters = await service.stub.ListDeadLetters(pb.ListDeadLettersRequest())
        assert sorted(one.sequence for one in letters.dead_letters) == rest[2:]
        await page.send("/failures/replay-all", {}, of="/failures")
        await wait_until(service, 0)
        assert "There are no dead letters" in read_text(await page.get("/failures"))


async def test_forms_that_choose_nothing_or_nonsense_change_nothing(
    service, start_page, monkeypatch
):
    await fail_events(service, monkeypatch, 1)
    async with start_page(service.address) as page:
        assert (await page.send("/failures/replay", {}, of="/failures")).status_code == 303
        assert "nothing was queued" in read_text(await page.get("/failures"))
        for fields in ({"only": "x"}, {"replay-": "1"}, {"replay-0": "1"}, {"only": "9" * 30}):
            answer = await page.send("/failures/replay", fields, of="/failures")
            assert answer.status_code == 400, fields
        forged = await page.http.post("/failures/replay-all", data={})
        assert forged.status_code == 403
        letters = await service.stub.ListDeadLetters(pb.ListDeadLettersRequest())
    assert [letter.queued for letter in letters.dead_letters] == [False]


async def test_many_dead_letters_are_read_by_page(service, start_page, monkeypatch):
    sequences = await fail_events(service, monkeypatch, 45)
    found: list[int] = []
    address, pages = "/failures", 0
    async with start_page(service.address) as page:
        while address:
            answer = await page.get(address)
            found += map(int, re.findall(r'name="replay-(\d+)"', answer.text))
            more = re.search(r'rel="next" href="([^"]*)"', answer.text)
            address, pages = html.unescape(more[1]) if more else "", pages + 1
        assert (await page.get("/failures?page=forged")).status_code == 400
    assert pages == 3
    assert found == sequences[::-1]


@pytest.mark.parametrize("role", [Role.READ, Role.ANALYST])
async def test_other_roles_see_no_more_than_they_may(start_service, start_page, monkeypatch, role):
    async with start_service(auto_create=True, reason_backoff=0) as service:
        await fail_events(service, monkeypatch, 1)
    async with (
        start_service(roles=(role,)) as service,
        start_page(service.address) as page,
    ):
        await page.sign_in(service.token)
        answer = await page.get("/failures")
        refused = await page.http.post("/failures/replay-all", data=await read_key(page))
    assert "1 dead letter. The role admin sees" in read_text(answer)
    assert ("I cannot say" in read_text(answer)) is (role == Role.ANALYST)
    assert "which of them?" not in answer.text
    assert "/failures/replay" not in answer.text
    assert refused.status_code == 403


async def read_key(page) -> dict[str, str]:
    """Return the key of the page's own forms, as its sign-out has one."""
    return {"forgery_key": await page.find_key("/failures")}


async def test_what_fails_now_is_said(service, start_page, monkeypatch):
    async with start_page(service.address) as page:
        assert "Nothing fails now." in read_text(await page.get("/failures"))
        monkeypatch.setattr(
            type(service.worker), "failing", {"round": "the index does not answer <b>now</b>"}
        )
        text = read_text(await page.get("/failures"))
    assert "round : the index does not answer <b>now</b> . It is tried again by itself." in text


def test_a_job_that_fails_is_named_once_with_its_last_success():
    status = pb.GetStatusResponse(
        failing={"evolution": "no text", "learn": "full"},
        jobs=[
            pb.ScheduledJob(name="evolution", failures=2, error="no"),
            pb.ScheduledJob(name="backup", failures=1, error="disk"),
            pb.ScheduledJob(name="retention"),
        ],
    )
    found = [(one.name, one.reason, one.job is not None) for one in list_failing(status)]
    assert found == [
        ("backup", "disk", True),
        ("evolution", "no text", True),
        ("learn", "full", False),
    ]


async def test_what_a_model_gets_wrong_is_counted(service, start_page, monkeypatch):
    loss = pb.Loss(reason="echo", meaning="The answer repeats the question.", count=40)
    spent = pb.PromptSpending(
        prompt="backward@5", calls=50, parts=80, lost_parts=40, losses=[loss], refused=[loss]
    )
    status = pb.GetStatusResponse(
        caller_roles=["read", "admin"],
        predictors=[pb.Predictor(name="openai:x", in_use=True, warning="It answers by place")],
        spending=pb.Spending(prompts=[spent], ever=[spent]),
    )

    async def answer_status(*_args, **_kwargs):
        return status

    async with start_page(service.address) as page:
        await page.get("/failures")
        connection = page.state.sessions.anonymous.connection
        monkeypatch.setattr(connection.client.stub, "GetStatus", answer_status)
        text = read_text(await page.get("/failures"))
    assert "It answers by place." in text
    assert "of the answers to backward@5 could not be used" in text
    assert text.count("The answer repeats the question. (echo) 40 40") == 2
