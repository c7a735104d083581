"""JSON as models write it, where its meaning is certain: other quotes, bare names, comments,
trailing or missing commas, Python's words, quotes inside of a text. What could be read in two ways
is a ValueError. A number that is none (infinite, NaN) is read as such: whether that is a fault
depends on who asked for it."""

import math
import re
from typing import Any

DEPTH_MAX = 40
STEPS_MAX = 20_000
CLOSING = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "`": "`"}
BLANK = re.compile(r"(?:\s++|//[^\n]*+|#[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
KEY = r"(?:\"[^\"\\{}\[\]:,\n]{1,80}\"|'[^'\\{}\[\]:,\n]{1,80}'|“[^“”\\{}\[\]:,\n]{1,80}”|`[^`\\{}\[\]:,\n]{1,80}`)"
NAMED = re.compile(rf"({KEY}|[A-Za-z_][\w-]{{0,79}}+|\d{{1,6}}+)\s*+:")
NUMBER = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?(?=\s*+(?:[,}\]]|//|#|/\*|$))")
WORD = re.compile(r"[A-Za-z_][\w-]{0,79}+(?=\s*+(?:[,}\]]|//|#|/\*))")
ENDS_MEMBER = re.compile(
    rf"\s*+(?:,?\s*+{KEY}\s*+:|,\s*+[A-Za-z_][\w-]{{0,79}}+\s*+:|,?\s*+[}}\]]|,?\s*+(?://|/\*|\#))"
)
ENDS_ENTRY = re.compile(
    r"\s*+(?:,\s*+(?:[\"'“‘`{\[\d\-\]]|(?:null|true|false|None|True|False)\b)|\]|,?\s*+(?://|/\*|#))"
)
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "undefined": None,
}
NO_NUMBER = re.compile(r"[+-]?(?:nan|inf(?:inity)?)(?=\s*+(?:[,}\]]|//|#|/\*|$))", re.IGNORECASE)
DIGITS_MAX = 18


class Lenient:
    """Reads values out of one text, in all at most STEPS_MAX of them, whatever is tried: a model
    that loops writes many."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._steps = STEPS_MAX

    def value(self, place: int, depth: int = 0) -> tuple[Any, int]:
        """The value that begins at `place`, and where it ends. Raises ValueError."""
        self._steps -= 1
        if depth > DEPTH_MAX or self._steps < 0:
            raise ValueError("nested too deeply, or too long")
        sign = self._at(place)
        if sign == "{":
            return self._object(place + 1, depth)
        if sign == "[":
            return self._list(place + 1, depth)
        if sign in CLOSING:
            return self._string(place, ENDS_MEMBER)
        return self._bare(place)

    def member(self, place: int) -> tuple[str, int] | None:
        """The name that stands at `place`, and where its value begins; None where there is none."""
        place = self._skip(place, ",")
        named = NAMED.match(self._text, place)
        if named is None:
            return None
        name = named.group(1)
        return (name[1:-1] if name[0] in CLOSING else name), self._skip(named.end())

    def _object(self, place: int, depth: int) -> tuple[dict[str, Any], int]:
        out: dict[str, Any] = {}
        while self._at(place := self._skip(place, ",")) != "}":
            named = self.member(place)
            if named is None:
                raise ValueError(f"no name at {place}")
            out[named[0]], place = self.value(named[1], depth + 1)
        return out, place + 1

    def _list(self, place: int, depth: int) -> tuple[list[Any], int]:
        out: list[Any] = []
        while self._at(place := self._skip(place, ",")) != "]":
            if self._at(place) in CLOSING:
                self._steps -= 1
                value, place = self._string(place, ENDS_ENTRY)
            else:
                value, place = self.value(place, depth + 1)
            out.append(value)
        return out, place + 1

    def _string(self, place: int, ends: "re.Pattern[str]") -> tuple[str, int]:
        """Up to the first closing quote behind which a value can end: quotes that stand inside of a
        text are its own."""
        close = CLOSING[self._text[place]]
        at = self._text.find(close, place + 1)
        while at >= 0:
            self._steps -= 1
            if self._steps < 0:
                raise ValueError("too long")
            if not self._escaped(place, at) and ends.match(self._text, at + 1):
                return _unescaped(self._text[place + 1 : at]), at + 1
            at = self._text.find(close, at + 1)
        raise ValueError("a text without an end")

    def _escaped(self, place: int, at: int) -> bool:
        """Whether an odd number of backslashes stands before the quote at `at`."""
        first = at
        while first - 1 > place and self._text[first - 1] == "\\":
            first -= 1
        return (at - first) % 2 == 1

    def _bare(self, place: int) -> tuple[Any, int]:
        number = NUMBER.match(self._text, place)
        if number is not None:
            return _number(number.group()), number.end()
        unusable = NO_NUMBER.match(self._text, place)
        if unusable is not None:
            return math.nan, unusable.end()
        word = WORD.match(self._text, place)
        if word is None:
            raise ValueError(f"no value at {place}")
        return WORDS.get(word.group().lower(), word.group()), word.end()

    def _skip(self, place: int, and_one: str = "") -> int:
        place = self._blank(place)
        return self._blank(place + 1) if and_one and self._at(place) == and_one else place

    def _blank(self, place: int) -> int:
        found = BLANK.match(self._text, place)
        assert found is not None, "nothing is blank, too"
        return found.end()

    def _at(self, place: int) -> str:
        if place >= len(self._text):
            raise ValueError("cut")
        return self._text[place]


def _number(text: str) -> int | float:
    return float(text) if set(text) & set(".eE") else whole(text)


def whole(text: str) -> int | float:
    """One with too many digits to be a number of anything is infinite."""
    return int(text) if len(text) <= DIGITS_MAX else math.inf


def _unescaped(text: str) -> str:
    plain = ESCAPE.sub(_meant, text)
    return (
        plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not plain.isascii()
        else plain
    )


def _meant(found: "re.Match[str]") -> str:
    sign = found.group(1)
    return chr(int(sign[1:], 16)) if len(sign) == 5 else ESCAPES.get(sign, sign)
