"""From what a model said to a JSON object: think texts, fences, prose around it, cut ends and refusals, each by name."""

import json
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

SAID_MAX = 200_000
MEMBERS_MAX = 200
DEPTH_MAX = 40
THOUGHT = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
REFUSES = re.compile(r"^\W*(?:i['’]?m sorry|sorry,|i am sorry|i apologi[sz]e|i can['’]?(?:no)?t\b|i cannot|i['’]?m (?:un|not )able"
                     r"|i am (?:un|not )able|i won['’]?t|as an ai)", re.IGNORECASE)
MEMBER = re.compile(r"\s*,?\s*\"((?:[^\"\\]|\\.){1,80})\"\s*:\s*")
OBJECT_MEMBER = re.compile(r"\"((?:[^\"\\]|\\.){1,80})\"\s*:\s*(?=\{)")
UNFIT = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f\ufffd]")


class Fault(StrEnum):
    """Why there is no object."""

    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    THINKING = "only thought"
    BROKEN = "broken JSON"
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
    return Said(_members(spoken[start:]), Fault.BROKEN if finish == "stop" and _closed(spoken) else Fault.TRUNCATED)


def _spoken(text: str) -> str | None:
    """Without what the model thought aloud; None where it never got further. An end without a beginning ends a thought that
    began with the text. Read once from left to right: models that loop write a tag ten thousand times."""
    kept: list[str] = []
    place, thinking = 0, False
    for tag in THOUGHT.finditer(text):
        if tag.group(1):
            if not thinking:
                kept.clear()
            thinking = False
        elif not thinking:
            kept.append(text[place : tag.start()])
            thinking = True
        place = tag.end()
    if not thinking:
        kept.append(text[place:])
    spoken = "".join(kept)
    return spoken if spoken.strip() else None


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
    return re.match(r"\{\s*\"[^\"]{1,80}\"\s*[:{\[\"\d]", text[text.find("{"):][:120]) is not None


def _closed(text: str) -> bool:
    """Whether the last thing said is the end of an object, or stands behind it: what was cut ends elsewhere."""
    return text.rfind("}") > max(text.rfind("{"), text.rfind('"'))


def _members(text: str) -> dict[str, Any]:
    """The whole members of an object that is cut or broken; behind what is broken, those that are objects."""
    out: dict[str, Any] = {}
    named = MEMBER.match(text, 1) or OBJECT_MEMBER.search(text, 1)
    for _ in range(MEMBERS_MAX):
        if named is None:
            break
        try:
            value, place = DECODER.raw_decode(text, named.end())
        except (ValueError, RecursionError):
            named = OBJECT_MEMBER.search(text, named.end())
            continue
        if place < len(text) or isinstance(value, dict | list):  # a number or word at the very end may go on
            out.setdefault(named.group(1), cleaned(value))
        named = MEMBER.match(text, place) or OBJECT_MEMBER.search(text, place)
    return out


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
