"""Time-outs lower the number of calls in flight: of all kinds of work, or of one alone."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.openai.endpoint.call_limits import RateLimiter
from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.paper_reasoner import create_openai_reasoner
from propagation.model import ReasonerFailed
from propagation.ports import Integration, ModelWork, asking_for
from services.fake_llm.rule import read_data
from services.fake_llm.server import FakeLLM, fake_llm, recognise_prompt
from tests.unit.adapters.openai.test_server_habits import parties
from tests.unit.parties import work

INTERACTION, READ, DESCRIPTION, ROUTERS = ModelWork
IN_FLIGHT = 8


@asynccontextmanager
async def begin_calls(limiter, *kinds):
    """Hold a slot for each of these kinds, in this order."""
    async with AsyncExitStack() as slots:
        calls = []
        for kind in kinds:
            with asking_for(kind):
                calls.append(await slots.enter_async_context(limiter.slot(1)))
        yield calls


def read_limits(limiter):
    """Return the common limit, and the limits of the kinds that are lower than at first."""
    kinds = limiter.limits.kinds
    lowered = {kind: limit.now for kind, limit in kinds.items() if limit.now < IN_FLIGHT}
    return limiter.limits.total.now, lowered


async def test_a_long_question_lowers_its_own_kind_alone():
    limiter = RateLimiter(IN_FLIGHT)
    async with begin_calls(limiter, ROUTERS, ROUTERS, INTERACTION) as (long, _, later):
        limiter.note_answer(later)
        assert not limiter.note_timeout(long), "the server keeps up"
    assert read_limits(limiter) == (IN_FLIGHT, {ROUTERS: 4})


async def test_time_outs_of_the_only_kind_in_flight_leave_the_others_as_they_are():
    limiter = RateLimiter(IN_FLIGHT)
    for expected in (4, 2, 1, 1):
        async with begin_calls(limiter, ROUTERS) as [call]:
            assert limiter.note_timeout(call)
        assert read_limits(limiter) == (IN_FLIGHT, {ROUTERS: expected})


async def test_a_server_that_answers_nothing_newer_is_asked_less_by_all():
    """A queue answers what came earlier first, so such answers are no sign that it keeps up."""
    limiter = RateLimiter(IN_FLIGHT)
    kinds = (INTERACTION, ROUTERS, INTERACTION)
    async with begin_calls(limiter, *kinds) as (earlier, waiting, _):
        limiter.note_answer(earlier)
        assert limiter.note_timeout(waiting)
    assert read_limits(limiter) == (4, {})


async def test_of_calls_that_were_in_flight_together_one_time_out_counts():
    limiter = RateLimiter(IN_FLIGHT)
    async with begin_calls(limiter, ROUTERS, ROUTERS, ROUTERS) as calls:
        for call in calls:
            limiter.note_timeout(call)
    assert read_limits(limiter) == (IN_FLIGHT, {ROUTERS: 4})


@pytest.mark.parametrize("with_others", [False, True])
async def test_answers_allow_more_again(with_others):
    """After as many answers as calls are allowed: 4 + 5 + 6 + 7."""
    limiter = RateLimiter(IN_FLIGHT)
    others = [INTERACTION] if with_others else []
    async with begin_calls(limiter, ROUTERS, *others) as calls:
        limiter.note_timeout(calls[0])
    lowered = read_limits(limiter)
    for answers in range(4 + 5 + 6 + 7):
        assert read_limits(limiter) != (IN_FLIGHT, {}), answers
        async with begin_calls(limiter, ROUTERS) as [call]:
            limiter.note_answer(call)
    assert lowered == ((4, {}) if with_others else (IN_FLIGHT, {ROUTERS: 4}))
    assert read_limits(limiter) == (IN_FLIGHT, {})


async def count_most_at_once(limiter, kind):
    """Return how many of 20 calls of a kind are in flight at once."""

    async def call():
        async with limiter.slot(1):
            running = limiter.running
            await asyncio.sleep(0)
            return running

    with asking_for(kind):
        return max(await asyncio.gather(*(call() for _ in range(20))))


async def test_no_more_calls_of_a_kind_begin_than_its_limit():
    limiter = RateLimiter(IN_FLIGHT)
    async with begin_calls(limiter, ROUTERS) as [call]:
        limiter.note_timeout(call)
    assert await count_most_at_once(limiter, ROUTERS) == 4
    assert await count_most_at_once(limiter, INTERACTION) == IN_FLIGHT


class SlowRouters(FakeLLM):
    """Never answers a question about a router."""

    async def _answer_chat(self, body, headers, writer):
        if recognise_prompt(read_data(body["messages"]), None) == "summarize":
            await asyncio.Event().wait()
        await super()._answer_chat(body, headers, writer)


@pytest.mark.slow
async def test_routers_texts_that_take_too_long_leave_interactions_all_of_their_calls(store):
    async with fake_llm(kind=SlowRouters) as server:
        options = OpenAIOptions(
            base_url=server.base_url,
            model="scripted",
            timeout=3.0,
            attempts=1,
            cached_answers=0,
            in_flight=IN_FLIGHT,
        )
        reasoner = create_openai_reasoner(
            create_openai_endpoint(options, None, store, "test"), store, extract_lines
        )
        reader, positive, negative = parties()

        async def write_texts():
            with asking_for(ROUTERS):
                routers = [Integration(n, None, {"soul": 2}, {"soul": 2.0}, {}, []) for n in (1, 2)]
                answer = await reasoner.summarize(routers)
                assert all(isinstance(part, ReasonerFailed) for part in answer.summaries)

        async def interact(texts):
            with asking_for(INTERACTION):
                while not texts.done():
                    await reasoner.forward(work(), reader, [positive, negative], None)

        try:
            await reasoner.forward(work(), reader, [positive, negative], None)  # the JSON mode
            texts = asyncio.gather(*(write_texts() for _ in range(3)))
            await asyncio.gather(*(interact(texts) for _ in range(3)))
            await texts
            total, lowered = read_limits(reasoner.endpoint.limiter)
            assert total == IN_FLIGHT
            assert set(lowered) == {ROUTERS}
        finally:
            await reasoner.close()
