"""Finds degenerate texts and names in a model's answer.

Small models loop, repeat their instructions, and give letters, digits or names of fields as
attributes.
"""

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from propagation.adapters.openai.prompting.item_titles import is_bare_title
from propagation.adapters.openai.prompting.prompt_data import AFTER, HEARD_MARK
from propagation.adapters.openai.prompting.text_subjects import (
    ANYTHING,
    TextSubjects,
)
from propagation.adapters.openai.prompting.text_subjects import (
    FEW_WORDS as GRADIENT_WORDS,
)
from propagation.model import LossReason

MARKS = string.punctuation + "“”‘’«»…—–·।،؛؟。，、！？：；（）《》「」『』„‚‹›¡¿"
OUTCOME, MESSAGES = "outcome", "messages"
WHOLE_ECHO_WORDS, ECHO_WORDS, ECHO_SHARE = 3, 12, 0.8
"""How many words in a row repeat the instructions.

ECHO_WORDS, or ECHO_SHARE of a text of at least WHOLE_ECHO_WORDS.
"""
OUTCOME_RUN, OUTCOME_ECHO_WORDS, NAMED_ECHO_WORDS = 4, 6, 5
OUTCOME_NAMES = frozenset({"chosen", "passed", "foreseen"})
JUDGED = frozenset({"foreseen", "expected"})
"""How many words repeat the outcome; only runs of OUTCOME_RUN words count, one with a word in JUDGED.

OUTCOME_ECHO_WORDS, or ECHO_SHARE of a text, or NAMED_ECHO_WORDS with one of OUTCOME_NAMES: "the
user chose the item" alone is how people speak. A text of the outcome's words alone, of which one is
in JUDGED, repeats it in any order.
"""
LOOPS = {1: 4, 2: 3, 3: 3, 4: 3, 5: 3, 6: 3, 7: 3, 8: 3}
"""By a number of words, how many times they must follow each other to be a loop."""
REFRAIN_WORDS, REFRAIN_TIMES = 4, 3
"""How many words, how many times anywhere in a text, are a loop."""
DOUBLED_WORDS, LONG_DOUBLED_WORDS, DOUBLED_IN_WORDS = 4, 8, 32
"""How many words are a loop if they stand twice: in a row, and anywhere in a text of a line's length."""
REMINDER_WORDS, COPIED_WORDS = 4, 4
"""How many words in a row repeat the reminder behind the data, as nobody speaks of tastes.

So many words of a gradient copy a text of the data.
"""
ARTICLE = re.compile(r"(?:the|an?) ")
TITLE_WORDS, SHORT_WORD = 8, 3
SMALL_WORDS = frozenset(["from", "into", "over", "with"])
"""Longer words that titles write without a capital."""
MANY_NUMBERS, NUMBERS_SHARE = 12, 2 / 3
"""In how many words which share of numbers says nothing."""
BARE_YEAR, YEARS = re.compile(r"(?:1[5-9]|20)\d\d"), re.compile(r"\((?:1[5-9]|20)\d\d\)")
"""A year alone, and those that catalogues write behind titles; such a year is no subject."""
SENTENCES = re.compile(r".*[.!?](?=\s+[^\s.!?][^.!?]*$)", re.DOTALL)
"""The whole sentences before one that has no end."""
YEAR = re.compile(r"\((?:1[5-9]|20)\d\d\)\W*$")
UNSPACED = "\u3040-\u30ff\u3400-\u9fff"
LOOP_OF_CHARACTERS = re.compile(r"([^\W\d_])\1{9,}|([^\W\d_].{1,19}?)\2{5,}")
WHOLE_LOOP = re.compile(rf"\W*([{UNSPACED}]{{1,10}}?)\1{{3,}}\W*")
"""A whole text that repeats a few letters of a script without spaces."""
MANY_WORDS, DISTINCT_SHARE = 16, 0.4
FEW_WORDS, FEW_DISTINCT_SHARE = 6, 1 / 3
MARKER = re.compile(r"\b(?:client|candidate|router)_\d+\b", re.IGNORECASE)
SPOKEN_MARKER = re.compile(r"\bcandidate \d\b|^(?:m\d{1,3}\W*){2,}$|^m\d{1,3} is\b", re.IGNORECASE)
FORM = re.compile(r"[{\[]\s*[\"']\w|[\"']\w+[\"']\s*:\s*[\"'{\[]|[{\[]\s*string\b", re.IGNORECASE)
"""JSON, or the form of an answer, inside of a text."""
OF_COLOURS = re.compile(r"\bgradient\(", re.IGNORECASE)
"""A gradient as style sheets write it."""
QUOTED_OUTCOME = re.compile(r"\bitem ['\"`‘“](?:chosen|passed)['\"`’”]", re.IGNORECASE)
"""The names by which the outcome speaks of items, as it writes them or much like it."""
CHATTER = re.compile(
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|\bhere(?:['’]s| is| are) (?:the|your|my) (?:json|answer|output|response)\b"
    r"|^(?:i['’]m|i am) (?:very )?sorry,? but\b|\blorem ipsum\b"
    r"|\bjson object\b|\bmy client['’]s\b|\bthis is your (?:request|answer)\b|\bhow (?:can|may) i (?:help|assist) you\b",
    re.IGNORECASE,
)
"""What a model says to the person who seems to ask, and text that only fills a place."""
GLUE = re.compile(r"(?<=[^\W\d_]{2})[.!?;:]+(?=[^\W\d_]{2})")
"""Marks between words that small models write without a space."""
LETTERS = re.compile(r"[^\W\d_]{2,}")
ROLE = re.compile(r"<(?:/?(?:user|assistant|system|data|think|s)>|\|)", re.IGNORECASE)
STRUCK = re.compile(r"<s>(.*?)</s>", re.IGNORECASE)
"""What HTML strikes through; models begin and end a whole text with the same marks."""
PLACEHOLDER_NAME = re.compile(
    r"[a-z]|\d{1,3}|[mx]\d{1,3}(?:[, ]+m\d{1,3})*"
    r"|(?:client|candidate|router|line|choice|text)[ _]?\d+",
    re.IGNORECASE,
)
"""Letters, digits, and names of messages, parts and lines."""
LETTER_AND_NUMBER = re.compile(r"[a-z]\d{1,3}")
"""It may be an attribute ("u2"), but is no whole text."""
FIELDS = frozenset(
    {
        "about",
        "add",
        "answer",
        "array",
        "assistant",
        "attribute",
        "attributes",
        "candidate",
        "choice",
        "chosen",
        "client",
        "concept",
        "data",
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
        "item",
        "json",
        "kind",
        "line",
        "lines",
        "listed_under",
        "maker",
        "message",
        "messages",
        "mood",
        "name",
        "names",
        "object",
        "op",
        "order",
        "outcome",
        "passed",
        "prediction",
        "profile",
        "ranking",
        "reason",
        "replace",
        "router",
        "rules",
        "short name",
        "short names",
        "string",
        "style",
        "subject",
        "text",
        "true",
        "used",
        "user",
        "weigh",
        "why",
    }
)
ABOUT_PROFILES = re.compile(
    r"\b(?:client|user)s?['’]?s? profiles?\b"
    r"|\bthe (?:client|user)['’]s (?:actions|edits?|requests?)\b"
    r"|\b(?:nutzer|benutzer|kunden)profil"
    r"|\bprofile? (?:de l['’]utilisateur|des utilisateurs|du client)\b"
    r"|\bperfil(?:es)? de(?:l| los| la) (?:usuario|cliente)s?\b"
    r"|\bпрофил\w* (?:пользовател|клиент)"
    r"|(?:用户|用戶|客户)的?(?:画像|资料|档案)"
    r"|ユーザーの?プロ(?:フィール|ファイル)",
    re.IGNORECASE,
)
ABOUT_EDITS = re.compile(r"\bthe (?:client|user)['’]s edits?\b", re.IGNORECASE)
"""No text may speak of a user's edits, not even a gradient or a rule: users edit nothing."""
NOTHING = frozenset(
    {
        "",
        "-",
        "—",
        "n/a",
        "na",
        "nil",
        "no",
        "no data",
        "no data available",
        "no gradient",
        "no information",
        "no information available",
        "none",
        "not applicable",
        "not available",
        "nothing",
        "null",
        "unknown",
        "无",
        "没有",
    }
)
"""What models write into a field that they want to leave empty."""
FAULTS = {
    LossReason.NO_WORDS: "has no words",
    LossReason.FIELD_NAME: "is the name of a field",
    LossReason.ROLE_MARK: "has a mark of roles",
    LossReason.FORM: "has the form of an answer in it",
    LossReason.CHATTER: "speaks to me, or only fills the place",
    LossReason.REPETITION: "repeats itself",
    LossReason.MARKER: "names a part of this question",
    LossReason.ECHO: "repeats the instructions",
    LossReason.ABOUT_PROFILE: "is about a profile, not about taste",
    LossReason.OTHER_ITEM: "is about an item that is not in its data",
    LossReason.BARE_TITLE: "is nothing but a title",
    LossReason.NAMES_NOTHING: "names no item, attribute or genre of the data",
}
"""What is wrong with a degenerate text, in words for the model."""


@dataclass(frozen=True)
class AskedTexts:
    """The texts of a question, against which an answer is checked.

    Attributes:
        instructions: What the prompt says.
        outcome: What it says of the interaction.
        data: The texts of clients, messages and items, case-folded.
        letters: The names of messages, case-folded; they are no names of the data.
        subjects: What each text must name something of.
    """

    instructions: str = ""
    outcome: str = ""
    data: Sequence[str] = ()
    letters: Collection[str] = frozenset()
    subjects: TextSubjects = ANYTHING

    @classmethod
    def of(
        cls, instructions: str, data: Mapping[str, Any], subjects: TextSubjects = ANYTHING
    ) -> "AskedTexts":
        """Collect the texts of a prompt and its data.

        Names of fields are left out.
        """
        shown = {name: value for name, value in data.items() if name != OUTCOME}
        texts = (text.removeprefix(HEARD_MARK).casefold() for text in _list_texts(shown))
        letters = frozenset(letter.casefold() for letter in _list_letters(shown))
        outcome = str(data.get(OUTCOME, ""))
        return cls(instructions, outcome, tuple(texts), letters, subjects)

    def have_name(self, name: str) -> bool:
        """Return whether a name stands in the data.

        Either a whole text is the name, or a text contains it as whole words. A single letter or
        digit counts only as a whole text.
        """
        if name in self.letters:
            return False
        if name in self.data:
            return True
        return len(name) > 1 and any(map(_build_word_pattern(name).search, self.data))

    def name_message(self, text: str) -> bool:
        """Return whether a text has the name of a message.

        What is stored has the router's name in its place.
        """
        return any(word in self.letters for word in _split(text))

    def have_phrase(self, phrase: str) -> bool:
        """Return whether the data has these words in a row.

        A leading article is no matter: catalogues write "Godfather, The".
        """
        plain = ARTICLE.sub("", phrase) if ARTICLE.match(phrase) else phrase
        return any(plain in " ".join(_split(text)) for text in self.data)


NOTHING_ASKED = AskedTexts()


@lru_cache(4096)
def _build_word_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


class DegenerateText(ValueError):
    """A text that its part cannot do without is degenerate."""

    def __init__(self, reason: LossReason) -> None:
        super().__init__(f"a text {FAULTS[reason]}")
        self.reason = reason


class TextCheck:
    """Checks the texts and names of one part of an answer.

    Attributes:
        refused: Why some were refused, in words for the model.
        reasons: For each of them its LossReason, in the same order.
    """

    def __init__(self, asked: AskedTexts = NOTHING_ASKED) -> None:
        self.refused: list[str] = []
        self.reasons: list[LossReason] = []
        self._asked = asked

    def refuse(self, reason: LossReason, fault: str) -> None:
        """Note that something is left out.

        Args:
            fault: What is wrong, in words for the model.
        """
        self.reasons.append(reason)
        self.refused.append(fault)

    def keep_text(self, text: str) -> str:
        """Return a text; "" if it is degenerate or stands for nothing."""
        if text.strip().rstrip(".").casefold() in NOTHING:
            return ""
        return self._keep(text, find_reason(text, self._asked))

    def keep_line(self, text: str) -> str:
        """Return a line; "" if it is degenerate or off the subject.

        A copy that breaks off within a sentence is returned without that sentence.
        """
        kept = self.keep_text(end_copy(text, self._asked.data))
        kept = self._keep(kept, find_profile_reason(kept, self._asked))
        return self._keep_about(kept, self._asked.subjects.are_in)

    def keep_gradient(self, text: str) -> str:
        """Return a gradient; "" if it is degenerate or says nothing."""
        kept = self.keep_text(text)
        if kept and self._is_title(kept):
            return self._keep(kept, LossReason.BARE_TITLE)
        if kept and self._asked.subjects.required and begins_like(kept, self._asked.data):
            return self._keep(kept, LossReason.ECHO)
        return self._keep_about(kept, self._asked.subjects.are_in_gradient)

    def _is_title(self, text: str) -> bool:
        """Return whether a gradient says no more than a title."""
        subjects = self._asked.subjects
        return subjects.required and (
            any(is_bare_title(text, title) for title in subjects.titles)
            or (len(text.split()) > GRADIENT_WORDS and is_like_title(text))
        )

    def require_text(self, text: str) -> str:
        """Return a router's text.

        Raises:
            DegenerateText: It is degenerate, or about profiles.
        """
        reason = find_reason(text, self._asked) or find_profile_reason(text, self._asked)
        if reason:
            raise DegenerateText(reason)
        return text

    def require_subject(self, text: str) -> None:
        """Check that a router's name and text name something of the question.

        Raises:
            DegenerateText: They do not.
        """
        if not self._asked.subjects.are_in(text):
            raise DegenerateText(LossReason.NAMES_NOTHING)

    def _keep_about(self, text: str, has_subject: Callable[[str], bool]) -> str:
        is_about = not text or has_subject(text) or self._asked.name_message(text)
        return self._keep(text, None if is_about else LossReason.NAMES_NOTHING)

    def _keep(self, text: str, reason: LossReason | None) -> str:
        if reason:
            self.refuse(reason, f"a text {FAULTS[reason]}")
        return "" if reason else text

    def keep_names(self, names: Iterable[str]) -> list[str]:
        """Return the names that may be attributes."""
        kept = []
        for name in names:
            if self._is_attribute(name):
                kept.append(name)
            elif name.strip().casefold() not in NOTHING:
                self.refuse(LossReason.NO_ATTRIBUTE, f"{name[:20]!r} is no attribute")
        return kept

    def _is_attribute(self, name: str) -> bool:
        plain = " ".join(name.casefold().split()).strip("`'\"")
        if plain in NOTHING or MARKER.search(plain) or _find_loop(plain, self._asked):
            return False
        if PLACEHOLDER_NAME.fullmatch(plain) or plain in FIELDS:
            return self._asked.have_name(plain)
        return True


def find_reason(text: str, asked: AskedTexts = NOTHING_ASKED) -> LossReason | None:
    """Find why a text is degenerate; None if it is not."""
    words = _split(text)
    said = " ".join(words)
    is_placeholder = PLACEHOLDER_NAME.fullmatch(said) or LETTER_AND_NUMBER.fullmatch(said)
    if not any(map(_is_letter, text)) or is_placeholder:
        names = (said, " ".join(text.casefold().split()).strip("`'\".,:;"))
        if not any(name and asked.have_name(name) for name in names):
            return LossReason.NO_WORDS
        if BARE_YEAR.fullmatch(said) and not any(said in YEARS.sub("", one) for one in asked.data):
            return LossReason.NO_WORDS
    numbers = sum(not any(map(_is_letter, word)) for word in words)
    if len(words) >= MANY_NUMBERS and numbers > NUMBERS_SHARE * len(words):
        return LossReason.NO_WORDS
    if _find_loop(text, asked):
        return LossReason.REPETITION
    if ROLE.search(text if STRUCK.fullmatch(text.strip()) else STRUCK.sub(r"\1", text)):
        return LossReason.ROLE_MARK
    if MARKER.search(text) or _says(SPOKEN_MARKER, text, asked):
        return LossReason.MARKER
    if FORM.search(text):
        return LossReason.FORM
    if _names_fields(text, asked):
        return LossReason.FIELD_NAME
    if OF_COLOURS.search(text):
        return LossReason.FORM
    if _says(CHATTER, text, asked):
        return LossReason.CHATTER
    if _echoes(words, asked) or QUOTED_OUTCOME.search(text):
        return LossReason.ECHO
    if _says(ABOUT_EDITS, text, asked):
        return LossReason.ABOUT_PROFILE
    if YEAR.search(text) and is_like_title(text):
        return LossReason.BARE_TITLE
    return None


def _names_fields(text: str, asked: AskedTexts) -> bool:
    """Return whether a text has no words but names of fields: "gradient-none"."""
    names = LETTERS.findall(text.casefold())
    return (
        bool(names)
        and all(name in FIELDS or name in NOTHING for name in names)
        and not all(map(asked.have_name, names))
    )


def is_like_title(text: str) -> bool:
    """Return whether a text looks like a title alone.

    Like "The Dark Knight (1989)" it has few words, and all but the short ones have a capital. Texts
    of scripts without capitals never look so.
    """
    parts = _split_cased(text)
    words = [part for part in parts if any(map(str.isalpha, part))]
    long = [word for word in words if len(word) > SHORT_WORD and word not in SMALL_WORDS]
    return (
        bool(words)
        and 1 < len(parts) <= TITLE_WORDS
        and text.strip()[-1:] not in ".!?"
        and words[0][:1].isupper()
        and all(word[:1].isupper() for word in long)
    )


def _says(pattern: re.Pattern[str], text: str, asked: AskedTexts) -> bool:
    """Return whether a text says what the data does not."""
    said = pattern.search(text)
    return said is not None and not asked.have_phrase(said.group().casefold())


def find_profile_reason(text: str, asked: AskedTexts = NOTHING_ASKED) -> LossReason | None:
    """Find whether a text is about profiles, which are no taste.

    It may be if the data is, as that of an application may be. Gradients are not asked this: they
    say what a profile should keep or change.
    """
    if ABOUT_PROFILES.search(text) and not any(map(ABOUT_PROFILES.search, asked.data)):
        return LossReason.ABOUT_PROFILE
    return None


def begins_like(text: str, data: Iterable[str]) -> bool:
    """Return whether a text is the beginning of one of the data.

    Args:
        data: Texts of the question, case-folded.
    """
    said = " ".join(text.casefold().split()).rstrip(".… ")
    return len(_split(said)) >= COPIED_WORDS and any(
        " ".join(one.split()).startswith(said) for one in data
    )


def end_copy(text: str, data: Iterable[str]) -> str:
    """Cut a sentence that breaks off from a copy of the data.

    Models copy a message, and end their own text at the first mark of quotation in it: "A community
    drawn to comedy. Seen around".

    Args:
        data: Texts of the question, case-folded.
    """
    said = " ".join(text.split())
    whole = SENTENCES.match(said)
    if whole is None or not any(
        " ".join(one.split()).startswith(f"{said.casefold()} ") for one in data
    ):
        return text
    return whole[0].rstrip()


def is_same_text(one: str, other: str) -> bool:
    """Return whether two texts have the same words."""
    return _split(one) == _split(other)


def is_part_of_text(text: str, whole: str, least: int) -> bool:
    """Return whether a text's words stand in a row in another one.

    Args:
        least: How many words the text must have.
    """
    words = _split(text)
    return len(words) >= least and tuple(words) in _list_runs(whole, len(words))


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] == "L"


def _split(text: str) -> list[str]:
    """Split a text into words in lower case, without punctuation around them."""
    return [word.casefold() for word in _split_cased(text)]


def _split_cased(text: str) -> list[str]:
    parts = GLUE.sub(" ", text).split()
    return [word for part in parts if (word := part.strip(MARKS))]


def _list_letters(data: Any) -> Iterator[str]:
    """List the names of messages: those of each client, and the keys."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            if name == MESSAGES and isinstance(value, list | tuple | Mapping):
                yield from map(str, value)
            else:
                yield from _list_letters(value)


def _list_texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from _list_texts(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _list_texts(value)


def _find_loop(text: str, asked: AskedTexts) -> bool:
    """Return whether a text repeats itself.

    It may repeat what the data repeats, such as a title, and what it writes as a title: those of a
    series begin alike.
    """
    cased = _split_cased(text.replace("_", " "))
    words = [word.casefold() for word in cased]
    loop = LOOP_OF_CHARACTERS.search(text.casefold()) or WHOLE_LOOP.fullmatch(text)
    if loop and not any(loop.group() in one for one in asked.data):
        return True
    if any(not asked.have_phrase(" ".join(words[start:end])) for start, end in _find_runs(words)):
        return True
    if len(words) > 2 and len({*words}) == 1 and not asked.have_phrase(" ".join(words)):
        return True
    for start, end in _find_doubles(words):
        is_title = _is_title(cased[start:end]) and not text.isupper()
        if not is_title and not asked.have_phrase(" ".join(words[start:end])):
            return True
    rest = [*words]
    for start, end in reversed([*_find_refrains(words)]):
        if not (_is_title(cased[start:end]) and not text.isupper()) and not all(
            asked.have_phrase(" ".join(run))
            for run in _iterate_runs(words[start:end], REFRAIN_WORDS)
        ):
            return True
        del rest[start:end]
    distinct = len(set(rest))
    return (len(rest) >= MANY_WORDS and distinct < DISTINCT_SHARE * len(rest)) or (
        len(rest) >= FEW_WORDS and distinct <= FEW_DISTINCT_SHARE * len(rest)
    )


def _is_title(words: Sequence[str]) -> bool:
    """Return whether the first word has a capital, and half of all."""
    capitals = [word[0].isupper() for word in words]
    return capitals[0] and 2 * sum(capitals) >= len(capitals)


def _find_refrains(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Find words that stand in a text several times, wherever.

    Yields:
        The start and the end of each place.
    """
    runs = [*_iterate_runs(words, REFRAIN_WORDS)]
    times = Counter(runs)
    start, end = 0, 0
    for place, run in enumerate(runs):
        if times[run] < REFRAIN_TIMES:
            continue
        if place >= end:
            if end:
                yield start, end
            start = place
        end = place + REFRAIN_WORDS
    if end:
        yield start, end


def _find_doubles(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Find words that are said again, at once or at length.

    With a word between, as in "of the past and of the past", they must end the text: "for those who
    like folk, for those who like jazz" goes on with another word.

    Yields:
        The start and the end of the words.
    """
    count = len(words)
    places: dict[Sequence[str], int] = {}
    whole = words if count <= DOUBLED_IN_WORDS else ()
    for place, run in enumerate(_iterate_runs(whole, LONG_DOUBLED_WORDS)):
        if place >= places.setdefault(run, place) + LONG_DOUBLED_WORDS:
            yield place, place + LONG_DOUBLED_WORDS
    for size in range(DOUBLED_WORDS, count // 2 + 1):
        ended = count - 2 * size - 1
        for start in range(count - 2 * size + 1):
            end = start + size
            said = words[start:end]
            if said == words[end : end + size] or (start == ended and said == words[end + 1 :]):
                yield start, end


def _find_runs(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Find where the same words follow each other.

    Yields:
        The start and the end of each run.
    """
    for size, times in LOOPS.items():
        same = 0
        for place in range(size, len(words) + 1):
            if place < len(words) and words[place] == words[place - size]:
                same += 1
            else:
                if same >= size * (times - 1):
                    yield place - same - size, place
                same = 0


def _echoes(words: Sequence[str], asked: AskedTexts) -> bool:
    count = len(words)
    if count < WHOLE_ECHO_WORDS:
        return False
    most = min(ECHO_WORDS, max(WHOLE_ECHO_WORDS, math.ceil(ECHO_SHARE * count)))
    return (
        _have_common_run(words, asked.instructions, most)
        or _have_common_run(words, AFTER, REMINDER_WORDS)
        or _echoes_outcome(words, asked.outcome)
    )


def _echoes_outcome(words: Sequence[str], outcome: str) -> bool:
    size = min(OUTCOME_RUN, len(words))
    told = _list_runs(outcome, size)
    places = {
        place
        for start, run in enumerate(_iterate_runs(words, size))
        if run in told
        for place in range(start, start + size)
    }
    if JUDGED.intersection(words) and (
        frozenset(words) <= frozenset(_split(outcome))
        or any(JUDGED.intersection(run) for run in told.intersection(_iterate_runs(words, size)))
    ):
        return True
    names = OUTCOME_NAMES.intersection(words)
    if names == OUTCOME_NAMES or (outcome and len(names) > 1 and len(words) <= ECHO_WORDS):
        return True
    is_named = any(words[place] in OUTCOME_NAMES for place in places)
    most = NAMED_ECHO_WORDS if is_named else OUTCOME_ECHO_WORDS
    return len(places) >= min(most, math.ceil(ECHO_SHARE * len(words)))


def _have_common_run(words: Sequence[str], text: str, size: int) -> bool:
    return bool(text) and not _list_runs(text, size).isdisjoint(_iterate_runs(words, size))


@lru_cache(512)
def _list_runs(text: str, size: int) -> frozenset[tuple[str, ...]]:
    return frozenset(_iterate_runs(_split(text), size))


def _iterate_runs(words: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[start : start + size]) for start in range(len(words) - size + 1))
