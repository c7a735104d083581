"""Tells whether a client's line is about another client of the question."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from propagation.adapters.openai.prompting.degenerate_text import is_like_title, is_part_of_text
from propagation.adapters.openai.prompting.item_titles import (
    SHORTEST_TITLE,
    find_main_title,
    find_named_title,
    has_exactly,
    is_bare_title,
)
from propagation.adapters.openai.prompting.prompt_data import (
    LINE_CHARS,
    TITLE_CHARS,
    find_item_title,
    quote_as_data,
)
from propagation.model import Author, ClientKind, LossReason
from propagation.ports import Party

Fault = tuple[LossReason, str]
COPIED_WORDS = 4


@dataclass(frozen=True)
class LineSubject:
    """Tells a client's lines from those about others.

    Attributes:
        is_item: Whether the client is an item; a user's line may name any item.
        title: The item's own title, as the prompt shows it; "" for a user.
        others: Titles of other items of the question, as the prompt shows them.
        foreign: Main titles of those that the client's own data does not name.
        catalogue: What the catalogue says of others.
    """

    is_item: bool = False
    title: str = ""
    others: Sequence[str] = ()
    foreign: Sequence[str] = ()
    catalogue: Sequence[str] = ()

    def find_fault(self, text: str) -> Fault | None:
        """Find why a line does not belong to the client.

        The second part of a fault is for the model.

        An item's line that names another item, and not its own, belongs to the other, unless the
        client's own data or a message speaks of that one, too. If both are named, it compares them.
        """
        if any(is_part_of_text(text, line, COPIED_WORDS) for line in self.catalogue):
            return LossReason.OTHER_ITEM, "a line is the description of another item"
        if any(is_bare_title(text, other) for other in self.others) and not is_bare_title(
            text, self.title
        ):
            return LossReason.OTHER_ITEM, "a line says nothing but the title of another item"
        if self.title and is_bare_title(text, self.title):
            return LossReason.BARE_TITLE, "a line says nothing but the title"
        if self.is_item and is_like_title(text) and not find_named_title(text, self.title):
            return LossReason.OTHER_ITEM, "a line says nothing but a title that is not its own"
        if self.is_item and self.foreign:
            named = find_named_title(text, self.title, self.foreign)
            if named not in (None, self.title):
                return LossReason.OTHER_ITEM, f"a line is about {named!r}, another item"
        return None


ANY_SUBJECT = LineSubject()


def build_subject(party: Party, parties: Iterable[Party]) -> LineSubject:
    """Build the subject of a client's lines.

    Args:
        parties: All clients of the question.
    """
    title = find_item_title(party.client) or ""
    rest = [one for one in parties if one.client.ref != party.client.ref]
    others = [shown for one in rest if (shown := find_item_title(one.client))]
    own = [
        party.client.description,
        *party.client.attributes,
        *party.client.categories,
        *(line.text for line in party.profile.lines),
        *(text for message in party.messages for text in (message.name, message.text)),
    ]
    mains = [find_main_title(shown) for shown in others]
    return LineSubject(
        is_item=party.client.key.kind == ClientKind.ITEM,
        title=title,
        others=others,
        foreign=[
            main
            for main in mains
            if len(main) >= SHORTEST_TITLE
            and main not in title
            and not any(has_exactly(quote_as_data(text, LINE_CHARS), main) for text in own)
        ],
        catalogue=[
            line.text
            for one in rest
            for line in one.profile.lines
            if line.author is Author.CATALOGUE
        ],
    )


def list_foreign_titles(
    own: Iterable[str], own_titles: Iterable[str], others: Iterable[str]
) -> list[str]:
    """List main titles that stand in no text of one's own.

    Args:
        own: The texts of one's own data.
        own_titles: The titles of one's own items.
        others: The titles of other items.
    """
    mains = {find_main_title(quote_as_data(title, TITLE_CHARS)) for title in others}
    texts = [*own, *own_titles]
    return sorted(
        main
        for main in mains
        if len(main) >= SHORTEST_TITLE
        and " " in main
        and not any(has_exactly(text, main) for text in texts)
    )
