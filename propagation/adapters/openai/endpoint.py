"""One call of the endpoint, until it is answered or given up: the only place that retries, waits and counts."""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI

from propagation.adapters.openai.breaker import Breaker
from propagation.adapters.openai.data import tokens_in
from propagation.adapters.openai.failures import Failure, Next, failure_of
from propagation.adapters.openai.limiter import Limiter
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.spending import Spending
from propagation.model.errors import ReasonerGaveUp, ReasonerUnavailable
from propagation.model.usage import NOTHING, Spent, Usage

BACKOFF, BACKOFF_LONGEST = 0.25, 20.0
NO_KEY = "none"
PING: Sequence[Mapping[str, str]] = ({"role": "user", "content": "Say OK."},)
Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Reply:
    """What came back: `text` None where there was no choice."""

    text: str | None
    finish: str | None
    refusal: str | None
    usage: Usage


class Endpoint:
    """Chat completions of one model. `key` may be None: local servers want none."""

    def __init__(self, options: OpenAIOptions, key: str | None, spending: Spending) -> None:
        self.options = options
        self.spending = spending
        self.limiter = Limiter(options.in_flight, options.calls_per_minute, options.tokens_per_minute)
        self.breaker = Breaker()
        self._key = key
        self._client: AsyncOpenAI | None = None
        self._refused: set[str] = set()
        self._random = random.Random()

    @property
    def client(self) -> AsyncOpenAI:
        if self._client is None:
            self._client = AsyncOpenAI(base_url=self.options.base_url, api_key=self._key or NO_KEY, max_retries=0,
                                       timeout=self.options.timeout)
        return self._client

    def refuses(self, parameter: str) -> bool:
        """Whether the server has said that it does not take it."""
        return parameter in self._refused

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def chat(self, label: str, messages: Messages, tokens: int, response_format: Mapping[str, Any] | None = None,
                   attempts: int | None = None) -> Reply:
        """An answer, however it reads. Raises ReasonerFailed (this will not be answered) and ReasonerUnavailable (nothing is,
        now), with what it cost all the same."""
        usage, failure = NOTHING, None
        most, attempt = attempts or self.options.attempts, 0
        while attempt < most:
            if attempt and failure is not None:
                await asyncio.sleep(self._backoff(attempt, failure))
            reply, failure = await self._once(label, messages, tokens, response_format)
            usage += reply.usage
            if failure is None:
                return Reply(reply.text, reply.finish, reply.refusal, usage)
            if failure.parameter == "response_format":
                break
            if failure.then is Next.LATER:
                raise ReasonerUnavailable(failure.reason, usage)
            if failure.then is Next.NEVER:
                raise ReasonerGaveUp(failure.reason, usage)
            attempt += not failure.parameter  # a parameter is refused once, then left out
        assert failure is not None
        if attempts is None and failure.then is Next.AGAIN and not failure.parameter and not await self._alive():
            raise ReasonerUnavailable(f"{failure.reason}, and so it is with every call", usage)
        raise ReasonerGaveUp(f"{failure.reason}" + (f", {most} times" if most > 1 else ""), usage)

    async def _alive(self) -> bool:
        """Whether the endpoint answers anything at all, where a question was given up."""
        try:
            return (await self._once("ping@1", PING, 8, None))[1] is None
        except ReasonerUnavailable:
            return False

    async def _once(self, label: str, messages: Messages, tokens: int,
                    response_format: Mapping[str, Any] | None) -> tuple[Reply, Failure | None]:
        """One attempt, counted. Raises ReasonerUnavailable where the breaker is open or a budget spent."""
        self.breaker.check()
        about = sum(tokens_in(message["content"]) + 4 for message in messages)
        try:
            reserved = await self.spending.reserve(about, tokens)
        except BaseException:
            self.breaker.left()
            raise
        sent = self._parameters(messages, tokens, response_format)
        text = finish = refusal = None
        failure: Failure | None = None
        prompt_tokens = completion_tokens = 0
        called, started = False, time.monotonic()
        try:
            async with self.limiter.turn(about + tokens):
                called, started = True, time.monotonic()
                try:
                    async with asyncio.timeout(self.options.timeout):
                        answer = (await self.client.chat.completions.with_raw_response.create(**sent)).parse()
                    text, finish, refusal = _choice(answer)
                    prompt_tokens, completion_tokens = _counted(answer, about, text)
                except TimeoutError:
                    failure = Failure("timed out", Next.AGAIN, pause=1.0)
                except Exception as error:  # whatever a client makes of whatever a server sends: one policy says what to do
                    failure = failure_of(error, sent)
        finally:
            self.breaker.left()
            spent = Spent(calls=int(called), prompt_tokens=prompt_tokens, completion_tokens=completion_tokens,
                          seconds=time.monotonic() - started, money=self.spending.money(prompt_tokens, completion_tokens))
            usage = self.spending.settle(label, reserved, spent)
        self._learn(failure)
        await self.spending.save()
        return Reply(text, finish, refusal, usage), failure

    def _learn(self, failure: Failure | None) -> None:
        if failure is None:
            self.breaker.answered()
            return
        if failure.pause:
            self.limiter.pause(failure.pause)
        if failure.counts:
            self.breaker.failed(failure.reason)
        if failure.parameter:
            self._refused.add(failure.parameter)

    def _parameters(self, messages: Messages, tokens: int, response_format: Mapping[str, Any] | None) -> dict[str, Any]:
        """Nothing that isn't needed, and nothing that this server refused before."""
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        sent: dict[str, Any] = {"model": self.options.model, "messages": list(messages), limit: tokens}
        if self.options.temperature is not None and "temperature" not in self._refused:
            sent["temperature"] = self.options.temperature
        if response_format is not None:
            sent["response_format"] = response_format
        return sent

    def _backoff(self, attempt: int, failure: Failure) -> float:
        """Full jitter; a server that said how long is waited for by the limiter."""
        if failure.pause:
            return self._random.uniform(0, BACKOFF)
        return self._random.uniform(0, min(BACKOFF * 2**attempt, BACKOFF_LONGEST))


def _choice(answer: Any) -> tuple[str | None, str | None, str | None]:
    """(text, finish reason, refusal) of the first choice; a body that is no completion has none."""
    choices = getattr(answer, "choices", None)
    if not choices:
        return None, None, None
    message = getattr(choices[0], "message", None)
    text, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
    return (text if isinstance(text, str) else None, getattr(choices[0], "finish_reason", None),
            refusal if isinstance(refusal, str) else None)


def _counted(answer: Any, about: int, text: str | None) -> tuple[int, int]:
    """(prompt, completion) tokens as the server counted them; some count nothing, then by length."""
    usage = getattr(answer, "usage", None)
    prompt, completion = getattr(usage, "prompt_tokens", 0), getattr(usage, "completion_tokens", 0)
    return (prompt if isinstance(prompt, int) and prompt > 0 else about,
            completion if isinstance(completion, int) and completion > 0 else tokens_in(text or ""))
