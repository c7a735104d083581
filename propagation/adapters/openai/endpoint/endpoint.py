"""The endpoint of a language model.

No other module retries, delays or counts calls.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from propagation.adapters.openai.endpoint.budget import BudgetLedger
from propagation.adapters.openai.endpoint.call_limits import (
    CallShutdown,
    CircuitBreaker,
    RateLimiter,
)
from propagation.adapters.openai.endpoint.call_queue import WaitingCall
from propagation.adapters.openai.endpoint.client import ModelClient, Response
from propagation.adapters.openai.endpoint.failures import (
    AFTER_TIMEOUT,
    SYSTEM,
    Failure,
    classify_failure,
    has_system,
    read_requested_pause,
)
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.prompting import count_tokens_in
from propagation.model import (
    NO_USAGE,
    EndpointUnavailable,
    Expenses,
    PromptCost,
    PropagationError,
    ReasonerGaveUp,
    ReasonerUnavailable,
    Usage,
    WrongEndpoint,
)
from propagation.ports import GraphStore

Messages = Sequence[Mapping[str, str]]
PLAIN_TEXT = "Say OK."
PING: Messages = ({"role": "user", "content": PLAIN_TEXT},)
PING_WITH_SYSTEM: Messages = ({"role": SYSTEM, "content": "You are brief."}, *PING)
PING_TOKENS = 16  # some servers take no limit below that
BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 0.25, 20.0
LEAST_TOKENS, MOST_TOKENS = 64, 1 << 20
LOGGED_PAUSE_SECONDS = 5.0
EVERY_CALL = "every call to the endpoint fails now"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Call:
    """A call to make.

    Args:
        prompt_tokens: The estimated tokens of the prompt.
        completion_tokens: The most tokens that the answer may have.
        parameters: Builds the parameters of the request, without those that the server refused.
        send: Sends a request with these parameters.
    """

    label: str
    prompt_tokens: int
    completion_tokens: int
    parameters: Callable[["Call"], dict[str, Any]]
    send: Callable[[dict[str, Any]], Awaitable[Response]]
    is_chat: bool = True


class FormatRefused(ReasonerGaveUp):
    """The server does not take the response format that was asked for."""


class Endpoint:
    """Chat completions and embeddings of one server.

    Args:
        key: The server's key, or None if it wants none.
    """

    def __init__(self, options: OpenAIOptions, key: str | None, ledger: BudgetLedger) -> None:
        self.options = options
        self.ledger = ledger
        self.limiter = RateLimiter(
            options.in_flight, options.calls_per_minute, options.tokens_per_minute
        )
        self.breaker = CircuitBreaker()
        self.shutdown = CallShutdown()
        self.key = key
        self.client = ModelClient(options, key)
        self._refused_parameters: set[str] = set()
        self._takes_system_messages = False  # until a system message is answered
        self._role_lock = asyncio.Lock()
        self._most_tokens = MOST_TOKENS
        self._pause_reason = ""
        self._paused_until = 0.0

    async def chat(
        self,
        label: str,
        messages: Messages,
        tokens: int,
        response_format: Mapping[str, Any] | None = None,
        attempts: int | None = None,
        least_temperature: float = 0.0,
    ) -> Response:
        """Get an answer, whatever it says.

        Args:
            tokens: The most tokens that the answer may have.
            response_format: None: any text will do.
            attempts: None: as many as the options say.
            least_temperature: Raises a lower temperature of the options.

        Raises:
            FormatRefused: The server does not take the response format.
            ReasonerGaveUp: This question will not be answered. The error has the usage.
            ReasonerUnavailable: The endpoint answers no call now.
        """
        call = Call(
            label,
            sum(count_tokens_in(message["content"]) + 4 for message in messages),
            min(tokens, self._most_tokens),
            lambda call: self._build_parameters(messages, call, response_format, least_temperature),
            self.client.complete,
        )
        async with self.shutdown.allow_call():
            return await self._retry(call, attempts or self.options.attempts)

    async def embeddings(self, texts: Sequence[str]) -> Response:
        """Get the server's embeddings, unchecked.

        Raises:
            ReasonerGaveUp: These texts will not be embedded. The error has the usage.
            ReasonerUnavailable: The endpoint answers no call now.
        """
        async with self.shutdown.allow_call():
            return await self._retry(self._build_embedding_call(texts), self.options.attempts)

    @property
    def pause(self) -> str:
        """The reason and the rest of the present pause; "" without one.

        Pauses of less than LOGGED_PAUSE_SECONDS do not count.
        """
        seconds = self._paused_until - time.monotonic()
        return f"{self._pause_reason}; the next call is in {seconds:.0f} s" if seconds > 0 else ""

    async def _retry(self, call: Call, most_attempts: int) -> Response:
        """Try a call until it is answered or given up."""
        usage, attempts, omitted = NO_USAGE, 0, set[str]()
        while True:
            outcome, spent = await self._try(call)
            usage += spent
            if not isinstance(outcome, Failure):
                return replace(outcome, usage=usage)
            if outcome.parameter == "response_format":
                raise FormatRefused(outcome.reason, usage)
            if outcome.shorter and call.completion_tokens > LEAST_TOKENS:
                tokens = max(call.completion_tokens // 2, LEAST_TOKENS)
                if outcome.bound:  # a limit of the server's own
                    self._most_tokens = min(self._most_tokens, tokens)
                call = replace(call, completion_tokens=tokens)
                continue
            if await self._do_roles_explain(call, outcome, usage):
                continue
            if outcome.then == "later":
                self._raise_if_wrong(outcome, call, usage)
                raise ReasonerUnavailable(outcome.reason, usage)
            if outcome.then == "never" and (outcome.sure or not call.is_chat):
                raise ReasonerGaveUp(outcome.reason, usage)
            if not outcome.parameter or outcome.parameter in omitted:
                attempts += 1  # a parameter is refused once, then omitted
            omitted.add(outcome.parameter)
            if outcome.then == "never" or attempts == most_attempts:
                break
            if attempts:  # full jitter; the limiter waits for as long as the server asked
                longest = min(BACKOFF_SECONDS * 2**attempts, LONGEST_BACKOFF_SECONDS)
                seconds = BACKOFF_SECONDS if outcome.pause else longest
                await asyncio.sleep(random.uniform(0, seconds))
        if outcome.busy or not (outcome.parameter or await self._is_alive(call)):
            self._raise_if_wrong(outcome, call, usage)
            raise EndpointUnavailable(f"{outcome.reason.rstrip('.')}; {EVERY_CALL}", usage)
        retried = most_attempts > 1 and outcome.then == "again"
        times = f", {most_attempts} times" if retried else ""
        raise ReasonerGaveUp(f"{outcome.reason}{times}", usage)

    async def _do_roles_explain(self, call: Call, failure: Failure, usage: Usage) -> bool:
        """Find out whether a call failed because of its system messages.

        Some servers do not say so. While it is unknown whether the model takes system messages, a
        small question is asked with such a message and, if that fails, without one. If neither is
        answered, it stays unknown.

        Returns:
            Whether the server refuses system messages, so that the call is tried without them.

        Raises:
            EndpointUnavailable: The failure is final, and its cause stays unknown.
            WrongEndpoint: The failure is final, and a setting explains it.
        """
        if not (failure.unexplained and has_system(call.parameters(call))):
            return False
        async with self._role_lock:
            if self._roles_unknown:
                await self._does_answer(self._ping(PING_WITH_SYSTEM))
            if self._roles_unknown and await self._does_answer(self._ping(PING)):
                self._refused_parameters.add(SYSTEM)
        if self._roles_unknown and failure.then == "never":
            self._raise_if_wrong(failure, call, usage)
            raise EndpointUnavailable(f"{failure.reason.rstrip('.')}; {EVERY_CALL}", usage)
        return SYSTEM in self._refused_parameters

    def _raise_if_wrong(self, failure: Failure, call: Call, usage: Usage) -> None:
        """Raise WrongEndpoint if a failure shows which setting is wrong."""
        if failure.wrong:
            raise WrongEndpoint(failure.describe_wrong(self.options, is_chat=call.is_chat), usage)

    @property
    def _roles_unknown(self) -> bool:
        """Whether it is still unknown if the model takes system messages."""
        return not self._takes_system_messages and SYSTEM not in self._refused_parameters

    async def _is_alive(self, call: Call) -> bool:
        """Find out whether the endpoint answers the smallest call of this kind."""
        smallest = self._ping(PING) if call.is_chat else self._build_embedding_call([PLAIN_TEXT])
        return await self._does_answer(smallest)

    async def _does_answer(self, call: Call) -> bool:
        try:
            outcome, _ = await self._try(call)
        except ReasonerUnavailable:
            return False
        return not isinstance(outcome, Failure)

    def _ping(self, messages: Messages) -> Call:
        return Call(
            "ping@1",
            16,
            PING_TOKENS,
            lambda call: self._build_parameters(messages, call, None),
            self.client.complete,
        )

    def _build_embedding_call(self, texts: Sequence[str]) -> Call:
        parameters = {
            "model": self.options.embeddings.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        return Call(
            "embed@1",
            sum(map(count_tokens_in, texts)),
            0,
            lambda _: parameters,
            self.client.embed,
            is_chat=False,
        )

    async def _try(self, call: Call) -> tuple[Response | Failure, Usage]:
        """Make one attempt and count it.

        Returns:
            The response or the failure, and the usage of the attempt.

        Raises:
            ReasonerUnavailable: The breaker is open, a budget is spent, or the service stops.
        """
        self.shutdown.check()
        trial = await self.breaker.admit()
        try:
            reserved = await self.ledger.reserve(call.prompt_tokens, call.completion_tokens)
            parameters = call.parameters(call)
            outcome: Response | Failure | None = None
            cost = PromptCost()
            try:
                async with self.limiter.slot(call.prompt_tokens + call.completion_tokens) as slot:
                    self.shutdown.check()
                    started = time.monotonic()
                    try:
                        outcome = await self._send(call, parameters)
                    finally:
                        cost = self._compute_cost(call, outcome, time.monotonic() - started)
                    self._adapt_limits(slot, outcome)
            finally:
                usage = self.ledger.settle(call.label, reserved, cost)
        finally:
            self.breaker.release(trial=trial)
        self._learn(outcome, parameters)
        with suppress(PropagationError):  # if this fails, a later call saves the cost
            await self.ledger.save()
        return outcome, usage

    async def _send(self, call: Call, parameters: dict[str, Any]) -> Response | Failure:
        try:
            async with asyncio.timeout(self.options.timeout):
                return await call.send(parameters)
        # The client raises many errors on bad answers, and one policy covers them all.
        except Exception as error:
            return classify_failure(error, parameters)

    def _compute_cost(
        self, call: Call, outcome: Response | Failure | None, seconds: float
    ) -> PromptCost:
        """Compute the cost of a call.

        The server's counts of tokens are used, or estimates by length if it sends none. An answer
        that broke off counts with the most that it may have cost.
        """
        prompt_tokens = completion_tokens = 0
        if isinstance(outcome, Failure):
            if outcome.answering:
                prompt_tokens, completion_tokens = call.prompt_tokens, call.completion_tokens
        elif outcome is not None:
            prompt_tokens = outcome.prompt_tokens or call.prompt_tokens
            completion_tokens = outcome.completion_tokens or count_tokens_in(outcome.text or "")
        return PromptCost(
            calls=1,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            seconds=seconds,
            money=self.ledger.money(prompt_tokens, completion_tokens),
        )

    def _pause(self, seconds: float, reason: str) -> None:
        if seconds and self.limiter.pause(seconds) >= LOGGED_PAUSE_SECONDS:
            self._pause_reason, self._paused_until = reason, time.monotonic() + seconds
            log.warning("no calls to the endpoint for %.0f s: %s", seconds, reason)

    def _adapt_limits(self, slot: WaitingCall, outcome: Response | Failure) -> None:
        """Adapt how many calls may be in flight to an attempt's outcome.

        If the server seems overloaded, the next calls wait a moment: it may still work on this one.
        """
        if not isinstance(outcome, Failure):
            self.limiter.note_answer(slot)
        elif outcome.slow and self.limiter.note_timeout(slot):
            self._pause(AFTER_TIMEOUT, outcome.reason)

    def _learn(self, outcome: Response | Failure, parameters: Mapping[str, Any]) -> None:
        """Adapt the breaker, the pauses and the parameters to an attempt's outcome."""
        if not isinstance(outcome, Failure):
            self._pause(
                read_requested_pause(outcome.headers, 0.0),
                "its answer says that a rate limit is used up",
            )
            self._takes_system_messages = self._takes_system_messages or has_system(parameters)
            self.breaker.record_answer()
            return
        self._pause(outcome.pause, outcome.reason)
        may_refuse_system = outcome.unexplained and not self._takes_system_messages
        if outcome.counts and not (may_refuse_system and has_system(parameters)):
            self.breaker.record_failure(outcome.reason)
        if outcome.parameter and outcome.parameter != "response_format":
            self._refused_parameters.add(outcome.parameter)

    def _build_parameters(
        self,
        messages: Messages,
        call: Call,
        response_format: Mapping[str, Any] | None,
        least_temperature: float = 0.0,
    ) -> dict[str, Any]:
        """Return the parameters of a chat completion.

        A parameter is left out if it is not needed, or if this server refused it before.
        """
        limit = (
            "max_completion_tokens" if "max_tokens" in self._refused_parameters else "max_tokens"
        )
        sent: dict[str, Any] = {
            "model": self.options.model,
            limit: call.completion_tokens,
            "messages": _remove_system_message(messages)
            if SYSTEM in self._refused_parameters
            else list(messages),
        }
        if self.options.temperature is not None and "temperature" not in self._refused_parameters:
            sent["temperature"] = max(self.options.temperature, least_temperature)
        if response_format is not None:
            sent["response_format"] = response_format
        return sent


def _remove_system_message(messages: Messages) -> list[Mapping[str, str]]:
    """Put the system messages at the head of the first user message.

    Some models take no system messages.
    """
    instructions = [message["content"] for message in messages if message["role"] == SYSTEM]
    first, *others = [message for message in messages if message["role"] != SYSTEM]
    return [{**first, "content": "\n\n".join((*instructions, first["content"]))}, *others]


class EndpointAdapter:
    """Base class of ports on an endpoint: name, costs and shutdown."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.endpoint = endpoint
        self.name = self.predictor = self.router_writer = f"openai:{model}"

    @property
    def expenses(self) -> Expenses:
        return self.endpoint.ledger.expenses

    def keep_for(self, interactions: int) -> None:
        self.endpoint.limiter.keep_for(interactions)

    def stop_within(self, seconds: float) -> None:
        self.endpoint.shutdown.begin(seconds)

    async def close(self) -> None:
        """Close the connections and write down what was spent."""
        await self.endpoint.client.close()
        await self.endpoint.ledger.save(closing=True)


def create_openai_endpoint(
    options: OpenAIOptions, key: str | None, store: GraphStore, holder: str
) -> Endpoint:
    """Build the endpoint; `store` keeps the budgets, `holder` names this process."""
    return Endpoint(options, key, BudgetLedger(store, options, holder))
