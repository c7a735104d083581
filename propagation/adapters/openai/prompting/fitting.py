"""Fits a question into the model's context.

What is shown is shortened, and parts are asked for in several calls. An answer is never cut.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from propagation.adapters.openai.prompting.answer_schema import describe_schema
from propagation.adapters.openai.prompting.degenerate_text import OUTCOME
from propagation.adapters.openai.prompting.prompt import ExpectedPart, Question, build_schema
from propagation.adapters.openai.prompting.prompt_data import count_tokens_in, write_document

MESSAGE_TOKENS = 8
"""Tokens that a server's template adds to a message."""
COMPLAINT_CHARS = 400
LEVELS = (
    (320, 20),
    (240, 20),
    (180, 16),
    (130, 12),
    (100, 10),
    (75, 8),
    (55, 6),
    (40, 4),
    (30, 3),
    (22, 2),
    (16, 1),
    (12, 0),
    (8, 0),
)
"""How many characters a text may have, and how many texts a list, from level to level.

The lines of a profile and the names of messages all stay, because answers name them.
"""


CHARS_A_TOKEN, TOKENS_A_CHARACTER = 2.5, 2
"""Data has more tokens than sentences: names, digits and brackets.

Of films in JSON, SmolLM2's tokenizer makes a token of 2.7 characters, and two tokens of a Chinese
character.
"""


def count_data_tokens(text: str) -> int:
    """Estimate the tokens of data, rather too many than too few."""
    ascii_chars = len(text) if text.isascii() else sum(map(str.isascii, text))
    others = len(text) - ascii_chars
    return math.ceil(ascii_chars / CHARS_A_TOKEN) + TOKENS_A_CHARACTER * others


def write_fitting_document(question: Question, room: int) -> str:
    """Write the data of a prompt in at most `room` tokens.

    All texts are shortened to the same length, and lists to their first texts. If the shortest are
    too long, those are written.
    """
    document = question.document
    for level in LEVELS:
        if count_data_tokens(document) <= room:
            break
        document = write_document(_shorten(question.data, *level))
    return document


def count_tokens_needed(question: Question) -> int:
    """Count the least tokens of a question with its longest answer.

    Its data is as short as it gets. The form in words and a complaint are included, so that there
    is room for asking again.
    """
    words = describe_schema(build_schema(question.parts, bounded=False, named=False))
    document = write_document(_shorten(question.data, *LEVELS[-1]))
    return _count_tokens(question, document) + count_tokens_in(words)


def fits_easily(question: Question, context_tokens: int) -> bool:
    """Return whether a question fits with all of its data.

    This is faster than counting exactly. The form in words is shorter than the longest answer.
    """
    counted = _count_tokens(question, question.document)
    return counted + question.most_tokens <= context_tokens


def _count_tokens(question: Question, document: str) -> int:
    """Count a question's instructions, a complaint, its data and its longest answer."""
    said = count_tokens_in(question.prompt.instructions + " " * COMPLAINT_CHARS)
    return said + count_data_tokens(document) + 4 * MESSAGE_TOKENS + question.most_tokens


def split_to_fit(question: Question, context_tokens: int) -> list[Question]:
    """Split a question so that each piece fits the context.

    Each asks about some of the parts, with the same data. A part that does not fit alone is a piece
    of its own, too.
    """
    out: list[Question] = []
    parts: dict[str, ExpectedPart] = {}
    for name, part in question.parts.items():
        longer = replace(question, parts={**parts, name: part})
        if parts and count_tokens_needed(longer) > context_tokens:
            out.append(replace(question, parts=parts))
            parts = {}
        parts[name] = part
    return [*out, replace(question, parts=parts)] if out else [question]


def _shorten(data: Any, chars: int, items: int, name: str = "") -> Any:
    """Shorten the texts and lists of a document.

    The text of the outcome stays. Names with counts are a list of texts, too.
    """
    if isinstance(data, str):
        return data if name == OUTCOME else _cut(data, chars)
    if isinstance(data, Mapping):
        if data and all(isinstance(value, int) for value in data.values()):
            return {_cut(key, chars): value for key, value in list(data.items())[:items]}
        return {key: _shorten(value, chars, items, key) for key, value in data.items()}
    if isinstance(data, Sequence):
        kept = data if name == "messages" else data[:items]
        return [_shorten(value, chars, items) for value in kept]
    return data


def _cut(text: str, chars: int) -> str:
    """Cut a text at a word.

    A character outside of ASCII counts as five, as it does in tokens.
    """
    room = chars
    for place, character in enumerate(text):
        room -= 1 if character.isascii() else 5
        if room < 0:
            kept = text[:place]
            return (kept.rsplit(" ", 1)[0] if " " in kept[chars // 2 :] else kept) + "..."
    return text
