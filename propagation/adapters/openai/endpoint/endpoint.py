"""The endpoint of a language model: the only place that retries, waits and counts calls."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from propagation.adapters.openai.endpoint.budget import BudgetLedger
from propagation.adapters.openai.endpoint.circuit_breaker import CircuitBreaker
from propagation.adapters.openai.endpoint.client import (
    Completion,
    Embedding,
    Embeddings,
    ModelClient,
)
from propagation.adapters.openai.endpoint.failures import (
    SYSTEM,
    TIMED_OUT,
    Failure,
    Next,
    classify_failure,
    has_system,
    requested_pause,
)
from propagation.adapters.openai.endpoint.rate_limiter import RateLimiter
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.prompting import tokens_in
from propagation.model import (
    NO_USAGE,
    EndpointUnavailable,
    PromptCost,
    PropagationError,
    ReasonerGaveUp,
    ReasonerStopping,
    ReasonerUnavailable,
    Usage,
)

Messages = Sequence[Mapping[str, str]]
Response = Completion | Embeddings
PLAIN_TEXT = "Say OK."
PING: Messages = ({"role": "user", "content": PLAIN_TEXT},)
PING_WITH_SYSTEM: Messages = ({"role": SYSTEM, "content": "You are brief."}, *PING)
PING_TOKENS = 16  # some servers take no limit below that
BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 0.25, 20.0
LEAST_TOKENS, MOST_TOKENS = 64, 1 << 20
LOGGED_PAUSE_SECONDS = 5.0
EVERY_CALL = "and so it is with every call"
STOPPING = "the service stops; it goes on after its next start"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reply:
    """The answer to a chat; `text` is None where the server sent none."""

    text: str | None
    finish: str | None
    refusal: str | None
    usage: Usage


@dataclass(frozen=True)
class Call:
    """A call to make.

    Args:
        prompt_tokens: Estimated.
        completion_tokens: The most that the answer may have.
        parameters: Makes the parameters of the request, which depend on what the server refused.
        send: Sends them.
    """

    label: str
    prompt_tokens: int
    completion_tokens: int
    parameters: Callable[["Call"], dict[str, Any]]
    send: Callable[[dict[str, Any]], Awaitable[Response]]
    is_chat: bool = True


@dataclass(frozen=True)
class Attempt:
    """One attempt at a call: its response or its failure, and its cost."""

    response: Response | None
    failure: Failure | None
    usage: Usage


class FormatRefused(ReasonerGaveUp):
    """The server does not take the response format that was asked for."""


class CallShutdown:
    """The end of all calls when the service stops: those under way get some seconds more."""

    def __init__(self) -> None:
        self._timeouts: set[asyncio.Timeout] = set()
        self._stopping = False

    def begin(self, seconds: float) -> None:
        """Allow no new calls, and end those under way after `seconds`.

        Called again, the shorter time counts.
        """
        self._stopping = True
        deadline = asyncio.get_running_loop().time() + seconds
        for timeout in self._timeouts:
            if not timeout.expired() and (timeout.when() or deadline) >= deadline:
                timeout.reschedule(deadline)

    def check(self) -> None:
        """Raise ReasonerStopping if the service stops."""
        if self._stopping:
            raise ReasonerStopping(STOPPING)

    @asynccontextmanager
    async def allow_call(self) -> AsyncIterator[None]:
        """Surround a call with all its retries. Raises ReasonerStopping when its time is over."""
        self.check()
        timeout = asyncio.timeout(None)
        try:
            async with timeout:
                self._timeouts.add(timeout)
                try:
                    yield
                finally:
                    self._timeouts.discard(timeout)
        except TimeoutError as error:
            if timeout.expired():
                raise ReasonerStopping(STOPPING) from error
            raise


class Endpoint:
    """Chat completions and embeddings of one server. `key` is None where it wants none."""

    def __init__(self, options: OpenAIOptions, key: str | None, ledger: BudgetLedger) -> None:
        self.options = options
        self.ledger = ledger
        self.limiter = RateLimiter(
            options.in_flight, options.calls_per_minute, options.tokens_per_minute
        )
        self.breaker = CircuitBreaker()
        self.shutdown = CallShutdown()
        self._key = key
        self._client: ModelClient | None = None
        self._refused: set[str] = set()
        self._takes_system: bool | None = None
        self._role_lock = asyncio.Lock()
        self._most_tokens = MOST_TOKENS
        self._random = random.Random()
        self._pause_reason = ""
        self._paused_until = 0.0

    @property
    def client(self) -> ModelClient:
        """The client, which is built when it is first needed."""
        if self._client is None:
            self._client = ModelClient(self.options, self._key)
        return self._client

    def with_address(self, base_url: str) -> "Endpoint":
        """Return an endpoint at another address with the same options, key and budgets."""
        options = self.options.model_copy(update={"base_url": base_url})
        return Endpoint(options, self._key, self.ledger)

    async def close(self) -> None:
        """Close the connections."""
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
        """Get an answer, whatever it says.

        Args:
            tokens: The most that the answer may have.
            attempts: None: as many as the options say.

        Raises:
            ReasonerFailed: This question will not be answered. Its `usage` is what that cost.
            ReasonerUnavailable: No question is answered now.
        """
        call = Call(
            label,
            sum(tokens_in(message["content"]) + 4 for message in messages),
            min(tokens, self._most_tokens),
            lambda call: self._parameters(messages, call, response_format, least_temperature),
            self._complete,
        )
        async with self.shutdown.allow_call():
            response, usage = await self._retry(call, attempts or self.options.attempts)
        if self._takes_system is None and messages[0]["role"] == SYSTEM:
            self._takes_system = SYSTEM not in self._refused
        assert isinstance(response, Completion)
        return Reply(response.text, response.finish, response.refusal, usage)

    async def embeddings(self, model: str, texts: Sequence[str]) -> Sequence[Embedding]:
        """Get the server's embeddings, unchecked. Raises as `chat` does."""
        async with self.shutdown.allow_call():
            response, _ = await self._retry(self._embedding(model, texts), self.options.attempts)
        assert isinstance(response, Embeddings)
        return response.vectors

    @property
    def pause(self) -> str:
        """Why nothing is asked now, and for how long; "" without such a pause."""
        left = self._paused_until - time.monotonic()
        return f"{self._pause_reason}; asked again in {left:.0f} s" if left > 0 else ""

    async def _retry(self, call: Call, most_attempts: int) -> tuple[Response, Usage]:
        """Try a call until it is answered or given up. Returns the response and the whole cost."""
        usage, attempts, omitted = NO_USAGE, 0, set[str]()
        failure: Failure | None = None
        while attempts < most_attempts:
            if attempts and failure is not None:
                await asyncio.sleep(self._backoff(attempts, failure))
            attempt = await self._try(call)
            usage += attempt.usage
            if attempt.response is not None:
                return attempt.response, usage
            failure = attempt.failure
            assert failure is not None, "a response or a failure"
            if failure.parameter == "response_format":
                raise FormatRefused(failure.reason, usage)
            if failure.shorter and call.completion_tokens > LEAST_TOKENS:
                call = self._shortened(call, failure)
                continue
            if await self._roles_explain(call, failure, usage):
                continue
            if failure.then is Next.LATER:
                raise ReasonerUnavailable(failure.reason, usage)
            if failure.then is Next.NEVER:
                if failure.sure or not call.is_chat:
                    raise ReasonerGaveUp(failure.reason, usage)
                break
            if not failure.parameter or failure.parameter in omitted:
                attempts += 1  # a parameter is refused once, then omitted
            omitted.add(failure.parameter)
        assert failure is not None
        await self._check_alive(call, failure, usage)
        retried = most_attempts > 1 and failure.then is Next.AGAIN
        times = f", {most_attempts} times" if retried else ""
        raise ReasonerGaveUp(f"{failure.reason}{times}", usage)

    def _shortened(self, call: Call, failure: Failure) -> Call:
        """Ask for half as long an answer; remember the server's own limit."""
        tokens = max(call.completion_tokens // 2, LEAST_TOKENS)
        if failure.bound:
            self._most_tokens = min(self._most_tokens, tokens)
        return replace(call, completion_tokens=tokens)

    async def _roles_explain(self, call: Call, failure: Failure, usage: Usage) -> bool:
        """Find out whether a first call failed because this model takes no system messages."""
        messages = call.parameters(call).get("messages")
        if not (failure.unexplained and self._takes_system is None and has_system(messages)):
            return False
        alive = await self._detect_roles()
        if SYSTEM in self._refused:
            return True
        if not alive and failure.then is Next.NEVER:
            raise EndpointUnavailable(f"{failure.reason.rstrip('.')}, {EVERY_CALL}", usage)
        return False

    async def _detect_roles(self) -> bool:
        """Find out whether the model takes system messages; some servers do not say so.

        Returns:
            False if nothing is answered.
        """
        async with self._role_lock:
            if self._takes_system is None:
                if await self._answers(self._ping(PING_WITH_SYSTEM)):
                    self._takes_system = True
                elif await self._answers(self._ping(PING)):
                    self._takes_system = False
                    self._refused.add(SYSTEM)
            return self._takes_system is not None

    async def _check_alive(self, call: Call, failure: Failure, usage: Usage) -> None:
        """Raise EndpointUnavailable if the endpoint answers nothing at all of this kind."""
        if not failure.busy and (failure.parameter or await self._alive(call)):
            return
        raise EndpointUnavailable(f"{failure.reason.rstrip('.')}, {EVERY_CALL}", usage)

    async def _alive(self, call: Call) -> bool:
        if call.is_chat:
            return await self._answers(self._ping(PING))
        return await self._answers(self._embedding(call.parameters(call)["model"], [PLAIN_TEXT]))

    async def _answers(self, call: Call) -> bool:
        try:
            return (await self._try(call)).failure is None
        except ReasonerUnavailable:
            return False

    def _ping(self, messages: Messages) -> Call:
        return Call(
            "ping@1",
            16,
            PING_TOKENS,
            lambda call: self._parameters(messages, call, None),
            self._complete,
        )

    def _embedding(self, model: str, texts: Sequence[str]) -> Call:
        parameters = {"model": model, "input": list(texts), "encoding_format": "float"}
        tokens = sum(map(tokens_in, texts))
        return Call("embed@1", tokens, 0, lambda _: parameters, self._embed, is_chat=False)

    async def _try(self, call: Call) -> Attempt:
        """Make one attempt and count it.

        Raises:
            ReasonerUnavailable: The breaker is open, a budget is spent, or the service stops.
        """
        self.shutdown.check()
        trial = await self.breaker.admit()
        try:
            reserved = await self.ledger.reserve(call.prompt_tokens, call.completion_tokens)
        except BaseException:
            self.breaker.release(trial=trial)
            raise
        parameters = call.parameters(call)
        response: Response | None = None
        failure: Failure | None = None
        cost = PromptCost()
        try:
            async with self.limiter.slot(call.prompt_tokens + call.completion_tokens):
                self.shutdown.check()
                started = time.monotonic()
                cost = PromptCost(calls=1)
                try:
                    async with asyncio.timeout(self.options.timeout):
                        response = await call.send(parameters)
                except TimeoutError:
                    failure = TIMED_OUT
                # whatever a client makes of whatever a server sends: one policy says what to do
                except Exception as error:
                    failure = classify_failure(error, parameters)
                finally:
                    cost = self._cost(call, response, failure, time.monotonic() - started)
        finally:
            self.breaker.release(trial=trial)
            usage = self.ledger.settle(call.label, reserved, cost)
        if response is not None:
            pause = requested_pause(response.headers, 0.0)
            self._pause(pause, "its answer says that nothing is left of a rate")
        self._learn(failure, parameters, trial=trial)
        with suppress(PropagationError):  # the cost is written down after a later call, then
            await self.ledger.save()
        return Attempt(response, failure, usage)

    def _cost(
        self, call: Call, response: Response | None, failure: Failure | None, seconds: float
    ) -> PromptCost:
        """Count tokens as the server does, or by length if it does not.

        An answer that broke off counts as all that it may have cost.
        """
        prompt_tokens = completion_tokens = 0
        if response is not None:
            prompt_tokens = response.prompt_tokens or call.prompt_tokens
            completion_tokens = response.completion_tokens or tokens_in(response.text or "")
        elif failure is not None and failure.answering:
            prompt_tokens, completion_tokens = call.prompt_tokens, call.completion_tokens
        return PromptCost(
            calls=1,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            seconds=seconds,
            money=self.ledger.money(prompt_tokens, completion_tokens),
        )

    async def _complete(self, parameters: dict[str, Any]) -> Completion:
        return await self.client.complete(parameters)

    async def _embed(self, parameters: dict[str, Any]) -> Embeddings:
        return await self.client.embed(parameters)

    def _pause(self, seconds: float, reason: str) -> None:
        if seconds and self.limiter.pause(seconds) >= LOGGED_PAUSE_SECONDS:
            self._pause_reason, self._paused_until = reason, time.monotonic() + seconds
            log.warning("the endpoint is asked nothing for %.0f s: %s", seconds, reason)

    def _learn(
        self, failure: Failure | None, parameters: Mapping[str, Any], *, trial: bool
    ) -> None:
        """Adapt the breaker, the limiter and the parameters to what came of an attempt."""
        if failure is None:
            self.breaker.record_answer()
            self.limiter.restore()
            return
        if failure.slow:
            self.limiter.reduce()
        self._pause(failure.pause, failure.reason)
        roles_unknown = failure.unexplained and not self._takes_system
        if failure.counts and not (roles_unknown and has_system(parameters.get("messages"))):
            self.breaker.record_failure(failure.reason, trial=trial)
        if failure.parameter and failure.parameter != "response_format":
            self._refused.add(failure.parameter)

    def _parameters(
        self,
        messages: Messages,
        call: Call,
        response_format: Mapping[str, Any] | None,
        least_temperature: float = 0.0,
    ) -> dict[str, Any]:
        """Send nothing that is not needed, and nothing that this server refused before."""
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        sent: dict[str, Any] = {
            "model": self.options.model,
            limit: call.completion_tokens,
            "messages": _without_system(messages) if SYSTEM in self._refused else list(messages),
        }
        if self.options.temperature is not None and "temperature" not in self._refused:
            sent["temperature"] = max(self.options.temperature, least_temperature)
        if response_format is not None:
            sent["response_format"] = response_format
        return sent

    def _backoff(self, attempts: int, failure: Failure) -> float:
        """Choose the seconds before the next attempt, with full jitter.

        The limiter waits for as long as the server asked for.
        """
        if failure.pause:
            return self._random.uniform(0, BACKOFF_SECONDS)
        longest = min(BACKOFF_SECONDS * 2**attempts, LONGEST_BACKOFF_SECONDS)
        return self._random.uniform(0, longest)


def _without_system(messages: Messages) -> list[Mapping[str, str]]:
    """Put the system messages at the head of the first user message: some models know no others."""
    instructions = [message["content"] for message in messages if message["role"] == SYSTEM]
    first, *others = [message for message in messages if message["role"] != SYSTEM]
    return [{**first, "content": "\n\n".join((*instructions, first["content"]))}, *others]
