"""Finds texts and names of a model that say nothing.

Small models loop, repeat their instructions, and give letters, digits or names of fields as
attributes.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

WORD = re.compile(r"\w+")
LETTERS_AT_LEAST = 3
ECHO_WORDS, WHOLE_ECHO_WORDS = 6, 3
"""So many words in a row are an echo: inside a text, and if they are the whole text."""
LOOPS = {1: 4, 2: 3, 3: 3, 4: 3, 5: 3, 6: 3, 7: 3, 8: 3}
"""By a number of words, how many times they must follow each other to be a loop."""
LOOP_OF_CHARACTERS = re.compile(r"([^\W\d].{0,19}?)\1{5,}")
MANY_WORDS, DISTINCT_SHARE = 16, 0.4
MARKER = re.compile(r"\b(?:client|candidate|router)_\d+\b", re.IGNORECASE)
NO_NAME = re.compile(r"(?:[a-z]|\d{1,3}|m\d{1,3}|(?:client|candidate|router|line)[ _]?\d*)")
"""Letters, digits, and names of messages and of parts, which no attribute has."""
FIELDS = frozenset(
    {
        "about",
        "add",
        "attribute",
        "attributes",
        "choice",
        "chosen",
        "decision",
        "drop",
        "edit",
        "edits",
        "false",
        "filter",
        "filter_gradient",
        "gradient",
        "gradients",
        "heard",
        "helped",
        "kind",
        "lines",
        "message",
        "messages",
        "name",
        "names",
        "none",
        "null",
        "op",
        "order",
        "passed",
        "prediction",
        "ranking",
        "reason",
        "replace",
        "rules",
        "text",
        "true",
        "used",
        "weigh",
        "why",
    }
)


class TextCheck:
    """Checks the texts and names of one part of an answer.

    It notes why it refuses some.

    Attributes:
        refused: The reasons, in words for the model.
    """

    def __init__(self, told: str = "", shown: str = "") -> None:
        """Prepare the check.

        Args:
            told: Instructions and other words of ours that no answer may repeat.
            shown: What the data says; a name of a field that stands there may be an attribute.
        """
        self.refused: list[str] = []
        self._told = told
        self._shown = shown.casefold()

    def refuse(self, reason: str) -> None:
        """Note that something is left out."""
        self.refused.append(reason)

    def keep_text(self, text: str) -> str:
        """Return a text; "" if it says nothing."""
        fault = text and find_fault(text, self._told)
        if fault:
            self.refuse(f"a text {fault}: {text[:40]!r}")
        return "" if fault else text

    def require_text(self, text: str) -> str:
        """Return a text.

        Raises:
            ValueError: It says nothing.
        """
        if fault := find_fault(text, self._told):
            raise ValueError(f"text {fault}: {text[:40]!r}")
        return text

    def keep_names(self, names: Iterable[str]) -> list[str]:
        """Return the names that may be attributes."""
        kept = []
        for name in names:
            if self._is_name(name):
                kept.append(name)
            else:
                self.refuse(f"{name[:40]!r} is no attribute")
        return kept

    def _is_name(self, name: str) -> bool:
        plain = " ".join(name.casefold().split()).strip("`'\"")
        return not (
            NO_NAME.fullmatch(plain)
            or MARKER.search(plain)
            or _has_loop(_split(plain), plain)
            or (plain in FIELDS and plain not in self._shown)
        )


def find_fault(text: str, told: str) -> str | None:
    """Say what is wrong with a text; None if nothing is.

    Args:
        told: Words of ours that the text may not repeat.
    """
    words = _split(text)
    if sum(map(str.isalpha, text)) < LETTERS_AT_LEAST:
        return "has no words"
    if _has_loop(words, text):
        return "repeats itself"
    if MARKER.search(text):
        return "names a part of this question"
    if _echoes(words, told):
        return "repeats the instructions"
    return None


def is_same_text(one: str, other: str) -> bool:
    """Return whether two texts have the same words."""
    return _split(one) == _split(other)


def _split(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _has_loop(words: list[str], text: str) -> bool:
    if len(words) >= MANY_WORDS and len(set(words)) < DISTINCT_SHARE * len(words):
        return True
    if LOOP_OF_CHARACTERS.search(text):
        return True
    return any(_repeats(words, size, times) for size, times in LOOPS.items())


def _repeats(words: list[str], size: int, times: int) -> bool:
    """Return whether `size` words follow each other `times` times."""
    same = 0
    for place in range(size, len(words)):
        same = same + 1 if words[place] == words[place - size] else 0
        if same == size * (times - 1):
            return True
    return False


def _echoes(words: list[str], told: str) -> bool:
    if not told or len(words) < WHOLE_ECHO_WORDS:
        return False
    size = min(len(words), ECHO_WORDS)
    return not _list_runs(told, size).isdisjoint(_iterate_runs(words, size))


@lru_cache(256)
def _list_runs(told: str, size: int) -> frozenset[tuple[str, ...]]:
    return frozenset(_iterate_runs(_split(told), size))


def _iterate_runs(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[start : start + size]) for start in range(len(words) - size + 1))
