"""Export of everything as JSON Lines, and import of it, without loss.

The first line names format, schema and tables. Each further line is a row, {table: {column:
value}}, in the order of the table. The last line has the number of rows and a digest of all lines
before it: a file that was cut short is refused, and so is one with anything after the last line.
Bytes are written as {"base64": ...}, and the body of a profile version as its plain JSON.
"""

import base64
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from propagation.adapters.shared.text_bodies import decompress_body, pack_body
from propagation.adapters.sqlite.connection import (
    NEW_COLUMNS,
    ROW_STEPS,
    create_tables,
    get_newest_version,
    make_words,
)
from propagation.model import BrokenData, SchemaTooNew

FORM = 1
# They follow from other tables, and a restore makes them again.
DERIVED = {"client_word"}
BODIES = {("profile_version", "body")}
LINES_A_REPORT = 5_000
ROWS_A_STATEMENT = 2_000
Tables = Mapping[str, Sequence[str]]
OnProgress = Callable[[int, int], None]
"""Takes the amount done and the total amount, e.g. in rows or bytes."""


def write_export(reader: sqlite3.Connection, file: BinaryIO, progress: OnProgress) -> int:
    """Write all rows that a reader sees; return how many."""
    tables = _read_tables(reader)
    total = sum(reader.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables)
    digest = blake2b(digest_size=16)
    head = {
        "propagation": {
            "form": FORM,
            "schema": reader.execute("PRAGMA user_version").fetchone()[0],
            "rows": total,
            "tables": tables,
        }
    }
    for done, line in enumerate(chain((head,), _read_rows(reader, tables))):
        data = orjson.dumps(line) + b"\n"
        digest.update(data)
        file.write(data)
        if done % LINES_A_REPORT == 0:
            progress(done, total)
    file.write(orjson.dumps({"end": {"rows": done, "blake2b": digest.hexdigest()}}) + b"\n")
    progress(total, total)
    return done


def _read_tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of each exported table, tables ordered by name."""
    return {
        name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
            "ORDER BY name"
        )
        if name not in DERIVED
    }


def _read_rows(
    reader: sqlite3.Connection, tables: Tables
) -> Iterator[dict[str, dict[str, object]]]:
    """Read all rows in the table's own order.

    The order is by rowid, or by key if a table has no rowid.
    """
    for table, columns in tables.items():
        for row in reader.execute(f'SELECT {_list_columns(columns)} FROM "{table}" NOT INDEXED'):
            yield {
                table: {
                    column: _convert_value(table, column, value)
                    for column, value in zip(columns, row, strict=True)
                }
            }


def _convert_value(table: str, column: str, value: object) -> object:
    if not isinstance(value, bytes):
        return value
    return (
        orjson.Fragment(decompress_body(value))
        if (table, column) in BODIES
        else {"base64": base64.b64encode(value).decode()}
    )


def _to_stored(table: str, column: str, row: Mapping[str, Any]) -> object:
    value = row[column]
    if (table, column) in BODIES:
        return pack_body(orjson.dumps(value), row["ref"], row["version"])
    return base64.b64decode(value["base64"], validate=True) if isinstance(value, dict) else value


def read_export(
    new: sqlite3.Connection, file: BinaryIO, source: Path, progress: OnProgress
) -> None:
    """Fill an empty database with the rows of an export.

    Raises:
        BrokenData: A line cannot be read.
        SchemaTooNew: A newer release wrote the export.
    """
    lines = _Lines(file, source)
    schema, total, tables = lines.read_head()
    if schema > get_newest_version():
        raise SchemaTooNew(
            f"{source} has schema {schema}, this release knows up to {get_newest_version()};"
            " upgrade the service"
        )
    create_tables(new)
    if tables != _leave_out_columns(_read_tables(new), schema):
        raise lines.build_refusal("tables", f"are not those of schema {schema}")
    new.execute("PRAGMA journal_mode=OFF")
    new.execute("PRAGMA synchronous=OFF")
    new.execute("BEGIN")
    for table, rows in groupby(lines.rows(tables), key=lambda row: row[0]):
        put = (
            f'INSERT INTO "{table}" ({_list_columns(tables[table])}) VALUES '
            f"({', '.join('?' * len(tables[table]))})"
        )
        while part := [values for _, values in islice(rows, ROWS_A_STATEMENT)]:
            try:
                new.executemany(put, part)
            except (sqlite3.IntegrityError, OverflowError) as error:
                raise lines.build_refusal(
                    table, f"{error}, in this line or the {len(part) - 1:,} before it"
                ) from error
            progress(lines.done, total)
    for version, statements in ROW_STEPS.items():
        for statement in statements if version > schema else ():
            new.execute(statement)
    make_words(new)
    new.execute("COMMIT")


def _leave_out_columns(tables: Tables, schema: int) -> dict[str, list[str]]:
    """Return the columns of each table that a schema had."""
    later = {
        (table, column)
        for version, added in NEW_COLUMNS.items()
        if version > schema
        for table, columns in added.items()
        for column in columns
    }
    return {
        table: [column for column in columns if (table, column) not in later]
        for table, columns in tables.items()
    }


def _list_columns(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


class _Lines:
    """The lines of an export; every error names its line."""

    def __init__(self, file: BinaryIO, source: Path) -> None:
        self._file = file
        self._source = source
        self._digest = blake2b(digest_size=16)
        self.number = 0
        self.done = 0

    def read_head(self) -> tuple[int, int, Tables]:
        """Return (schema, rows, columns by table)."""
        try:
            head = self._read_next()["propagation"]
            form, schema, rows, tables = (
                head[name] for name in ("form", "schema", "rows", "tables")
            )
        except (KeyError, TypeError) as error:
            raise self.build_refusal(
                "", "is not the first line of what `propagation export` writes"
            ) from error
        if form != FORM or not isinstance(schema, int) or not isinstance(rows, int):
            raise self.build_refusal("form", f"is {form!r}; this release reads {FORM}")
        return schema, rows, tables

    def rows(self, tables: Tables) -> Iterator[tuple[str, list[object]]]:
        """Yield (table, values) of each row.

        The last line must confirm that no row is missing, and nothing may follow it.
        """
        while True:
            digest = self._digest.hexdigest()
            ((table, row),) = self._read_next().items()
            if table == "end":
                if row != {"rows": self.done, "blake2b": digest}:
                    raise self.build_refusal(
                        "end", "the count or digest does not match: lines were lost or changed"
                    )
                if self._file.read(1):
                    raise self.build_refusal(
                        "end",
                        "more follows this line, which must be the last: the export was changed",
                    )
                return
            if table not in tables:
                raise self.build_refusal(table, "is not a table of this schema")
            try:
                values = [_to_stored(table, column, row) for column in tables[table]]
            except (KeyError, TypeError, ValueError) as error:
                raise self.build_refusal(
                    table, f"the row is incomplete or damaged: {error}"
                ) from error
            self.done += 1
            yield table, values

    def _read_next(self) -> dict[str, Any]:
        line = self._file.readline()
        self.number += 1
        if not line.endswith(b"\n"):
            raise self.build_refusal("", "the file ends before its last line")
        self._digest.update(line)
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise self.build_refusal("", f"is not JSON: {error}") from error
        if not isinstance(value, dict) or len(value) != 1:
            raise self.build_refusal("", "is not a row as `propagation export` writes it")
        return value

    def build_refusal(self, field: str, problem: str) -> BrokenData:
        """Return an error about the line that was read last."""
        return BrokenData(
            str(self._source),
            self.number,
            field,
            f"{problem}; fetch it again, or restore another: nothing was replaced",
        )
