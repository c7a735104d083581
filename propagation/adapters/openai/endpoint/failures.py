"""Classify failed calls and decide what follows: one policy for all servers."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Literal

from openai import APIConnectionError, APIStatusError, APITimeoutError

from propagation.adapters.openai.endpoint.client import NoAnswer
from propagation.adapters.openai.endpoint.error_body import is_web_page, read_error_message
from propagation.adapters.openai.options import OpenAIOptions

CONTEXT = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context",
    "context length",
    "context window",
    "too long",
)
QUESTION = ("model", "messages", "input")
LIMITS = ("max_tokens", "max_completion_tokens", "max_new_tokens", "in the completion")
TOO_MANY = re.compile(
    r"too (?:large|big|high|many)|at most|exceed|maximum|less than|<=|must be <|reduce|up to|"
    r"limit|range"
)
NOT_TAKEN = re.compile(r"not support|unsupported|unknown|unrecognized|not permitted|instead")
ROLES = re.compile(r"\broles?\b|system[ _-](?:message|prompt|instruction)")
ADVICE = {401: "is the key right?", 403: "is the key right?"}
UNKNOWN_MODEL = re.compile(
    r"model_not_found|deploymentnotfound|(?:unknown|invalid|no such|not a valid) model|"
    r"not have access to (?:the )?model|"
    r"\b(?:model|deployment)\b.{0,120}?"
    r"(?:not found|not exist|not available|not served|not loaded|not have access)",
    re.DOTALL,
)
MODEL_STATUSES, NO_SUCH_PLACE = (400, 403, 404, 422), (404, 405, 410, 501)
WRONG = {
    "address": "{base_url} answers, but is no endpoint of {kind} ({reason}): set {base_setting} to"
    " the address of an OpenAI-compatible server, which usually ends in /v1",
    "model": "{base_url} does not know the model {model} ({reason}): set {model_setting} to one"
    " that it serves",
}
SYSTEM = "system"
BROKEN_OFF = "message body"  # as httpx words it where a connection ends within a body
DURATION = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ms|[hms]?)")
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0, "ms": 0.001}
LONGEST_ASKED = 120.0
AFTER_TIMEOUT = 1.0


@dataclass(frozen=True)
class Failure:
    """A failed attempt.

    Attributes:
        then: "again": the call may be tried again; "never": this question gets no answer; "later":
            no question gets an answer now.
        pause: Seconds in which no call should begin.
        counts: Whether the circuit breaker counts the failure: the endpoint may be ill.
        parameter: The parameter that the server does not take; SYSTEM for messages of that role.
        shorter: Whether the server refuses an answer as long as was asked for.
        bound: Whether this length is a limit of the server's own, whatever the prompt.
        busy: Whether the server is only busy, which says nothing about the question.
        sure: Whether this question is certainly at fault.
        unexplained: Whether the server does not say what is wrong with the question.
        answering: Whether an answer had begun, which servers charge for.
        slow: Whether no answer came in time.
        wrong: What is probably wrong if the smallest question fails, too: the address belongs to
            another server, or this one does not have the model; "" if neither is seen.
    """

    reason: str
    then: Literal["again", "never", "later"]
    pause: float = 0.0
    counts: bool = True
    parameter: str = ""
    shorter: bool = False
    bound: bool = False
    busy: bool = False
    sure: bool = False
    unexplained: bool = False
    answering: bool = False
    slow: bool = False
    wrong: Literal["", "address", "model"] = ""

    def describe_wrong(self, options: OpenAIOptions, *, is_chat: bool) -> str:
        """Say what answered, and which setting to correct."""
        own = options.base_url == options.embeddings.base_url
        return WRONG[self.wrong].format(
            base_url=options.base_url,
            reason=self.reason,
            kind="chat completions" if is_chat else "embeddings",
            model=options.model if is_chat else options.embeddings.model,
            base_setting="openai.embeddings.base_url" if own and not is_chat else "openai.base_url",
            model_setting="openai.model" if is_chat else "openai.embeddings.model",
        )


def classify_failure(error: Exception, parameters: Mapping[str, Any]) -> Failure:
    """Decide what follows from an error of the client.

    Args:
        parameters: The parameters that were sent.
    """
    if isinstance(error, APITimeoutError | TimeoutError):
        return Failure(
            "timed out (openai.timeout; raise it for a slow model)",
            "again",
            slow=True,
        )
    if isinstance(error, APIStatusError):
        return _classify_status(error.status_code, error.body, error.response.headers, parameters)
    if isinstance(error, NoAnswer):
        too_long = any(words in str(error).lower() for words in CONTEXT)
        return Failure(
            f"no answer: {error}"[:300],
            "never" if too_long else "again",
            counts=not too_long,
            sure=too_long,
            wrong="address" if error.is_foreign and not too_long else "",
        )
    if isinstance(error, APIConnectionError):
        reason = f"connection: {error.__cause__ or error}"
        return Failure(reason, "again", answering=BROKEN_OFF in reason)
    return Failure(f"broken answer: {type(error).__name__}: {error}"[:300], "again")


def _classify_status(
    status: int, body: object, headers: Mapping[str, str], sent: Mapping[str, Any]
) -> Failure:
    message = read_error_message(body)
    reason = f"{status}: {message}" if message else str(status)
    lowered = message.lower()
    if status == 402 or (status == 429 and ("quota" in lowered or "billing" in lowered)):
        return Failure(
            f"{reason}; does the account have credit left?",
            "later",
            pause=LONGEST_ASKED,
            counts=False,
        )
    if status == 429:
        return Failure(
            reason, "again", pause=read_requested_pause(headers), counts=False, busy=True
        )
    wrong = _find_wrong_setting(status, lowered, sent, is_page=is_web_page(body))
    if status == 404 or (wrong and status == 403):
        return Failure(reason, "later", pause=AFTER_TIMEOUT, wrong=wrong)
    if status in ADVICE:
        return Failure(f"{reason}; {ADVICE[status]}", "later", pause=AFTER_TIMEOUT)
    if status in (400, 413, 422, 500):
        refused = _find_refusal(reason, lowered, sent)
        if refused is not None and (status != 500 or refused.sure or refused.parameter == SYSTEM):
            return refused
    if status in (408, 409) or (status >= 500 and status != 501):
        return Failure(
            reason, "again", pause=read_requested_pause(headers, 0.0), unexplained=status == 500
        )
    return Failure(
        reason,
        "never",
        counts=status == 501,
        unexplained=status in (400, 413, 422),
        wrong=wrong,
    )


def _find_wrong_setting(
    status: int, lowered: str, sent: Mapping[str, Any], *, is_page: bool
) -> Literal["", "address", "model"]:
    """Find the wrong setting if a server refuses every such question.

    Args:
        lowered: The message in lower case.
        is_page: Whether the error is a page for browsers. Such a 401 may come from a proxy before
            the right server, which wants a key.
    """
    name = re.escape(str(sent.get("model", "")).lower())
    if status in MODEL_STATUSES and not is_page:
        is_named = re.search(rf"(?<![\w-]){name}(?![\w-])", lowered)
        if UNKNOWN_MODEL.search(lowered) or (status == 404 and name and is_named):
            return "model"
    is_refusing_page = is_page and 400 <= status < 500 and status not in (401, 408, 409, 429)
    return "address" if status in NO_SUCH_PLACE or 300 <= status < 400 or is_refusing_page else ""


def _find_refusal(reason: str, lowered: str, sent: Mapping[str, Any]) -> Failure | None:
    """Find the part of a question that a server's error refuses.

    Args:
        reason: The status and the message.
        lowered: The message in lower case, by whose words the part is found.
        sent: The parameters that were sent.

    Returns:
        None if the message names no part.
    """
    too_long = any(words in lowered for words in CONTEXT)
    if (
        any(name in lowered for name in LIMITS)
        and TOO_MANY.search(lowered)
        and not NOT_TAKEN.search(lowered)
    ):
        return Failure(reason, "never", counts=False, shorter=True, bound=not too_long, sure=True)
    if too_long:
        return Failure(
            "the prompt is too long for the server (lower openai.context_tokens to what it "
            f"takes): {reason}",
            "never",
            counts=False,
            sure=True,
        )
    named = next((name for name in sent if name not in QUESTION and name in lowered), "")
    if not named and ROLES.search(lowered) and has_system(sent):
        named = SYSTEM
    return Failure(reason, "again", counts=False, parameter=named) if named else None


def has_system(parameters: Mapping[str, Any]) -> bool:
    """Return whether the parameters have a message of the role `system`."""
    return any(message["role"] == SYSTEM for message in parameters.get("messages", ()))


def read_requested_pause(headers: Mapping[str, str], otherwise: float = 1.0) -> float:
    """Return how many seconds the server asks us to wait.

    The server asks by Retry-After; without that header we wait until the last exhausted rate limit
    is reset. We never wait for longer than LONGEST_ASKED.

    Args:
        otherwise: The seconds if the headers ask for nothing.
    """
    if "retry-after" in headers:
        return _limit_pause(_parse_seconds(headers["retry-after"]))
    resets = [
        _parse_duration(headers[name])
        for kind in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{kind}") == "0"
        and (name := f"x-ratelimit-reset-{kind}") in headers
    ]
    return _limit_pause(max(resets, default=otherwise))


def _limit_pause(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_ASKED) if math.isfinite(seconds) else 1.0


def _parse_seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        try:
            return parsedate_to_datetime(value).timestamp() - time()
        except (TypeError, ValueError):
            return 1.0


def _parse_duration(value: str) -> float:
    """Read `250ms`, `1.5s`, `6m0s`, `1h2m3s`, or seconds."""
    return sum(float(number) * UNITS[unit] for number, unit in DURATION.findall(value))
