"""What goes wrong on the way: each fault by name, bounded in calls, and never an answer that nobody
gave."""

import asyncio
import threading
import time
from unittest.mock import patch

import pytest

from propagation.adapters.openai.endpoint.call_limits import CircuitBreaker, RateLimiter
from propagation.adapters.openai.endpoint.error_body import read_error_message
from propagation.adapters.openai.endpoint.failures import read_requested_pause
from propagation.model import (
    EndpointUnavailable,
    ReasonerFailed,
    ReasonerGaveUp,
    ReasonerUnavailable,
)
from propagation.ports import ModelWork
from services.fake_llm.script import Refused
from tests.unit.adapters.openai.other_server import READ, other_server
from tests.unit.adapters.openai.test_answer_forms import ask_both, open_reasoner_of
from tests.unit.adapters.openai.test_server_habits import collect_answers, parties
from tests.unit.parties import work


@pytest.mark.parametrize("fault", ["refusal", "empty_choices", "blank", "not_json"])
async def test_a_bad_answer_is_asked_for_once_more_and_then_a_typed_failure(open_reasoner, fault):
    async with open_reasoner(faults={fault: 1.0}) as asked:
        reader, positive, negative = parties()
        with pytest.raises(ReasonerFailed) as raised:
            await asked.reasoner.forward(work(), reader, [positive, negative], None)
        assert not isinstance(raised.value, ReasonerGaveUp | ReasonerUnavailable), (
            "it may be asked again later"
        )
        assert asked.calls == 2
        again = asked.server.seen.prompts[-1]
        assert "Answer again" in again


async def test_a_long_pause_that_a_server_asks_for_is_told_once(open_reasoner, caplog):
    async with open_reasoner(faults={"429": 1.0}, retry_after=60) as asked:
        calls = asyncio.gather(
            *(asked.reasoner.merge(parties()[0]) for _ in range(3)), return_exceptions=True
        )
        async with asyncio.timeout(10):
            while not caplog.records:  # noqa: ASYNC110 - a line of the log is what is waited for
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert asked.reasoner.pause_reason.startswith("429: ")
        assert asked.reasoner.pause_reason.endswith(" 60 s")
        calls.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calls
    [message] = caplog.messages
    assert "60 s: 429" in message


async def test_an_answer_that_can_be_repaired_in_two_ways_is_asked_for_again(open_reasoner):
    async with open_reasoner(faults={"malformed": 1.0}) as asked:
        reader, positive, negative = parties()
        answer = await asked.reasoner.forward(work(), reader, [positive, negative], None)
        assert isinstance(answer.merges[0], ReasonerFailed)
        assert answer.prediction is True, "a part that is valid by itself stands"
        assert asked.calls == 2
        assert "not valid JSON" in asked.server.seen.prompts[-1]


async def test_of_a_cut_answer_the_whole_parts_stand(open_reasoner):
    async with open_reasoner(faults={"truncated": 1.0}) as asked:
        forward, backward = await collect_answers(asked)
        assert forward.merges[0].edits
        assert isinstance(forward.prediction, ReasonerFailed)
        assert [isinstance(part, ReasonerFailed) for part in backward.clients] == [
            False,
            True,
            True,
        ]
        assert asked.calls == 4


async def test_wrong_ids_are_no_answer(open_reasoner):
    async with open_reasoner(faults={"wrong_ids": 1.0}) as asked:
        reader, positive, negative = parties()
        with pytest.raises(ReasonerFailed, match="choice is 999"):
            await asked.reasoner.forward(work(), reader, [positive, negative], None)
        answer = await asked.reasoner.backward(work(), 1, reader, positive, negative)
        assert all(isinstance(part, ReasonerFailed) or not part.edits for part in answer.clients)


@pytest.mark.parametrize(
    ("fault", "charged"), [("disconnect", True), ("500", False), ("429", False)]
)
async def test_an_answer_that_breaks_off_is_counted_as_all_that_it_may_have_cost(
    open_reasoner, fault, charged
):
    """Its server counted it, and nobody will ever say how much: a budget is not passed unseen."""
    async with open_reasoner(
        faults={fault: 1.0}, attempts=2, price_completion=1.0, budget={"tokens_per_day": 10_000_000}
    ) as asked:
        reader, positive, negative = parties()
        with pytest.raises(ReasonerUnavailable):
            await asked.reasoner.forward(work(), reader, [positive, negative], None)
        total = asked.reasoner.expenses.this_run.total
        assert (total.prompt_tokens > 500, total.completion_tokens > 500, total.money > 5e-4) == (
            charged,
        ) * 3
        [budget] = asked.reasoner.expenses.budgets
        assert budget.used == total.prompt_tokens + total.completion_tokens


@pytest.mark.parametrize("fault", ["500", "disconnect", "429"])
async def test_an_endpoint_that_answers_nothing_makes_the_work_wait(open_reasoner, fault):
    async with open_reasoner(faults={fault: 1.0}, attempts=3) as asked:
        reader, positive, negative = parties()
        with pytest.raises(ReasonerUnavailable):
            await asked.reasoner.forward(work(), reader, [positive, negative], None)
        assert asked.calls <= 3


async def test_a_question_that_kills_its_call_while_others_are_answered_is_given_up(open_reasoner):
    async with open_reasoner(faults={"500": 1.0}, attempts=2) as asked:
        asked.reasoner.endpoint._is_alive = return_true
        with pytest.raises(ReasonerGaveUp, match="2 times"):
            await collect_answers(asked)


async def return_true(_):
    return True


@pytest.mark.slow
async def test_a_drip_does_not_outlast_the_deadline(open_reasoner):
    async with open_reasoner(faults={"drip": 1.0}, timeout=0.3, attempts=1) as asked:
        started = asyncio.get_running_loop().time()
        with pytest.raises(ReasonerFailed, match="timed out"):
            await collect_answers(asked)
        assert asyncio.get_running_loop().time() - started < 5.0


@pytest.mark.slow
async def test_under_faults_calls_stay_near_their_limit_and_the_rule_comes_through(open_reasoner):
    """Five faults of 5% each: 1 / (1 - .25) = 1.33 calls where one was needed."""
    faults = dict.fromkeys(("429", "500", "malformed", "disconnect", "refusal"), 0.05)
    async with open_reasoner(faults=faults, cached_answers=0, in_flight=16, attempts=8) as asked:
        reader, positive, negative = parties()
        found = await asyncio.gather(
            *(
                asked.reasoner.forward(work(), reader, [positive, negative], None)
                for _ in range(200)
            ),
            return_exceptions=True,
        )
        answers = [one for one in found if not isinstance(one, BaseException)]
        assert len(answers) >= 190
        assert all(
            isinstance(one, ReasonerFailed) for one in found if isinstance(one, BaseException)
        )
        assert all(
            one.prediction for one in answers if not isinstance(one.prediction, ReasonerFailed)
        )
        assert asked.calls <= 1.45 * 200
        assert asked.server.seen.most_at_once <= 16
        assert asked.reasoner.expenses.this_run.total.calls >= asked.calls


async def test_cancelling_leaves_nothing_taken(open_reasoner):
    async with open_reasoner(in_flight=1) as asked:
        asked.server.script = type(asked.server.script)(latency=5.0)
        tasks = [asyncio.create_task(collect_answers(asked)) for _ in range(4)]
        await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert asked.reasoner.endpoint.limiter.running == 0
        asked.server.script = type(asked.server.script)()
        assert (await collect_answers(asked))[0].prediction is not None


async def test_the_limiter_counts_calls_and_tokens_of_any_minute():
    now = [0.0]
    limiter = RateLimiter(8, calls_per_minute=2, tokens_per_minute=1_000, clock=lambda: now[0])
    for _ in range(2):
        async with limiter.slot(100):
            pass
    assert limiter._wait(100) == 60.0, "a third call in a minute waits"
    now[0] = 60.5
    assert limiter._wait(100) == 0.0, "after the minute it does not"
    async with limiter.slot(950):
        assert limiter._wait(100) == 60.0, "tokens above the limit wait"
        assert limiter._wait(10) == 0.0, "tokens below it do not"
    assert limiter.pause(1) == 1.0, "a pause holds calls back"
    assert limiter.pause(90) == 89.0, "a longer one adds the difference"
    assert limiter.pause(60) == 0.0, "a shorter one adds nothing"
    assert limiter._wait(10) == 90.0, "calls wait for the longest"


async def test_the_breaker_opens_lets_one_try_and_closes():
    now = [0.0]
    breaker = CircuitBreaker(failures=2, clock=lambda: now[0])

    def fail_trial(trial):
        breaker.release(trial=trial)
        breaker.record_failure("500")

    for _ in range(2):
        fail_trial(await breaker.admit())
    with pytest.raises(EndpointUnavailable, match="500"):
        await breaker.admit()
    now[0] = 3.1
    fail_trial(await breaker.admit())
    now[0] = 6.0
    with pytest.raises(EndpointUnavailable):
        await breaker.admit()
    for now[0] in (6.2, 9.3, 12.4):
        fail_trial(await breaker.admit())
    now[0] = 15.5
    assert await breaker.admit(), "it is never left alone for longer than 3 s"
    breaker.release(trial=True)
    breaker.record_answer()
    assert not await breaker.admit()


@pytest.mark.parametrize("ends", ["answered", "failed", "cancelled"])
async def test_who_comes_during_the_trial_waits_for_its_end(ends):
    now = [0.0]
    breaker = CircuitBreaker(failures=1, clock=lambda: now[0])
    await breaker.admit()
    breaker.record_failure("500")
    now[0] = 3.1
    assert await breaker.admit()
    peers = [asyncio.ensure_future(breaker.admit()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(peer.done() for peer in peers)
    breaker.record_failure("500")  # one that was sent before says nothing of the trial
    await asyncio.sleep(0)
    assert not any(peer.done() for peer in peers)
    now[0] = 6.2
    breaker.release(trial=True)
    if ends != "cancelled":
        breaker.record_answer() if ends == "answered" else breaker.record_failure("500")
    await asyncio.wait(peers, timeout=0.05)
    if ends == "answered":
        assert [peer.result() for peer in peers] == [False] * 3
    elif ends == "failed":
        assert all(isinstance(peer.exception(), EndpointUnavailable) for peer in peers)
    else:
        assert [peer.done() for peer in peers] == [True, False, False], "the next one tries"
        assert peers[0].result()
    for peer in peers:
        peer.cancel()


async def test_at_the_first_answer_after_an_outage_all_go_on(open_reasoner, monkeypatch):
    async with open_reasoner(attempts=1, cached_answers=0) as asked:
        await collect_answers(asked)
        breaker = asked.reasoner.endpoint.breaker
        answer = asked.server._answer_chat

        async def raise_refused(*_):
            raise Refused(500, "")

        async def answer_slowly(*told):
            await asyncio.sleep(0.05)
            await answer(*told)

        with patch.object(asked.server, "_answer_chat", raise_refused):
            for _ in range(12):
                with pytest.raises(EndpointUnavailable):
                    await asked.reasoner.merge(parties()[0])
        assert breaker.open
        with patch.object(asked.server, "_answer_chat", answer_slowly):
            breaker._until = 0.0
            merged = await asyncio.gather(*(asked.reasoner.merge(parties()[0]) for _ in range(8)))
        assert all(one.edits for one in merged), "nobody fails beside the one that tries"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "1e9"}, 120.0),
        ({"retry-after": "nan"}, 1.0),
        ({"retry-after": "soon"}, 1.0),
        ({"retry-after": "-5"}, 0.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2.5s"}, 62.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "250ms"}, 0.25),
        ({}, 1.0),
    ],
)
def test_what_a_server_asks_for_is_waited(headers, seconds):
    assert read_requested_pause(headers) == seconds


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "no", "code": "x"}}, "no x"),
        ({"detail": [{"msg": "bad"}]}, "[{'msg': 'bad'}]"),
        ("plain", "plain"),
        (None, ""),
        ({"error": "text"}, "text"),
    ],
)
def test_an_error_is_read_whatever_its_form(body, said):
    assert read_error_message(body) == said


@pytest.mark.slow
async def test_a_server_that_answers_one_at_a_time_is_not_asked_by_all_at_once_for_ever(store):
    """It goes on with calls that nobody waits for any more: eight at once would time out in turn
    until all are dead letters."""
    one_at_a_time = threading.Lock()

    def answer_slowly(answer):
        with one_at_a_time:
            time.sleep(0.1)
        return READ["as it should be"](answer)

    with other_server() as server:
        server.form = answer_slowly
        async with open_reasoner_of(
            server, store, in_flight=8, timeout=0.35, attempts=6
        ) as reasoner:
            reasoner.endpoint.limiter.pause = lambda seconds: 0.0
            found = await asyncio.gather(*(ask_both(reasoner) for _ in range(4)))
            assert all(forward.prediction is True for forward, _ in found)
            limits = reasoner.endpoint.limiter.limits
            assert min(limits.total.now, limits.kinds[ModelWork.READ].now) < 8
            assert len(server.asked) < 20
