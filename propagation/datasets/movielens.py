"""Titles, genres, ratings and descriptions, which all MovieLens formats share."""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from propagation.datasets.line_reader import Place, csv_rows, find
from propagation.datasets.text_cleaning import cleaned, split_list
from propagation.model.clients.client import TEXT_MAX_CHARS, ClientChange, ClientKey, ClientKind
from propagation.model.plurals import pluralize

YEAR = re.compile(r"\s*\((\d{4})\)\s*$")
ARTICLE_LAST = re.compile(
    r"^(.*), (The|A|An|Les|Le|La|L'|Il|El|Das|Der|Die|Los|Las|Un|Une)(?=$| \()", re.IGNORECASE
)
MARKED_TITLE = re.compile(r"<([^<>]{1,200})>")
DESCRIPTIONS = "descriptions.csv"
NO_GENRES = frozenset(["(no genres listed)"])


class RatingMetadata:
    """Ratings as metadata of events; each distinct spelling is checked once."""

    def __init__(self) -> None:
        self._checked: dict[str, Mapping[str, str]] = {}

    def of(self, value: str, place: Place, field: str) -> Mapping[str, str]:
        """Return the metadata of a rating, which must be a finite number."""
        metadata = self._checked.get(value)
        if metadata is None:
            place.number(value, field)
            metadata = self._checked[value] = place.metadata({"rating": value.strip()})
        return metadata


def shown_title(raw: str) -> str:
    """Return "Usual Suspects, The (1995)" as "The Usual Suspects (1995)"."""
    return ARTICLE_LAST.sub(lambda found: f"{found[2]} {found[1]}", cleaned(raw))


def title_key(title: str) -> str:
    """Return what two spellings of one title share.

    That is: letters and digits, without article, accents, year and names in brackets.
    """
    plain = unicodedata.normalize("NFKD", shown_title(YEAR.sub("", title)).casefold())
    plain = re.sub(r"\([^)]*\)", " ", plain)
    words = re.findall(r"[^\W_]+", re.sub(r"[̀-ͯ']", "", plain))
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)


def film(
    item: str,
    raw_title: str,
    genres: tuple[str, ...],
    descriptions: dict[str, str],
    attributes: tuple[str, ...] = (),
) -> ClientChange:
    """Return a film as a client; the year of its title is metadata too."""
    year = YEAR.search(raw_title)
    return ClientChange(
        key=ClientKey(kind=ClientKind.ITEM, id=item),
        title=shown_title(raw_title) or None,
        description=descriptions.get(title_key(raw_title)),
        attributes=attributes or None,
        categories=genres or None,
        metadata={"year": year[1]} if year else None,
    )


def genres_of(text: str) -> tuple[str, ...]:
    """Split genres that are separated by bars."""
    return split_list(text, "|", NO_GENRES)


def read_descriptions(folder: Path) -> dict[str, str]:
    """Read descriptions.csv, if present, as {title key: a sentence}."""
    found: dict[str, str] = {}
    for _, row in csv_rows(find(folder, DESCRIPTIONS), ("title", "description")):
        # The file marks titles as <Title>.
        text = MARKED_TITLE.sub(lambda marked: marked[1].strip(), row["description"])
        text = cleaned(text)[:TEXT_MAX_CHARS]
        if text and (key := title_key(row["title"])):
            found.setdefault(key, text)
    return found


def descriptions_note(
    items: dict[str, ClientChange], descriptions: dict[str, str]
) -> tuple[str, ...]:
    """Say for how many films a description was found."""
    if not descriptions:
        return ()
    described = sum(item.description is not None for item in items.values())
    return (
        f"Descriptions were joined by title for {described:,} of {pluralize(len(items), 'film')}.",
    )
