"""From what a model said to a JSON object: think texts, fences, prose around it, cut ends and refusals, each by name."""

import json
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

SAID_MAX = 200_000
DEPTH_MAX = 40
THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
THOUGHT_START = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
REFUSES = re.compile(r"^\W*(?:i['’]?m sorry|sorry,|i am sorry|i apologi[sz]e|i can['’]?(?:no)?t\b|i cannot|i['’]?m (?:un|not )able"
                     r"|i am (?:un|not )able|i won['’]?t|as an ai)", re.IGNORECASE)
UNFIT = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f\ufffd]")


class Fault(StrEnum):
    """Why there is no object."""

    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    THINKING = "only thought"
    NO_JSON = "no JSON object"


@dataclass(frozen=True)
class Said:
    """What was found: an object (of a cut answer, its whole members), and a fault where there is one."""

    value: dict[str, Any]
    fault: Fault | None = None


def read(text: str | None, finish: str | None, refusal: str | None) -> Said:
    """The object in an answer. `finish` may be None; `length` means that it was cut."""
    if refusal:
        return Said({}, Fault.REFUSED)
    if not text or not text.strip():
        return Said({}, Fault.TRUNCATED if finish == "length" else Fault.EMPTY)
    text = text[:SAID_MAX]
    spoken = _spoken(text)
    if spoken is None:
        return Said({}, Fault.THINKING)
    found = _object_in(spoken)
    if found is not None:
        return Said(found)
    if REFUSES.match(spoken.strip()) or finish == "content_filter":
        return Said({}, Fault.REFUSED)
    start = spoken.find("{")
    if start < 0:
        return Said({}, Fault.TRUNCATED if finish == "length" else Fault.NO_JSON)
    return Said(_members(spoken[start:]), Fault.TRUNCATED)


def _spoken(text: str) -> str | None:
    """Without what the model thought aloud; None where it never got further."""
    text = THOUGHT.sub("", text)
    ends = list(THOUGHT_END.finditer(text))
    if ends:
        text = text[ends[-1].end():]
    begun = THOUGHT_START.search(text)
    if begun:
        text = text[: begun.start()]
    return text if text.strip() else None


def _object_in(text: str) -> dict[str, Any] | None:
    """The largest whole object: prose may hold braces of its own."""
    best: dict[str, Any] | None = None
    size, place = 0, text.find("{")
    tries = 0
    while place >= 0 and tries < 50:
        tries += 1
        try:
            value, end = DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
            if best is None and tries == 1 and _opens_answer(text):
                return None  # the answer itself is cut or broken: what stands inside is only a piece of it
            continue
        if isinstance(value, dict) and end - place > size:
            best, size = value, end - place
        place = text.find("{", end)
    return cleaned(best) if best is not None else None


def _opens_answer(text: str) -> bool:
    """Whether the first brace opens an object with a named member, as an answer does and prose hardly ever."""
    return re.match(r"\{\s*\"[^\"]{1,80}\"\s*:", text[text.find("{"):][:120]) is not None


def _members(text: str) -> dict[str, Any]:
    """The whole members at the beginning of an object that is cut or broken."""
    out: dict[str, Any] = {}
    place = 1
    while True:
        named = re.compile(r"\s*,?\s*\"((?:[^\"\\]|\\.)*)\"\s*:\s*").match(text, place)
        if not named:
            return out
        try:
            value, place = DECODER.raw_decode(text, named.end())
        except (ValueError, RecursionError):
            return out
        if place >= len(text) and not isinstance(value, dict | list):
            return out  # a number or word at the very end may go on
        out[named.group(1)] = cleaned(value)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value


def _integer(text: str) -> int:
    if len(text) > 18:
        raise ValueError("a number with too many digits")
    return int(text)


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


DECODER = json.JSONDecoder(strict=False, parse_float=_number, parse_int=_integer, parse_constant=_constant)


def cleaned(value: Any, depth: int = 0) -> Any:
    """Without what breaks stores and wires far from here: NUL and other controls, lone surrogates, U+FFFD."""
    if depth > DEPTH_MAX:
        return None
    if isinstance(value, str):
        return UNFIT.sub(" ", value)
    if isinstance(value, list):
        return [cleaned(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {UNFIT.sub(" ", str(name)): cleaned(one, depth + 1) for name, one in value.items()}
    return value
