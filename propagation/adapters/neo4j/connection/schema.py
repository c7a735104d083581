"""Checks of the server and the database, and updates of the schema."""

import logging
import re
import time
from collections.abc import Sequence
from typing import Any

from propagation.adapters.neo4j.connection.database import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.connection.statements import (
    SUFFIX,
    find_cypher_folder,
    split_statements,
)
from propagation.graph_rules import list_search_words, name_word_rules
from propagation.model import SchemaTooNew, StoreCorrupt, StoreForeign, StoreUnsupported

SUPPORTED = "5.26"
FIRST_WITH_MARKS = 3
"""The first schema that marks clients which only events named."""
ROW_STEPS = ("maintenance/upgrade/mark_clients_of_events", "maintenance/upgrade/strip_log")
"""Statements that bring the rows of an older schema to that one, some at a time."""
ROWS_A_COMMIT = 2_000
REPORT_SECONDS = 5.0
log = logging.getLogger(__name__)
INDEX_NAME = re.compile(r"CREATE\s+(?:FULLTEXT\s+)?(?:INDEX|CONSTRAINT)\s+(\w+)")


def load_schema_steps() -> dict[int, list[str]]:
    """Read the files schema/NNNN_name.cypher.

    Returns:
        The statements that lead to each schema version, by version in ascending order.
    """
    files = find_cypher_folder().joinpath("schema").iterdir()
    return {
        int(file.name[:4]): split_statements(file.read_text(encoding="utf-8"))
        for file in sorted(files, key=lambda file: file.name)
        if file.name.endswith(SUFFIX)
    }


async def open_database(database: Neo4jDatabase) -> None:
    """Connect to the database, check it, and migrate its schema.

    One check is that the database is empty or ours. Nothing is written before all checks have
    passed. Then the schema becomes that of this release.

    Raises:
        StoreUnreachable: The server does not answer.
        StoreRefused: The server refuses the user, the password or the database.
        StoreUnsupported: The server is another release of Neo4j.
        StoreForeign: The database holds data of another application.
        SchemaTooNew: A newer release of the service has migrated the database.
        StoreCorrupt: The stored version is not a number, or an index cannot be created.
    """
    uri = database.settings.uri
    check_version(await database.connect(), uri)
    steps = load_schema_steps()
    newest = max(steps)
    stored = await _read_stored_version(database)
    if stored is not None and stored > newest:
        raise SchemaTooNew(
            f"{uri} has schema {stored}, and this release knows up to {newest}; upgrade the service"
        )
    statements = [statement for step in steps.values() for statement in step]
    if stored != newest or await _find_missing_indexes(database, statements):
        await _migrate(database, stored, newest, statements)
    await _renew_client_words(database)


async def _migrate(
    database: Neo4jDatabase, stored: int | None, newest: int, statements: list[str]
) -> None:
    """Bring the database to the newest schema.

    The version is set last, so what was interrupted is done again.

    Raises:
        StoreCorrupt: An index cannot be created.
    """
    for statement in statements:
        await database.define(statement)
    await database.rows("connection/await_indexes", seconds=300)
    if stored is not None and stored < FIRST_WITH_MARKS:
        for name in ROW_STEPS:
            await _run_row_step(database, name)
    await database.write(
        lambda transaction: transaction.execute("connection/set_schema_version", schema=newest)
    )
    if missing := await _find_missing_indexes(database, statements):
        raise StoreCorrupt(
            f"{database.settings.uri} did not create the indexes {', '.join(missing)}; look at its"
            " log"
        )


def check_version(agent: str, uri: str) -> None:
    """Check the server's release.

    Args:
        agent: As the server reports it, such as Neo4j/5.26.25.

    Raises:
        StoreUnsupported: The release is not SUPPORTED.
    """
    # The point at the end lets 5.26 and 5.26.25 pass, but not 5.260.
    if not f"{agent}.".startswith(f"Neo4j/{SUPPORTED}."):
        raise StoreUnsupported(f"{uri} is {agent}; this release works with Neo4j {SUPPORTED} (LTS)")


async def _read_stored_version(database: Neo4jDatabase) -> int | None:
    """Read the schema version of the database.

    Returns:
        The version; None if the database is empty.

    Raises:
        StoreForeign: The database holds data of another application.
        StoreCorrupt: The stored version is not a number.
    """
    stored = await database.value("connection/schema_version")
    if stored is None and await database.value("connection/count_nodes"):
        # another process of ours may have created the node meanwhile
        stored = await database.value("connection/schema_version")
        if stored is None:
            raise StoreForeign(
                f"database {database.settings.database!r} of {database.settings.uri} holds data of"
                " another application; nothing was changed. Choose an empty database, or another"
                " server"
            )
    if not isinstance(stored, int | None):
        raise StoreCorrupt(
            f"{database.settings.uri} has schema version {stored!r}, which is not a number;"
            " restore a backup"
        )
    return stored


async def _run_row_step(database: Neo4jDatabase, name: str) -> None:
    """Run a statement for all its rows, in several commits."""
    after: int | None = -1

    async def work(transaction: Transaction) -> int | None:
        last: int | None = await transaction.value(name, after=after, limit=ROWS_A_COMMIT)
        return last

    while after is not None:
        after = await database.write(work)


async def _renew_client_words(database: Neo4jDatabase) -> None:
    """Make the words of all clients anew if other rules made them.

    It takes several commits. The name of the rules is stored last, so what was interrupted is done
    again. A client that changes meanwhile keeps the words of its change. What takes longer than
    some seconds says in the log how far it is.
    """
    rules = name_word_rules()
    if await database.value("record/search/word_rules") == rules:
        return
    done, after, reported = 0, -1, time.monotonic()
    while rows := await database.table(
        "record/search/clients_by_ref", after=after, limit=ROWS_A_COMMIT
    ):
        words = [[ref, sequence, join_search_words(row)] for ref, sequence, *row in rows]
        await database.execute("record/search/set_words", rows=words)
        done, after = done + len(rows), rows[-1][0]
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            log.info("the search words of %d clients are made anew", done)
    await database.execute("record/search/set_word_rules", rules=rules)


def join_words(words: Sequence[str]) -> str | None:
    """Join a client's words for the full-text index; None without words."""
    return " ".join(words) or None


def join_search_words(row: Sequence[Any]) -> str | None:
    """Find and join a client's words.

    Args:
        row: Id, title, attributes and categories; missing ones are None.
    """
    id_, title, attributes, categories = row[:4]
    return join_words(list_search_words(id_, title or "", attributes or (), categories or ()))


async def _find_missing_indexes(database: Neo4jDatabase, statements: list[str]) -> list[str]:
    """List our indexes that are absent or not online.

    Indexes of constraints are included.
    """
    states = dict(await database.rows("connection/list_indexes"))
    names = [found[1] for text in statements if (found := INDEX_NAME.match(text))]
    return sorted(name for name in names if states.get(name) != "ONLINE")
