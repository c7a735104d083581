"""ListDeadLetters and ReplayDeadLetters over real gRPC."""

import asyncio
from contextlib import contextmanager

import grpc
import pytest

from propagation.model import ReasonerFailed
from propagation.ports import note_exchange
from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from tests.service.scenarios import catch_code, record_choices
from tests.service.status_details import read_field_violation


@contextmanager
def failing_reasoner(service, monkeypatch):
    """Let the reasoner fail as one with a model does, until the body ends."""

    async def fail(*_):
        note_exchange("which of them?", "I cannot say")
        raise ReasonerFailed("no JSON: I cannot say")

    with monkeypatch.context() as patch:
        patch.setattr(type(service.engine.reasoner), "backward", fail)
        yield


async def fail_events(service, monkeypatch, count: int) -> list[int]:
    """Record events whose reasoning fails; return their sequences."""
    with failing_reasoner(service, monkeypatch):
        end = await record_choices(service, [(f"e{n}", "ann", f"i{n}") for n in range(count)])
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
        status = await service.stub.GetStatus(pb.GetStatusRequest())
        assert status.reasoned_through >= end
        assert status.dead_letters == count
        return sorted(letter.sequence for letter in status.newest_dead_letters)


async def list_letters(service, size=100, **fields) -> list[pb.DeadLetter]:
    found, token = [], ""
    while True:
        request = pb.ListDeadLettersRequest(page_size=size, page_token=token, **fields)
        answer = await service.stub.ListDeadLetters(request)
        assert len(answer.dead_letters) <= size
        found += answer.dead_letters
        token = answer.next_page_token
        if not token:
            return found


async def wait_until_replayed(service) -> list[pb.DeadLetter]:
    async with asyncio.timeout(20):
        while True:
            letters = await list_letters(service)
            if not any(letter.queued for letter in letters):
                return letters
            await asyncio.sleep(0.02)


@pytest.fixture
async def service(start_service):
    async with start_service(auto_create=True, reason_backoff=0) as running:
        yield running


@pytest.mark.parametrize("size", [1, 2, 50])
async def test_dead_letters_come_newest_first_with_their_events(service, monkeypatch, size):
    sequences = await fail_events(service, monkeypatch, 3)
    found = await list_letters(service, size)
    assert [letter.sequence for letter in found] == sequences[::-1]
    newest = found[0]
    assert newest.reason == "no JSON: I cannot say"
    assert (newest.interaction.event_id, newest.interaction.user_id) == ("e2", "ann")
    assert newest.interaction.item_id == "i2"
    assert newest.attempts == service.engine.settings.reason_attempts
    assert newest.failed_at.seconds > 1_700_000_000
    assert not newest.queued
    assert (newest.asked, newest.answered) == ("", "")
    shown = await list_letters(service, size, exchanges=True)
    assert {(letter.asked, letter.answered) for letter in shown} == {
        ("which of them?", "I cannot say")
    }


async def test_some_are_replayed_and_then_all(service, monkeypatch):
    sequences = await fail_events(service, monkeypatch, 4)
    answer = await service.stub.ReplayDeadLetters(
        pb.ReplayDeadLettersRequest(sequences=[sequences[1], sequences[1], sequences[-1] + 99])
    )
    assert (answer.queued, answer.unknown) == (1, 1)
    left = [letter.sequence for letter in await wait_until_replayed(service)]
    assert left == [sequences[3], sequences[2], sequences[0]]
    assert (await service.stub.ReplayDeadLetters(pb.ReplayDeadLettersRequest(all=True))).queued == 3
    assert await wait_until_replayed(service) == []
    key = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann")
    profile = (await service.stub.GetProfile(pb.GetProfileRequest(key=key))).profile
    cited = {source.interaction.sequence for line in profile.lines for source in line.sources}
    assert cited <= set(sequences)
    assert (await service.stub.ReplayDeadLetters(pb.ReplayDeadLettersRequest(all=True))).queued == 0


async def test_what_fails_again_counts_its_attempts(service, monkeypatch):
    [sequence] = await fail_events(service, monkeypatch, 1)
    with failing_reasoner(service, monkeypatch):
        await service.stub.ReplayDeadLetters(pb.ReplayDeadLettersRequest(sequences=[sequence]))
        [letter] = await wait_until_replayed(service)
    assert letter.attempts == 2 * service.engine.settings.reason_attempts


async def test_an_erasure_removes_what_was_asked_about_others(service, monkeypatch):
    await fail_events(service, monkeypatch, 2)
    await record_choices(service, [("other", "bob", "i1")])
    bob = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="bob")
    await service.stub.ForgetClient(pb.ForgetClientRequest(key=bob))
    shown = await list_letters(service, 50, exchanges=True)
    assert [(letter.asked, letter.answered) for letter in shown] == [("", "")] * 2
    ann = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann")
    await service.stub.ForgetClient(pb.ForgetClientRequest(key=ann))
    assert await list_letters(service) == []


async def test_what_is_wrong_is_named(service, monkeypatch):
    await fail_events(service, monkeypatch, 2)
    first = pb.ListDeadLettersRequest(page_size=1)
    token = (await service.stub.ListDeadLetters(first)).next_page_token
    for fields, field in (
        ({"page_size": 0}, "page_size"),
        ({"page_size": 51, "exchanges": True}, "page_size"),
        ({"page_token": token[:-1] + "x"}, "page_token"),
        ({"page_token": token, "exchanges": True}, "page_token"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await service.stub.ListDeadLetters(pb.ListDeadLettersRequest(**fields))
        assert read_field_violation(caught.value).field == field
    for fields, field in (
        ({}, "sequences"),
        ({"all": True, "sequences": [1]}, "sequences"),
        ({"sequences": [4, 0]}, "sequences[1]"),
        ({"sequences": range(1, 1_002)}, "sequences"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await service.stub.ReplayDeadLetters(pb.ReplayDeadLettersRequest(**fields))
        assert read_field_violation(caught.value).field == field
    assert not any(letter.queued for letter in await list_letters(service))


@pytest.mark.parametrize("role", Role)
async def test_both_calls_need_admin(start_service, role):
    async with start_service(roles=(role,)) as service:
        listed = await catch_code(service.stub.ListDeadLetters(pb.ListDeadLettersRequest()))
        replayed = await catch_code(
            service.stub.ReplayDeadLetters(pb.ReplayDeadLettersRequest(all=True))
        )
    code = grpc.StatusCode
    expected = code.OK if role == Role.ADMIN else code.PERMISSION_DENIED
    assert (listed, replayed) == (expected, expected)
