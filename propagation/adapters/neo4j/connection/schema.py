"""Checks of the server and the database, and updates of the schema."""

import re

from propagation.adapters.neo4j.connection.database import Neo4jDatabase
from propagation.adapters.neo4j.connection.statements import (
    SUFFIX,
    find_cypher_folder,
    split_statements,
)
from propagation.graph_rules import list_search_words
from propagation.model import SchemaTooNew, StoreCorrupt, StoreForeign, StoreUnsupported

SUPPORTED = "5.26"
FIRST_WITH_WORDS = 2
"""The first schema in which clients have words to be found by."""
CLIENTS_A_COMMIT = 2_000
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
    if stored == newest and not await _find_missing_indexes(database, statements):
        return
    for statement in statements:
        await database.define(statement)
    await database.rows("connection/await_indexes", seconds=300)
    if stored is not None and stored < FIRST_WITH_WORDS:
        await _fill_client_words(database)
    await database.write(
        lambda transaction: transaction.execute("connection/set_schema_version", schema=newest)
    )
    if missing := await _find_missing_indexes(database, statements):
        raise StoreCorrupt(
            f"{uri} did not create the indexes {', '.join(missing)}; look at its log"
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


async def _fill_client_words(database: Neo4jDatabase) -> None:
    """Set the words of an older database's clients, in several commits.

    The schema's version is set afterwards, so what was interrupted is done again.
    """
    after = -1
    while rows := await database.table(
        "record/search/clients_by_ref", after=after, limit=CLIENTS_A_COMMIT
    ):
        words = [
            [
                ref,
                " ".join(list_search_words(id_, title or "", attributes or (), categories or ()))
                or None,
            ]
            for ref, id_, title, attributes, categories in rows
        ]
        await database.execute("record/search/set_words", rows=words)
        after = rows[-1][0]


async def _find_missing_indexes(database: Neo4jDatabase, statements: list[str]) -> list[str]:
    """List our indexes that are absent or not online.

    Indexes of constraints are included.
    """
    states = dict(await database.rows("connection/list_indexes"))
    names = [found[1] for text in statements if (found := INDEX_NAME.match(text))]
    return sorted(name for name in names if states.get(name) != "ONLINE")
