"""From what a model said to a JSON object: think texts, fences, prose around it, cut ends and
refusals, each by name."""

import html
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from propagation.adapters.openai.parsing.lenient_json import DEPTH_MAX, KEY, Lenient, whole

SAID_MAX = 200_000
MEMBERS_MAX = 200
TRIES_MAX = 50
THOUGHT = re.compile(r"[<\[◁](/?)(?:think|thinking|thought|reasoning)[>\]▷]", re.IGNORECASE)
REFUSES = re.compile(
    r"^\W*(?:i['’]?m sorry|sorry,|i am sorry|i apologi[sz]e|i can['’]?(?:no)?t\b|i cannot|i['’]?m (?:un|not )able"
    r"|i am (?:un|not )able|i won['’]?t|as an ai)",
    re.IGNORECASE,
)
OBJECT_MEMBER = re.compile(rf"({KEY})\s*+:\s*+(?=\{{)")
MEMBERS_ALONE = re.compile(rf"\s*+{KEY}\s*+:\s*+\{{")
OPENS_ANSWER = re.compile(rf"\{{\s*+{KEY}\s*+[:{{\[\"\d]")
CUT = frozenset(
    {"length", "max_tokens", "model_length", "max_length", "max_output_tokens", "incomplete"}
)
FILTERED = frozenset(
    {
        "content_filter",
        "safety",
        "refusal",
        "blocklist",
        "prohibited_content",
        "recitation",
        "sensitive",
    }
)
UNFIT = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f\ufffd]")
PLAIN = re.compile(r"[\W_]+")


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
    """What was found: an object (of a cut answer, its whole members), and a fault where there is
    one."""

    value: dict[str, Any]
    fault: Fault | None = None


def read(
    text: str | None, finish: str | None, refusal: str | None, names: Collection[str] = ()
) -> Said:
    """The object in an answer that holds the most of `names`, the last of equals: models repeat
    what they were shown and draft before they answer. `finish`: why the model ended, in whatever
    words; None where nobody said."""
    ended = (finish or "").lower()
    if refusal:
        return Said({}, Fault.REFUSED)
    if not text or not text.strip():
        return Said(
            {},
            Fault.TRUNCATED
            if ended in CUT
            else Fault.REFUSED
            if ended in FILTERED
            else Fault.EMPTY,
        )
    spoken = _spoken(text[:SAID_MAX])
    if spoken is None:
        return Said({}, Fault.THINKING)
    spoken = _as_object(spoken)
    wanted = {plain(name) for name in names}
    lenient = Lenient(spoken)
    found = _objects_in(spoken, lenient, wanted)
    if found:
        return Said(cleaned(_answer_of(found, wanted)))
    if REFUSES.match(spoken.strip()) or ended in FILTERED:
        return Said({}, Fault.REFUSED)
    start = spoken.find("{")
    if start < 0:
        return Said({}, Fault.TRUNCATED if ended in CUT else Fault.NO_JSON)
    return Said(
        _members(spoken, start + 1, lenient),
        Fault.BROKEN if ended == "stop" and _closed(spoken) else Fault.TRUNCATED,
    )


def plain(name: str) -> str:
    """A name without case and signs: `Candidate 1`, `candidate-1` and `candidate_1` are one."""
    return PLAIN.sub("", name).casefold()


def decoded(text: str) -> Any:
    """The JSON value that a text is as a whole, strictly or leniently. Raises ValueError."""
    stripped = text.strip()
    value, end = _value(stripped, 0, Lenient(stripped))
    if end != len(stripped):
        raise ValueError(f"more stands behind the value: {stripped[end:][:20]!r}")
    return value


def _spoken(text: str) -> str | None:
    """Without what the model thought aloud; None where it never got further. An end without a
    beginning ends a thought that began with the text. Read once from left to right: models that
    loop write a tag ten thousand times."""
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


def _as_object(text: str) -> str:
    """Where the marks of an object are there, but written for something else: as HTML, escaped once
    more, or without the brackets around its members."""
    if "&quot;" in text and '"' not in text:
        text = html.unescape(text)
    if '{\\"' in text and '{"' not in text:
        text = text.replace('\\"', '"').replace("\\\\", "\\")
    return f"{{{text}}}" if MEMBERS_ALONE.match(text) else text


def _objects_in(text: str, lenient: Lenient, wanted: Collection[str]) -> list[dict[str, Any]]:
    """The whole objects that are no part of another. Where the answer itself is cut or broken, what
    stands inside is only a piece of it, unless it holds what is wanted."""
    quoted = _quoted(text)
    if quoted is not None:
        return quoted
    out: list[dict[str, Any]] = []
    pieces = False
    place = text.find("{")
    for _ in range(TRIES_MAX):
        if place < 0:
            break
        try:
            value, end = _value(text, place, lenient)
        except (ValueError, RecursionError):
            pieces = pieces or (not out and OPENS_ANSWER.match(text, place) is not None)
            place = text.find("{", place + 1)
            continue
        if not pieces or _holds(value, wanted):
            out.append(value)
        place = text.find("{", end)
    return out


def _quoted(text: str) -> list[dict[str, Any]] | None:
    """An answer that is a JSON text which holds JSON."""
    if not text.lstrip().startswith('"{'):
        return None
    try:
        inner = decoded(json.loads(text, strict=False))
    except (ValueError, TypeError, RecursionError):
        return None
    return [inner] if isinstance(inner, dict) else None


def _value(text: str, place: int, lenient: Lenient) -> tuple[Any, int]:
    try:
        return DECODER.raw_decode(text, place)
    except ValueError:
        return lenient.value(place)


def _holds(value: dict[str, Any], wanted: Collection[str]) -> int:
    return sum(plain(name) in wanted for name in value)


def _answer_of(found: Sequence[dict[str, Any]], wanted: Collection[str]) -> dict[str, Any]:
    """One object, or one made of all that hold nothing but what is wanted: some models write an
    object a part."""
    together: dict[str, Any] = {}
    for one in found:
        if one and _holds(one, wanted) == len(one):
            together.update(one)
    best = max(
        enumerate(found),
        key=lambda of: (_holds(of[1], wanted), of[0] if wanted else len(str(of[1]))),
    )[1]
    return together if _holds(together, wanted) > _holds(best, wanted) else best


def _closed(text: str) -> bool:
    """Whether the last thing said is the end of an object, or stands behind it: what was cut ends
    elsewhere."""
    return text.rfind("}") > max(text.rfind("{"), text.rfind('"'))


def _members(text: str, place: int, lenient: Lenient) -> dict[str, Any]:
    """The whole members of an object that is cut or broken; behind what is broken, those that are
    objects."""
    out: dict[str, Any] = {}
    for _ in range(MEMBERS_MAX):
        named = _member(text, place, lenient)
        if named is None:
            break
        name, place = named
        try:
            value, end = _value(text, place, lenient)
        except (ValueError, RecursionError):
            found = OBJECT_MEMBER.search(text, place)
            if found is None:
                break
            place = found.start()
            continue
        place = end
        if place < len(text) or isinstance(
            value, dict | list
        ):  # a number or word at the very end may go on
            out.setdefault(name, cleaned(value))
    return out


def _member(text: str, place: int, lenient: Lenient) -> tuple[str, int] | None:
    """The next name, and where its value begins."""
    try:
        named = lenient.member(place)
    except ValueError:
        return None
    if named is None and (found := OBJECT_MEMBER.search(text, place)):
        return found.group(1)[1:-1], found.end()
    return named


DECODER = json.JSONDecoder(strict=False, parse_int=whole)


def cleaned(value: Any, depth: int = 0) -> Any:
    """Without what breaks stores and wires far from here: NUL and other controls, lone surrogates,
    U+FFFD."""
    if depth > DEPTH_MAX:
        return None
    if isinstance(value, str):
        return UNFIT.sub(" ", value)
    if isinstance(value, list):
        return [cleaned(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {UNFIT.sub(" ", str(name)): cleaned(one, depth + 1) for name, one in value.items()}
    return value
