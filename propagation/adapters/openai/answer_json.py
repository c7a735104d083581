"""JSON objects in the text of a model's answer."""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from json_repair import repair_json

ANSWER_CHARS = 200_000
REPAIR_CHARS = 40_000
TRIES = 50
DEPTH = 40
LARGEST_NUMBER = 10**18
THOUGHT_TAG = re.compile(r"[<\[◁](/?)(?:think|thinking|thought|reasoning)[>\]▷]", re.IGNORECASE)
REFUSAL = re.compile(
    r"^\W*(?:i['’]?m sorry|sorry,|i am sorry|i apologi[sz]e|i can['’]?(?:no)?t\b|i cannot|"
    r"i['’]?m (?:un|not )able"
    r"|i am (?:un|not )able|i won['’]?t|as an ai)",
    re.IGNORECASE,
)
QUOTED_NAME = re.compile(r"""\{\s*["'“`]""")
TRUNCATED_FINISHES = frozenset(
    {"length", "max_tokens", "model_length", "max_length", "max_output_tokens", "incomplete"}
)
FILTERED_FINISHES = frozenset(
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
# NUL, other controls, lone surrogates and U+FFFD break stores and wires far from here.
UNUSABLE = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f\ufffd]")
NESTED_BRACES = re.compile(r"(?:\{\s*){4}")  # json_repair takes seconds for thousands of them
PUNCTUATION = re.compile(r"[\W_]+")

# Repairs of json_repair, by the beginning of its log entries. These change how a value is written
# and not what it means; an answer with any other repair is asked for again.
SAFE_REPAIRS = (
    "Converted unquoted Python",
    "Found a delimiter that was escaped",
    "Found a stray escape sequence",
    "Found a unicode escape sequence",
    "Found block comment",
    "Found line comment",
    "The parser returned early",
    "While parsing a string in Array context, we detected a quoted section",
    "While parsing a string in object value context, we found a balanced inline container",
    "While parsing a string in object value context, we found a comma that belongs to the string",
    "While parsing a string, we found a leading quote that starts a quoted span",
    "While parsing a string, we found a misplaced quote",
)
DECODER = json.JSONDecoder(strict=False)


class Fault(StrEnum):
    """Reasons why an answer has no usable object."""

    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    THINKING = "only thought"
    BROKEN = "broken JSON"
    NO_JSON = "no JSON object"


@dataclass(frozen=True)
class ParsedAnswer:
    """The JSON object of an answer, or the fault that it has.

    If the answer is truncated or broken, `value` has only those members that are complete.
    """

    value: Mapping[str, Any]
    fault: Fault | None = None


def parse_answer(
    text: str | None, finish: str | None, refusal: str | None, names: Collection[str]
) -> ParsedAnswer:
    """Find the JSON object in an answer.

    Models repeat what they were shown, and write drafts first. The object with the most expected
    names wins; on a tie, the last one.

    Args:
        finish: The server's finish reason, in its own words; None if it gave none.
        names: The member names that the answer is expected to have.
    """
    reason = (finish or "").lower()
    truncated = reason in TRUNCATED_FINISHES
    if refusal:
        return ParsedAnswer({}, Fault.REFUSED)
    if not text or not text.strip():
        fault = Fault.REFUSED if reason in FILTERED_FINISHES else Fault.EMPTY
        return ParsedAnswer({}, Fault.TRUNCATED if truncated else fault)
    spoken = _remove_thoughts(text[:ANSWER_CHARS])
    if spoken is None:
        return ParsedAnswer({}, Fault.THINKING)
    expected = {fold_member_name(name) for name in names}
    objects = list(_list_valid_objects(spoken, expected))
    if objects:
        return ParsedAnswer(clean(_choose_best_object(objects, expected)))
    if REFUSAL.match(spoken.strip()) or reason in FILTERED_FINISHES:
        return ParsedAnswer({}, Fault.REFUSED)
    start = spoken.find("{")
    if start < 0:
        return ParsedAnswer({}, Fault.TRUNCATED if truncated else Fault.NO_JSON)
    broken = spoken[start:]
    closed = not truncated and broken.rfind("}") > max(broken.rfind("{"), broken.rfind('"'))
    repaired = _repair(broken[: broken.rfind("}") + 1], expected) if closed else None
    if repaired is not None:
        return ParsedAnswer(clean(repaired))
    return ParsedAnswer(
        clean(_keep_whole_members(broken, names)), Fault.BROKEN if closed else Fault.TRUNCATED
    )


def fold_member_name(name: str) -> str:
    """Normalise a name: `Candidate 1`, `candidate-1` and `candidate_1` are the same."""
    return PUNCTUATION.sub("", name).casefold()


def find_members(value: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Find members by their names, whatever the case and punctuation.

    An exact name comes before a near one.
    """
    by_plain = {fold_member_name(name): name for name in names}
    near = {
        by_plain[fold_member_name(name)]: one
        for name, one in value.items()
        if fold_member_name(name) in by_plain
    }
    return {**near, **{name: value[name] for name in names if name in value}}


def clean(value: Any, depth: int = 0) -> Any:
    """Replace characters that break stores, and numbers that are too large.

    A number too large to be a count becomes infinity. Values nested below DEPTH become None.
    """
    if depth > DEPTH:
        return None
    if isinstance(value, str):
        return UNUSABLE.sub(" ", value)
    if isinstance(value, list):
        return [clean(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {UNUSABLE.sub(" ", str(name)): clean(one, depth + 1) for name, one in value.items()}
    return math.inf if isinstance(value, int) and abs(value) > LARGEST_NUMBER else value


def _remove_thoughts(text: str) -> str | None:
    """Cut out the text between thought tags.

    An end tag without a beginning ends a thought that began with the text.

    Returns:
        The remaining text, or None if it is blank.
    """
    spoken, *tagged = THOUGHT_TAG.split(text)
    thinking = False
    for slash, piece in zip(tagged[::2], tagged[1::2], strict=True):
        if slash and not thinking:
            spoken = ""
        thinking = not slash
        if not thinking:
            spoken += piece
    return spoken if spoken.strip() else None


def _list_valid_objects(text: str, expected: Collection[str]) -> Iterator[dict[str, Any]]:
    """Find valid objects that are not part of another object.

    After the beginning of a broken object, only objects with expected names count: any other is a
    piece of the broken one.
    """
    inside_broken = False
    place = text.find("{")
    for _ in range(TRIES):
        if place < 0:
            return
        try:
            value, end = DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            inside_broken = inside_broken or QUOTED_NAME.match(text, place) is not None
            end = place + 1
        else:
            if not inside_broken or _count_expected(value, expected):
                yield value
        place = text.find("{", end)


def _count_expected(value: Mapping[str, Any], expected: Collection[str]) -> int:
    return sum(fold_member_name(name) in expected for name in value)


def _choose_best_object(
    objects: Sequence[dict[str, Any]], expected: Collection[str]
) -> dict[str, Any]:
    """Choose the object with the most of the expected names.

    Of equals, the last one is chosen.
    """
    return max(reversed(objects), key=lambda one: _count_expected(one, expected))


def _repair(text: str, expected: Collection[str]) -> dict[str, Any] | None:
    """Repair broken JSON if that changes only how it is written.

    Returns:
        The best object of the repaired text, or None if there is none or the repairs change more.
    """
    if len(text) > REPAIR_CHARS or NESTED_BRACES.search(text):
        return None
    try:
        value, log = repair_json(text, logging=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    objects = [
        one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)
    ]
    if not objects or not all(entry["text"].startswith(SAFE_REPAIRS) for entry in log):
        return None
    return _choose_best_object(objects, expected)


def _keep_whole_members(text: str, names: Collection[str]) -> dict[str, Any]:
    """Read the complete members of a broken object.

    Only members that are objects or lists are read: the end of any other value is uncertain.
    """
    members: dict[str, Any] = {}
    for name in names:
        found = re.search(rf'"{re.escape(name)}"\s*:\s*(?=[{{\[])', text)
        if found:
            with suppress(ValueError, RecursionError):
                members[name], _ = DECODER.raw_decode(text, found.end())
    return members
