"""What all MovieLens formats share: titles, genres, descriptions."""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from propagation.datasets.line_reader import csv_rows, event_metadata, find, number
from propagation.datasets.text_cleaning import cleaned, split_list
from propagation.model.clients.client import TEXT_MAX_CHARS, ClientChange, ClientKey, ClientKind
from propagation.model.plurals import pluralize

YEAR = re.compile(r"\s*\((\d{4})\)\s*$")
ARTICLE_LAST = re.compile(
    r"^(.*), (The|A|An|Les|Le|La|L'|Il|El|Das|Der|Die|Los|Las|Un|Une)(?=$| \()", re.IGNORECASE
)
MARKED = re.compile(r"<([^<>]{1,200})>")
DESCRIPTIONS = "descriptions.csv"
NO_GENRES = frozenset(["(no genres listed)"])


def shown_title(raw: str) -> str:
    """ "Usual Suspects, The (1995)" as people write it: "The Usual Suspects (1995)"."""
    return ARTICLE_LAST.sub(lambda found: f"{found[2]} {found[1]}", cleaned(raw))


def title_key(title: str) -> str:
    """What two spellings of one title share: letters and digits, without article, accents, year and
    bracketed names."""
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
    """A film as a client; the year of its title is metadata too."""
    year = YEAR.search(raw_title)
    return ClientChange(
        key=ClientKey(kind=ClientKind.ITEM, id=item),
        title=shown_title(raw_title) or None,
        description=descriptions.get(title_key(raw_title)),
        attributes=attributes or None,
        categories=genres or None,
        metadata={"year": year[1]} if year else None,
    )


class Ratings:
    """Ratings as metadata, each way to write one checked once."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, str]] = {}

    def metadata(self, value: str, file: str, line: int, field: str) -> Mapping[str, str]:
        """A finite number, as it is written. Raises BrokenData."""
        known = self._known.get(value)
        if known is None:
            number(value, file, line, field)
            known = self._known[value] = event_metadata({"rating": value.strip()}, file, line)
        return known


def genres_of(text: str) -> tuple[str, ...]:
    return split_list(text, "|", NO_GENRES)


def read_descriptions(folder: Path) -> dict[str, str]:
    """{title key: a sentence} of descriptions.csv; {} without that file. The file marks titles as
    <Title>."""
    path = find(folder, DESCRIPTIONS)
    found: dict[str, str] = {}
    for _, row in csv_rows(path, ("title", "description")) if path else ():
        text = cleaned(MARKED.sub(lambda marked: marked[1].strip(), row["description"]))[
            :TEXT_MAX_CHARS
        ]
        if text and (key := title_key(row["title"])):
            found.setdefault(key, text)
    return found


def joined_note(items: dict[str, ClientChange], descriptions: dict[str, str]) -> tuple[str, ...]:
    """How many films a description was found for."""
    if not descriptions:
        return ()
    described = sum(item.description is not None for item in items.values())
    return (
        f"Descriptions were joined by title for {described:,} of {pluralize(len(items), 'film')}.",
    )
