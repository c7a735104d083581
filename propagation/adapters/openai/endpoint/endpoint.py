"""One call of the endpoint, until it is answered or given up: the only place that retries, waits
and counts."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from propagation.adapters.openai.endpoint.body_stream import bounded, most_bytes
from propagation.adapters.openai.endpoint.budget import BudgetLedger
from propagation.adapters.openai.endpoint.circuit_breaker import CircuitBreaker
from propagation.adapters.openai.endpoint.failures import (
    SYSTEM,
    TIMED_OUT,
    Failure,
    Next,
    asked_pause,
    failure_of,
    has_system,
)
from propagation.adapters.openai.endpoint.messages import PING, PLAIN, WITH_SYSTEM, Messages, merged
from propagation.adapters.openai.endpoint.rate_limiter import RateLimiter
from propagation.adapters.openai.endpoint.response_body import body_of, choice_of, counted
from propagation.adapters.openai.endpoint.shutdown import CallShutdown
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.prompting.prompt_data import tokens_in
from propagation.model.errors import (
    EndpointUnavailable,
    PropagationError,
    ReasonerGaveUp,
    ReasonerUnavailable,
)
from propagation.model.usage import NO_USAGE, PromptCost, Usage

REDIRECTS = 2
UNCOMPRESSED = {"Accept-Encoding": "identity"}  # a small body may unpack to one without end
BACKOFF, BACKOFF_LONGEST = 0.25, 20.0
NO_KEY = "none"
PING_TOKENS = 16  # some servers take no limit below that
LEAST_TOKENS, MOST_TOKENS = 64, 1 << 20
PAUSE_TOLD = 5.0
EVERY_CALL = "and so it is with every call"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reply:
    """What came back: `text` None where there was no choice."""

    text: str | None
    finish: str | None
    refusal: str | None
    usage: Usage


@dataclass(frozen=True)
class Came:
    """A body that is what was asked for. `said`: text, finish reason and refusal of its choice,
    where it has any."""

    body: Mapping[str, Any]
    said: tuple[str | None, str | None, str | None] = (None, None, None)


@dataclass(frozen=True)
class Call:
    """What is asked: about how many tokens it has, and how many its answer may have; `parameters`
    as they are now, of this call."""

    label: str
    about: int
    tokens: int
    parameters: Callable[["Call"], dict[str, Any]]
    ask: Callable[[dict[str, Any]], Awaitable[Came]]


class FormRefused(ReasonerGaveUp):
    """The server does not take the form of answer that was asked for."""


class Endpoint:
    """Chat completions and embeddings. `key` may be None: local servers want none."""

    def __init__(self, options: OpenAIOptions, key: str | None, ledger: BudgetLedger) -> None:
        self.options = options
        self.ledger = ledger
        self.limiter = RateLimiter(
            options.in_flight, options.calls_per_minute, options.tokens_per_minute
        )
        self.breaker = CircuitBreaker()
        self.shutdown = CallShutdown()
        self._key = key
        self._client: AsyncOpenAI | None = None
        self._refused: set[str] = set()
        self._takes_system: bool | None = None
        self._looking = asyncio.Lock()
        self._most_tokens = MOST_TOKENS
        self._random = random.Random()
        self._paused = "", 0.0

    @property
    def client(self) -> AsyncOpenAI:
        if self._client is None:
            longest = bounded(most_bytes(self.options.embeddings.dimension))
            self._client = AsyncOpenAI(
                base_url=self.options.base_url,
                api_key=self._key or NO_KEY,
                max_retries=0,
                timeout=self.options.timeout,
                default_headers=UNCOMPRESSED,
                http_client=DefaultAsyncHttpxClient(
                    max_redirects=REDIRECTS, event_hooks={"response": [longest]}
                ),
            )
        return self._client

    def elsewhere(self, base_url: str) -> "Endpoint":
        """Another address under the same options, key and budgets."""
        return Endpoint(
            self.options.model_copy(update={"base_url": base_url}), self._key, self.ledger
        )

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def chat(
        self,
        label: str,
        messages: Messages,
        tokens: int,
        response_format: Mapping[str, Any] | None = None,
        attempts: int | None = None,
        least_temperature: float = 0.0,
    ) -> Reply:
        """An answer, however it reads. Raises ReasonerFailed (this will not be answered) and
        ReasonerUnavailable (nothing is, now), with what it cost all the same."""
        about = sum(tokens_in(message["content"]) + 4 for message in messages)
        call = Call(
            label,
            about,
            min(tokens, self._most_tokens),
            lambda call: self._parameters(messages, call, response_format, least_temperature),
            self._chat,
        )
        async with self.shutdown.staying():
            answered, usage = await self._until_answered(call, attempts)
        if self._takes_system is None and messages[0]["role"] == SYSTEM:
            self._takes_system = SYSTEM not in self._refused
        return Reply(*answered.said, usage)

    async def embeddings(self, model: str, texts: Sequence[str]) -> Any:
        """The server's answer, unchecked. Raises as `chat`."""
        async with self.shutdown.staying():
            return (await self._until_answered(self._embedding_of(model, texts), None))[0].body

    async def _until_answered(self, call: "Call", attempts: int | None) -> tuple[Came, Usage]:
        """`attempts` None: as many as the options say. Where all failed, a ping tells whose fault
        it is."""
        usage, failure = NO_USAGE, None
        most, attempt, left_out = attempts or self.options.attempts, 0, set[str]()
        while attempt < most:
            if attempt and failure is not None:
                await asyncio.sleep(self._backoff(attempt, failure))
            answered, failure, spent = await self._once(call)
            usage += spent
            if answered is not None:
                return answered, usage
            assert failure is not None, "an answer or a failure"
            if failure.parameter == "response_format":
                break
            if failure.shorter and call.tokens > LEAST_TOKENS:
                call = replace(call, tokens=max(call.tokens // 2, LEAST_TOKENS))
                self._most_tokens = (
                    min(self._most_tokens, call.tokens) if failure.bound else self._most_tokens
                )
                continue
            if (
                failure.unsaid
                and self._takes_system is None
                and has_system(call.parameters(call).get("messages"))
            ):
                alive = await self._look_at_roles()
                if SYSTEM in self._refused:
                    continue
                if not alive and failure.then is Next.NEVER:
                    raise EndpointUnavailable(f"{failure.reason.rstrip('.')}, {EVERY_CALL}", usage)
            if failure.then is Next.LATER:
                raise ReasonerUnavailable(failure.reason, usage)
            if failure.then is Next.NEVER:
                if call.ask != self._chat or failure.sure:
                    raise ReasonerGaveUp(failure.reason, usage)
                break
            attempt += (
                not failure.parameter or failure.parameter in left_out
            )  # a parameter is refused once, then left out
            left_out.add(failure.parameter)
        assert failure is not None
        if failure.parameter == "response_format":
            raise FormRefused(failure.reason, usage)
        if failure.busy or (not failure.parameter and not await self._alive(call)):
            raise EndpointUnavailable(f"{failure.reason.rstrip('.')}, {EVERY_CALL}", usage)
        times = f", {most} times" if most > 1 and failure.then is Next.AGAIN else ""
        raise ReasonerGaveUp(f"{failure.reason}{times}", usage)

    async def _look_at_roles(self) -> bool:
        """Whether this model takes messages of the system, where a first question fails: some
        servers do not say that it is this. False where nobody answers."""
        async with self._looking:
            if self._takes_system is None:
                if await self._answers(WITH_SYSTEM):
                    self._takes_system = True
                elif await self._answers(PING):
                    self._takes_system = False
                    self._refused.add(SYSTEM)
            return self._takes_system is not None

    async def _alive(self, call: "Call") -> bool:
        """Whether the endpoint answers anything at all of this kind, where a question was given up."""
        if call.ask == self._embed:
            return await self._answered(self._embedding_of(call.parameters(call)["model"], [PLAIN]))
        return await self._answers(PING)

    async def _answers(self, messages: Messages) -> bool:
        ping = Call(
            "ping@1",
            16,
            PING_TOKENS,
            lambda call: self._parameters(messages, call, None),
            self._chat,
        )
        return await self._answered(ping)

    async def _answered(self, call: "Call") -> bool:
        try:
            return (await self._once(call))[1] is None
        except ReasonerUnavailable:
            return False

    def _embedding_of(self, model: str, texts: Sequence[str]) -> "Call":
        return Call(
            "embed@1",
            sum(map(tokens_in, texts)),
            0,
            lambda _: {"model": model, "input": list(texts), "encoding_format": "float"},
            self._embed,
        )

    async def _once(self, call: "Call") -> tuple[Came | None, Failure | None, Usage]:
        """One attempt, counted. Raises ReasonerUnavailable where the breaker is open, a budget
        spent, or the service stops."""
        self.shutdown.check()
        trial = await self.breaker.admitted()
        try:
            reserved = await self.ledger.reserve(call.about, call.tokens)
        except BaseException:
            self.breaker.left(trial=trial)
            raise
        sent = call.parameters(call)
        answered: Came | None = None
        failure: Failure | None = None
        prompt_tokens = completion_tokens = 0
        called, started = False, time.monotonic()
        try:
            async with self.limiter.turn(call.about + call.tokens):
                self.shutdown.check()
                called, started = True, time.monotonic()
                try:
                    async with asyncio.timeout(self.options.timeout):
                        answered = await call.ask(sent)
                    prompt_tokens, completion_tokens = _counted(answered, call)
                except TimeoutError:
                    failure = TIMED_OUT
                # whatever a client makes of whatever a server sends: one policy says what to do
                except Exception as error:
                    failure = failure_of(error, sent)
                    if failure.answering:
                        prompt_tokens, completion_tokens = call.about, call.tokens
        finally:
            self.breaker.left(trial=trial)
            spent = PromptCost(
                calls=int(called),
                prompt_tokens=prompt_tokens,
                completion_tokens=completion_tokens,
                seconds=time.monotonic() - started,
                money=self.ledger.money(prompt_tokens, completion_tokens),
            )
            usage = self.ledger.settle(call.label, reserved, spent)
        self._learn(failure, sent, trial=trial)
        with suppress(
            PropagationError
        ):  # an answer is not lost for it: it is written down after a later call
            await self.ledger.save()
        return answered, failure, usage

    async def _chat(self, sent: dict[str, Any]) -> Came:
        body = body_of(await self._post("/chat/completions", sent), "choices")
        return Came(body, choice_of(body))

    async def _embed(self, sent: dict[str, Any]) -> Came:
        return Came(body_of(await self._post("/embeddings", sent), "data"))

    async def _post(self, path: str, sent: dict[str, Any]) -> bytes:
        """The answer's body as it came. Past the client's typed methods: they walk through all that
        is sent, and copy it. An answer may say that it was the last one for a while."""
        response = await self.client.post(path, cast_to=httpx2.Response, body=sent)
        self._pause(
            asked_pause(response.headers, 0.0), "its answer says that nothing is left of a rate"
        )
        return response.content

    @property
    def pause(self) -> str:
        """Why nothing is asked now, and for how long; "" where no longer pause was asked for."""
        reason, until = self._paused
        left = until - time.monotonic()
        return f"{reason}; asked again in {left:.0f} s" if left > 0 else ""

    def _pause(self, seconds: float, reason: str) -> None:
        if seconds and self.limiter.pause(seconds) >= PAUSE_TOLD:
            self._paused = reason, time.monotonic() + seconds
            log.warning("the endpoint is asked nothing for %.0f s: %s", seconds, reason)

    def _learn(self, failure: Failure | None, sent: Mapping[str, Any], *, trial: bool) -> None:
        if failure is None:
            self.breaker.answered()
            self.limiter.faster()
            return
        if failure.slow:
            self.limiter.slower()
        self._pause(failure.pause, failure.reason)
        if failure.counts and not (
            failure.unsaid and not self._takes_system and has_system(sent.get("messages"))
        ):
            self.breaker.failed(failure.reason, trial=trial)
        if failure.parameter and failure.parameter != "response_format":
            self._refused.add(failure.parameter)

    def _parameters(
        self,
        messages: Messages,
        call: "Call",
        response_format: Mapping[str, Any] | None,
        least_temperature: float = 0.0,
    ) -> dict[str, Any]:
        """Nothing that isn't needed, and nothing that this server refused before."""
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        sent: dict[str, Any] = {
            "model": self.options.model,
            limit: call.tokens,
            "messages": merged(messages) if SYSTEM in self._refused else list(messages),
        }
        if self.options.temperature is not None and "temperature" not in self._refused:
            sent["temperature"] = max(self.options.temperature, least_temperature)
        if response_format is not None:
            sent["response_format"] = response_format
        return sent

    def _backoff(self, attempt: int, failure: Failure) -> float:
        """Full jitter; a server that said how long is waited for by the limiter."""
        if failure.pause:
            return self._random.uniform(0, BACKOFF)
        return self._random.uniform(0, min(BACKOFF * 2**attempt, BACKOFF_LONGEST))


def _counted(came: Came, call: Call) -> tuple[int, int]:
    """(prompt, completion) tokens as the server counted them; some count nothing, then by length."""
    return (
        counted(came.body, "prompt_tokens", call.about),
        counted(came.body, "completion_tokens", tokens_in(came.said[0] or "")),
    )
