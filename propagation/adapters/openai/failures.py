"""What went wrong with a call, and what to do about it: a server's habits differ (one policy, here)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from time import time

from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError

from propagation.adapters.openai.wire import NoAnswer, said_in

CONTEXT = ("context_length_exceeded", "exceed_context_size", "maximum context", "context length", "context window", "too long")
QUESTION = ("model", "messages", "input")
LONGEST_ASKED = 120.0
AFTER_TIMEOUT = 1.0


class Next(Enum):
    """AGAIN: try again · NEVER: this question will not be answered · LATER: no question is answered now."""

    AGAIN = auto()
    NEVER = auto()
    LATER = auto()


@dataclass(frozen=True)
class Failure:
    """`pause`: seconds in which no call should begin. `counts`: whether it says that the endpoint is ill. `parameter`: one of
    ours that the server does not take. `busy`: it says nothing of the question, however often it comes. `answering`: an answer was
    under way, which servers charge for."""

    reason: str
    then: Next
    pause: float = 0.0
    counts: bool = True
    parameter: str = ""
    busy: bool = False
    answering: bool = False


def failure_of(error: Exception, sent: Mapping[str, object]) -> Failure:
    """How to take an error of the client. `sent`: the parameters of the call."""
    if isinstance(error, APITimeoutError):
        return Failure("timed out", Next.AGAIN, pause=AFTER_TIMEOUT)
    if isinstance(error, APIStatusError):
        return _of_status(error.status_code, said_in(error.body), error.response.headers, sent)
    if isinstance(error, NoAnswer):
        if error.status:
            return _of_status(error.status, str(error), {}, sent)
        too_long = any(words in str(error).lower() for words in CONTEXT)
        return Failure(f"no answer: {error}"[:300], Next.NEVER if too_long else Next.AGAIN, counts=not too_long,
                       answering=error.cut)
    if isinstance(error, APIConnectionError):
        return Failure(f"connection: {error.__cause__ or error}", Next.AGAIN)
    if isinstance(error, OpenAIError):
        return Failure(f"client: {error}", Next.AGAIN)
    return Failure(f"broken answer: {type(error).__name__}: {error}"[:300], Next.AGAIN)


def _of_status(status: int, said: str, headers: Mapping[str, str], sent: Mapping[str, object]) -> Failure:
    reason = f"{status}: {said}" if said else str(status)
    lowered = said.lower()
    if status == 429:
        if "quota" in lowered or "billing" in lowered:
            return Failure(reason, Next.LATER, pause=LONGEST_ASKED, counts=False)
        return Failure(reason, Next.AGAIN, pause=asked_pause(headers), counts=False, busy=True)
    if status in (401, 403):
        return Failure(f"{reason}; is the key right?", Next.LATER, pause=AFTER_TIMEOUT)
    if status == 404:
        return Failure(f"{reason}; is the model's name right?", Next.LATER, pause=AFTER_TIMEOUT)
    if status in (400, 413, 422) or status == 500:
        if any(words in lowered for words in CONTEXT):
            return Failure(f"the prompt is too long for the server: {said}", Next.NEVER, counts=False)
        named = next((name for name in sent if name not in QUESTION and name in lowered), "")
        if status != 500:
            return Failure(reason, Next.AGAIN if named else Next.NEVER, counts=False, parameter=named)
    if status == 501:
        return Failure(reason, Next.NEVER)
    if status >= 500 or status in (408, 409):
        return Failure(reason, Next.AGAIN, pause=asked_pause(headers, 0.0))
    return Failure(reason, Next.NEVER, counts=False)


def asked_pause(headers: Mapping[str, str], otherwise: float = 1.0) -> float:
    """Seconds that Retry-After (milliseconds, seconds or a date) or a rate header asks for."""
    if milliseconds := _number(headers.get("retry-after-ms", "").strip()):
        return _bounded(milliseconds / 1_000)
    value = headers.get("retry-after")
    if value:
        return _bounded(_seconds(value))
    resets = [_duration(headers[name]) for kind in ("requests", "tokens") if headers.get(f"x-ratelimit-remaining-{kind}") == "0"
              and (name := f"x-ratelimit-reset-{kind}") in headers]
    return _bounded(max(resets, default=otherwise))


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_ASKED) if math.isfinite(seconds) else 1.0


def _seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        try:
            return parsedate_to_datetime(value).timestamp() - time()
        except (TypeError, ValueError):
            return 1.0


def _duration(value: str) -> float:
    """`250ms`, `1.5s`, `6m0s`, `1h2m3s`, or seconds."""
    total, number = 0.0, ""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0}
    text = value.strip().replace("ms", "u")
    for sign in text:
        if sign in "0123456789.":
            number += sign
        elif number:
            total += _number(number) * (0.001 if sign == "u" else units.get(sign, 1.0))
            number = ""
    return total + _number(number)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
