"""A client's own text as catalogue lines (eq. 1)."""

import html

from propagation.adapters.offline.sentences import (
    clean_title,
    fit_titles,
    list_names,
    quote,
    shorten,
)
from propagation.model import LINE_MAX_WORDS, AddLine, Author, Client, ClientKind, Edit, Line

CATALOGUE_WEIGHT = 2.0
LISTED = 5


def extract_lines(client: Client) -> list[Edit]:
    """Write at most two lines: a heading, and the description's beginning.

    The heading names an item's title, and the attributes and categories of any client.
    """
    description = " ".join(html.unescape(client.description).split())
    texts = (_find_heading(client), shorten(description))
    return [
        AddLine(
            line=Line(
                id=0,
                text=text,
                attributes=list_names(client) if place == 0 else (),
                weight=CATALOGUE_WEIGHT,
                author=Author.CATALOGUE,
            )
        )
        for place, text in enumerate(text for text in texts if text)
    ]


def _find_heading(client: Client) -> str:
    title = quote(clean_title(client.title)) if client.title else ""
    given = list_names(client, LISTED) if client.attributes or client.categories else ()
    if client.key.kind == ClientKind.USER:
        return fit_titles("Described as", given, " {}.", LINE_MAX_WORDS) if given else ""
    if given:
        return fit_titles(title or "Something", given, ", listed under {}.", LINE_MAX_WORDS)
    return f"{title}." if title else ""
