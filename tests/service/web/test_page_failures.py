"""The page of failures: dead letters that are replayed, and what fails now."""

import html
import re
from contextlib import contextmanager

import pytest

from propagation.model import ReasonerFailed
from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from services.web.views.failures import list_failing
from tests.service.scenarios import record_choices

ANSWERED = '"><img src=x onerror=alert(1)> I cannot say'


def read_text(answer) -> str:
    """Return the text of a page without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


@contextmanager
def failing_reasoner(service, monkeypatch):
    """Let the reasoner fail as one with a model does, until the body ends."""

    async def fail(*_):
        raise ReasonerFailed(f"no JSON: {ANSWERED}")

    with monkeypatch.context() as patch:
        patch.setattr(type(service.engine.reasoner), "backward", fail)
        yield


async def fail_events(service, monkeypatch, count: int) -> list[int]:
    """Record events whose reasoning fails; return their sequences, oldest first."""
    with failing_reasoner(service, monkeypatch):
        await record_choices(service, [(f"e<i>{n}", "ann", f"i{n}") for n in range(count)])
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    status = await service.stub.GetStatus(pb.GetStatusRequest())
    assert status.dead_letters == count
    return sorted(letter.sequence for letter in status.newest_dead_letters)


@pytest.fixture
async def service(start_service):
    async with start_service(auto_create=True, reason_backoff=0) as running:
        yield running


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
        visitor = next(iter(page.app.state.sessions._visitors.values()))[1]
        monkeypatch.setattr(visitor.client.stub, "GetStatus", answer_status)
        text = read_text(await page.get("/failures"))
    assert "It answers by place." in text
    assert "of the answers to backward@5 could not be used" in text
    assert text.count("The answer repeats the question. (echo) 40 40") == 2


@pytest.mark.parametrize("role", [Role.READ, Role.ANALYST])
async def test_dead_letters_are_listed_as_the_token_may(
    start_service, start_page, monkeypatch, role
):
    async with start_service(auto_create=True, reason_backoff=0) as service:
        sequences = await fail_events(service, monkeypatch, 2)
    async with (
        start_service(roles=(role,)) as service,
        start_page(service.address) as page,
    ):
        await page.sign_in(service.token)
        answer = await page.get("/failures")
    text = read_text(answer)
    assert all(f"sequence {sequence}" in text for sequence in sequences)
    assert ("I cannot say" in text) is (role == Role.ANALYST)
    assert "<img" not in answer.text
