"""Lines of data files and the values in them; every refusal names file, line and field."""

import csv
import gzip
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from propagation.datasets.text_cleaning import cleaned
from propagation.model.clients.client import ClientChange
from propagation.model.errors import BrokenData, InvalidInput
from propagation.model.validation import (
    LAST_SECOND,
    check_client,
    check_id,
    check_metadata,
    check_text,
)

MILLISECONDS_FROM = 1e11
FIELD_LIMIT = 1 << 24
Given = TypeVar("Given")
Checked = TypeVar("Checked")


def find(folder: Path, name: str) -> Path | None:
    """The file of this name in the folder, plain or as .gz. Raises BrokenData where it is there as
    both."""
    found = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if len(found) > 1:
        raise twice(name)
    return found[0] if found else None


def twice(name: str) -> BrokenData:
    """Which of two files is meant is not for the loader to say."""
    return BrokenData(name, 0, "", f"is there plain and as {name}.gz; keep one of them")


def plain_name(path: Path) -> str:
    """The file's name without .gz."""
    return path.name.removesuffix(".gz")


def lines_of(path: Path, fallback: str | None = None) -> Iterator[tuple[int, str]]:
    """(number from 1, text without its line end) of every line that is not blank. UTF-8, with or
    without a byte order mark; bytes that are not UTF-8 are read in the encoding `fallback`, or
    refused."""
    with _opened(path) as file:
        number = 0
        try:
            for number, raw in enumerate(file, 1):
                text = _decoded(raw, path, number, fallback).rstrip("\r\n")
                if text.strip():
                    yield number, text
        except (OSError, EOFError) as error:
            raise BrokenData(
                plain_name(path), number + 1, "", f"cannot be read ({error})"
            ) from error


def csv_rows(
    path: Path, required: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, {column: value}) of a CSV file with a heading, its columns in any order,
    quoting undone."""
    csv.field_size_limit(FIELD_LIMIT)
    with _opened(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        try:
            heading = [name.strip() for name in next(reader, [])]
            for name in required:
                if name not in heading:
                    raise BrokenData(
                        plain_name(path),
                        1,
                        name,
                        f"the heading lacks it; it has {', '.join(heading) or 'nothing'}",
                    )
            wanted = {
                name: heading.index(name) for name in (*required, *optional) if name in heading
            }
            for row in reader:
                if not any(row):
                    continue
                if len(row) != len(heading):
                    field = heading[min(len(row), len(heading) - 1)]
                    raise BrokenData(
                        plain_name(path),
                        reader.line_num,
                        field,
                        f"the line has {len(row)} fields, the heading {len(heading)}",
                    )
                yield reader.line_num, {name: row[place] for name, place in wanted.items()}
        except csv.Error as error:
            raise BrokenData(
                plain_name(path), reader.line_num, required[0], f"is not proper CSV ({error})"
            ) from error
        except UnicodeDecodeError as error:
            raise BrokenData(
                plain_name(path),
                reader.line_num + 1,
                required[0],
                "is not UTF-8; save the file as UTF-8",
            ) from error
        except (OSError, EOFError) as error:
            raise BrokenData(
                plain_name(path), reader.line_num + 1, "", f"cannot be read ({error})"
            ) from error


def fields(
    text: str, separator: str | None, names: Sequence[str], file: str, line: int
) -> list[str]:
    """The line's values, one a name; refuses fewer and more. A separator of None is any white
    space."""
    values = text.split(separator)
    if len(values) < len(names):
        raise BrokenData(
            file,
            line,
            names[len(values)],
            f"is missing: the line has {len(values)} fields, not {len(names)}",
        )
    if len(values) > len(names):
        raise BrokenData(
            file,
            line,
            names[-1],
            f"is followed by more: the line has {len(values)} fields, not {len(names)}",
        )
    return values


def within(
    check: Callable[[Given, str], Checked], value: Given, file: str, line: int, field: str
) -> Checked:
    """A check of what callers may give, its refusal told with the place in the file. Raises
    BrokenData."""
    try:
        return check(value, field)
    except InvalidInput as error:
        raise BrokenData(file, line, error.field, error.problem) from None


class Ids:
    """Checks ids, each once. `stripped`: without the white space around them, which in tables is
    lay-out."""

    def __init__(self, stripped: bool = True) -> None:
        self._good: set[str] = set()
        self._stripped = stripped

    def checked(self, value: str, file: str, line: int, field: str) -> str:
        """1 to 256 bytes of UTF-8 without control characters."""
        if value in self._good:
            return value
        name = within(check_id, value.strip() if self._stripped else value, file, line, field)
        self._good.add(name)
        return name


def described(client: ClientChange, file: str, line: int) -> ClientChange:
    """A client as the service takes it: also what a table's cells add up to is bounded. Raises
    BrokenData."""
    return within(lambda given, _: check_client(given), client, file, line, "")


def event_metadata(values: Mapping[str, str], file: str, line: int) -> Mapping[str, str]:
    """What a table says of an event, as the service takes it. Raises BrokenData."""
    return within(check_metadata, values, file, line, "metadata")


def number(value: str, file: str, line: int, field: str) -> float:
    """A finite number."""
    try:
        parsed = float(value)
    except ValueError:
        raise BrokenData(file, line, field, f"{value[:40]!r} is not a number") from None
    if not math.isfinite(parsed):
        raise BrokenData(file, line, field, f"{value[:40]!r} is not a finite number")
    return parsed


def moment(value: str, file: str, line: int, field: str) -> int:
    """Milliseconds since 1970 from seconds or (from 1e11 on: no year before 5138 is meant)
    milliseconds."""
    parsed = number(value, file, line, field)
    return _milliseconds(
        parsed / 1000 if parsed >= MILLISECONDS_FROM else parsed, value, file, line, field
    )


def _milliseconds(seconds: float, value: str, file: str, line: int, field: str) -> int:
    if seconds < 0 or (milliseconds := round(seconds * 1000)) >= LAST_SECOND * 1000:
        raise BrokenData(file, line, field, f"{value[:40]!r} is outside of the years 1970 to 9998")
    return milliseconds


def written_moment(value: str, file: str, line: int, field: str) -> int:
    """Milliseconds since 1970 from a date and time as ISO 8601 writes it; without a zone: UTC."""
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise BrokenData(
            file,
            line,
            field,
            f"{value[:40]!r} is no time; give seconds since 1970, 2026-01-31"
            " or 2026-01-31T12:00:00Z",
        ) from None
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return _milliseconds(aware.timestamp(), value, file, line, field)


def title_of(value: str, file: str, line: int, field: str) -> str:
    """Cleaned, and within what the service takes."""
    return within(check_text, cleaned(value), file, line, field)


def unique(ids: Iterable[str], name: str, file: str, line: int, field: str) -> None:
    """Refuses a client that is described twice."""
    if name in ids:
        raise BrokenData(
            file, line, field, f"{name[:40]!r} was described on an earlier line; keep one of them"
        )


def _opened(path: Path) -> BinaryIO:
    try:
        return cast(BinaryIO, gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb"))
    except OSError as error:
        raise BrokenData(plain_name(path), 0, "", f"cannot be opened ({error.strerror})") from error


def _decoded(raw: bytes, path: Path, line: int, fallback: str | None) -> str:
    try:
        return raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError:
        if fallback:
            return raw.decode(fallback)
        raise BrokenData(
            plain_name(path), line, "", "is not UTF-8; save the file as UTF-8"
        ) from None
