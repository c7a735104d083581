"""Tells whether a text is about anything in its question.

Small models also write what would fit any question: "This is a new one."
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from propagation.adapters.openai.prompting.item_titles import (
    LONG_WORD,
    UNSPACED,
    can_tell,
    find_named_title,
    has_content,
    split_words,
)

STEM = 4
FEW_WORDS = 2
"""A gradient of so many words is about nothing, unless it names something."""


@dataclass(frozen=True)
class TextSubjects:
    """What a text may be about: titles, attributes, words of lines.

    Attributes:
        titles: Items' titles, as the prompt shows them.
        names: Attributes and genres.
        lines: Texts of profiles and messages.
        required: Whether a text must be about one of them at all.
    """

    titles: Collection[str] = ()
    names: Collection[str] = ()
    lines: Collection[str] = ()
    required: bool = True

    def are_in(self, text: str) -> bool:
        """Return whether a text is about one of them.

        A word of an attribute may be inflected, one of a line must be long. Without attributes, and
        for a text in another script, this cannot be decided, and the text is accepted.
        """
        if (
            not self.required
            or not self.names
            or any(find_named_title(text, title) for title in self.titles)
        ):
            return True
        said = split_words(text)
        words = {word for name in self.names for word in split_words(name) if has_content(word)}
        long = {word for one in self.lines for word in split_words(one) if len(word) >= LONG_WORD}
        spoken = f" {' '.join(said)} "
        return (
            not long.isdisjoint(said)
            or any(f" {' '.join(split_words(name))} " in spoken for name in self.names)
            or any(_is_related(word, one) for word in words for one in said)
            or not any(can_tell(text, name) for name in (*self.titles, *self.names))
        )

    def are_in_gradient(self, text: str) -> bool:
        """Return whether a gradient is long, or about one of them.

        A client without attributes has none that a word or two could name.
        """
        is_long = len(text.split()) > FEW_WORDS or re.search(f"[{UNSPACED}]", text)
        return not self.required or bool(is_long) or (bool(self.names) and self.are_in(text))


ANYTHING = TextSubjects(required=False)
"""A text may be about anything."""


def _is_related(word: str, said: str) -> bool:
    """Return whether two words begin alike: crime and criminal, sci and science."""
    if re.match(f"[{UNSPACED}]", word):
        return word in said
    if len(word) < STEM:
        return said.startswith(word)
    return said == word or (len(said) > STEM and said[:STEM] == word[:STEM])
