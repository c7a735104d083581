"""Lines of data files, and their values, cleaned and checked.

Every error names the file, the line and the field.
"""

import csv
import fnmatch
import gzip
import html
import io
import math
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar, cast

from propagation.model import (
    LAST_SECOND,
    LIST_MAX,
    BrokenData,
    ClientChange,
    InvalidInput,
    check_client,
    check_id,
)

TAGS = "a|b|br|div|em|font|h[1-6]|i|img|li|ol|p|span|strong|table|td|tr|u|ul"
MARKUP = re.compile(rf"\"?\s*/>\s*$|</?(?:{TAGS})\b[^<>]*(?:>|$)", re.IGNORECASE)
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
ENTITY_ROUNDS = 3
ENTRY_MAX_CHARS = 120


def clean(text: str) -> str:
    """Return the text as one line without entities and mark-up.

    Entities that were escaped up to three times are resolved.
    """
    for _ in range(ENTITY_ROUNDS):
        text = html.unescape(text)
    return " ".join(CONTROL_CHARACTERS.sub(" ", MARKUP.sub(" ", text)).split())


def clean_entries(parts: Iterable[str], placeholders: Collection[str] = ()) -> tuple[str, ...]:
    """Clean the entries of a list and keep each once, in order.

    Args:
        placeholders: Case-folded words that the dataset writes for "none"; entries that are such
            a word are left out.
    """
    found = (clean(part)[:ENTRY_MAX_CHARS].strip() for part in parts)
    return tuple(
        dict.fromkeys(part for part in found if part and part.casefold() not in placeholders)
    )[:LIST_MAX]


def split_list(
    text: str, separators: str = ";|", placeholders: Collection[str] = ()
) -> tuple[str, ...]:
    """Split a list that is written in one field into its entries."""
    # Unescape first: the semicolon of an entity separates nothing.
    return clean_entries(re.split(f"[{re.escape(separators)}]", html.unescape(text)), placeholders)


MILLISECONDS_FROM = 1e11
SHOWN_CHARS = 40
Raw = TypeVar("Raw")
Checked = TypeVar("Checked")


class Place(NamedTuple):
    """A line of a data file, which checks the line's values.

    Its methods raise BrokenData.
    """

    file: str
    line: int

    def refusal(self, field: str, problem: str) -> BrokenData:
        """Return the error for a field of this line."""
        return BrokenData(self.file, self.line, field, problem)

    def check(self, rule: Callable[[Raw, str], Checked], value: Raw, field: str) -> Checked:
        """Check a value by a rule of the service's input.

        Args:
            rule: Takes the value and the field's name, and raises InvalidInput.
        """
        try:
            return rule(value, field)
        except InvalidInput as error:
            raise self.refusal(error.field, error.problem) from None

    def client(self, change: ClientChange) -> ClientChange:
        """Check a client as a whole.

        Its lists and its metadata have bounds of their own, beyond those of single cells.
        """
        return self.check(lambda whole, _: check_client(whole), change, "")

    def number(self, value: str, field: str) -> float:
        """Parse a finite number."""
        try:
            parsed = float(value)
        except ValueError:
            raise self.refusal(field, f"{value[:SHOWN_CHARS]!r} is not a number") from None
        if not math.isfinite(parsed):
            raise self.refusal(field, f"{value[:SHOWN_CHARS]!r} is not a finite number")
        return parsed

    def parse_unix_time(self, value: str, field: str) -> int:
        """Parse seconds or milliseconds since 1970.

        Returns:
            Milliseconds since 1970. Numbers from 1e11 on are milliseconds already (as seconds they
            would lie after the year 5138).
        """
        parsed = self.number(value, field)
        return self._parse_seconds(
            parsed / 1000 if parsed >= MILLISECONDS_FROM else parsed, value, field
        )

    def parse_iso_time(self, value: str, field: str) -> int:
        """Parse a date or time in ISO 8601.

        A time without a zone is in UTC.

        Returns:
            Milliseconds since 1970.
        """
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            raise self.refusal(
                field,
                f"{value[:SHOWN_CHARS]!r} is not a time; give seconds since 1970, 2026-01-31 or"
                " 2026-01-31T12:00:00Z",
            ) from None
        aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        return self._parse_seconds(aware.timestamp(), value, field)

    def split(self, text: str, separator: str | None, names: Sequence[str]) -> list[str]:
        """Split a line into one value for each name.

        Args:
            separator: None: any white space.
        """
        values = text.split(separator)
        size = f"the line has {len(values)} fields, not {len(names)}"
        if len(values) < len(names):
            raise self.refusal(names[len(values)], f"is missing: {size}")
        if len(values) > len(names):
            raise self.refusal(names[-1], f"is followed by more: {size}")
        return values

    def _parse_seconds(self, seconds: float, value: str, field: str) -> int:
        if seconds < 0 or (milliseconds := round(seconds * 1000)) >= LAST_SECOND * 1000:
            raise self.refusal(
                field, f"{value[:SHOWN_CHARS]!r} is outside of the years 1970 to 9998"
            )
        return milliseconds


class IdChecker:
    """Checks ids, each distinct one once.

    Args:
        strip: Remove white space around ids; in tables it is layout.
    """

    def __init__(self, strip: bool = True) -> None:
        self._valid: set[str] = set()
        self._strip = strip

    def check(self, value: str, place: Place, field: str) -> str:
        """Return the id: 1 to 256 bytes of UTF-8 without control characters."""
        if value in self._valid:
            return value
        name = place.check(check_id, value.strip() if self._strip else value, field)
        self._valid.add(name)
        return name

    def check_first(self, value: str, place: Place, field: str, described: Container[str]) -> str:
        """Return a client's id, which no earlier line may have described."""
        name = self.check(value, place, field)
        if name in described:
            raise place.refusal(
                field,
                f"{name[:SHOWN_CHARS]!r} was described on an earlier line; keep one of them",
            )
        return name


def find_all(folder: Path, pattern: str) -> list[Path]:
    """List the files whose names match, plain or as .gz, by name.

    A name without a pattern has at most one file.

    Raises:
        BrokenData: A file exists as both, or something with such a name is not a file.
    """
    found = sorted(
        path for path in folder.iterdir() if fnmatch.fnmatchcase(clean_name(path), pattern)
    )
    for path in found:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "a broken link, or a device"
            raise BrokenData(
                path.name,
                0,
                "",
                f"is {what}, not a file; put a file in its place, or move it away",
            )
    for first, second in pairwise(found):
        name = clean_name(first)
        if name == clean_name(second):
            raise BrokenData(name, 0, "", f"exists plain and as {name}.gz; keep one of them")
    return found


def clean_name(path: Path) -> str:
    """Return the file's name without .gz."""
    return path.name.removesuffix(".gz")


def number_lines(path: Path, fallback: str | None = None) -> Iterator[tuple[Place, str]]:
    """Read a file's lines that are not blank, without line ends.

    Args:
        fallback: The encoding of a line that is not UTF-8; None refuses such a line.
    """
    file = clean_name(path)
    with _open(path) as stream:
        number = 0
        try:
            for number, raw in enumerate(stream, 1):
                place = Place(file, number)
                text = _decode(raw, place, fallback).rstrip("\r\n")
                if text.strip():
                    yield place, text
        except (OSError, EOFError) as error:
            raise BrokenData(file, number + 1, "", f"cannot be read ({error})") from error


def read_csv_rows(path: Path, fields: Sequence[str]) -> Iterator[tuple[Place, list[str]]]:
    """Read a CSV file with a heading, as values of these fields.

    Its columns may stand in any order.
    """
    csv.field_size_limit(1 << 24)
    file = clean_name(path)
    with _open(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        try:
            heading = [name.strip() for name in next(reader, [])]
            columns = _find_columns(heading, fields, Place(file, 1))
            for row in reader:
                if not any(row):
                    continue
                place = Place(file, reader.line_num)
                if len(row) != len(heading):
                    raise place.refusal(
                        heading[min(len(row), len(heading) - 1)],
                        f"the line has {len(row)} fields, the heading {len(heading)}",
                    )
                yield place, [row[column] for column in columns]
        except csv.Error as error:
            raise BrokenData(
                file, reader.line_num, fields[0], f"is not proper CSV ({error})"
            ) from error
        except UnicodeDecodeError as error:
            raise BrokenData(
                file, reader.line_num + 1, fields[0], "is not UTF-8; save the file as UTF-8"
            ) from error
        except (OSError, EOFError) as error:
            raise BrokenData(file, reader.line_num + 1, "", f"cannot be read ({error})") from error


def _find_columns(heading: Sequence[str], fields: Sequence[str], place: Place) -> list[int]:
    for name in fields:
        if name not in heading:
            raise place.refusal(
                name, f"is missing from the heading, which has {', '.join(heading) or 'no fields'}"
            )
    return [heading.index(name) for name in fields]


def _open(path: Path) -> BinaryIO:
    try:
        return cast(BinaryIO, gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb"))
    except OSError as error:
        raise BrokenData(clean_name(path), 0, "", f"cannot be opened ({error.strerror})") from error


def _decode(raw: bytes, place: Place, fallback: str | None) -> str:
    try:
        return raw.decode("utf-8-sig" if place.line == 1 else "utf-8")
    except UnicodeDecodeError:
        if fallback:
            return raw.decode(fallback)
        raise place.refusal("", "is not UTF-8; save the file as UTF-8") from None
