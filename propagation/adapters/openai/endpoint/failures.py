"""Classify failed calls and decide what follows: one policy for all servers."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Literal

from openai import APIConnectionError, APIStatusError, APITimeoutError

from propagation.adapters.openai.endpoint.client import NoAnswer, read_error_message

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
ADVICE = {
    401: "is the key right?",
    403: "is the key right?",
    404: "are openai.base_url and openai.model right?",
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


def classify_failure(error: Exception, parameters: Mapping[str, Any]) -> Failure:
    """Decide what follows from an error of the client.

    Args:
        parameters: The parameters that were sent.
    """
    if isinstance(error, APITimeoutError | TimeoutError):
        return Failure(
            "timed out (openai.timeout; raise it for a slow model)",
            "again",
            pause=AFTER_TIMEOUT,
            slow=True,
        )
    if isinstance(error, APIStatusError):
        return _classify_status(
            error.status_code, read_error_message(error.body), error.response.headers, parameters
        )
    if isinstance(error, NoAnswer):
        too_long = any(words in str(error).lower() for words in CONTEXT)
        return Failure(
            f"no answer: {error}"[:300],
            "never" if too_long else "again",
            counts=not too_long,
            sure=too_long,
        )
    if isinstance(error, APIConnectionError):
        reason = f"connection: {error.__cause__ or error}"
        return Failure(reason, "again", answering=BROKEN_OFF in reason)
    return Failure(f"broken answer: {type(error).__name__}: {error}"[:300], "again")


def _classify_status(
    status: int, message: str, headers: Mapping[str, str], sent: Mapping[str, Any]
) -> Failure:
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
    return Failure(reason, "never", counts=status == 501, unexplained=status in (400, 413, 422))


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
