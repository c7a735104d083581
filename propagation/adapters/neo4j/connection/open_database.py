"""Is this server one that we know, and this database ours? Nothing is written before both are
answered."""

from neo4j.exceptions import DriverError, Neo4jError

from propagation.adapters.neo4j.connection.database import Neo4jDatabase
from propagation.adapters.neo4j.connection.errors import translated
from propagation.adapters.neo4j.connection.statements import schema_steps
from propagation.model.errors import SchemaTooNew, StoreCorrupt, StoreForeign, StoreUnsupported

MADE_FOR = (5, 26)
WAIT_FOR_INDEXES_SECONDS = 300


async def open_database(database: Neo4jDatabase) -> None:
    """Connect, look, then bring the schema to this release's. Raises StoreUnreachable,
    StoreRefused, StoreUnsupported, StoreForeign, SchemaTooNew, StoreCorrupt."""
    uri = database.settings.uri
    try:
        driver = database.connect()
        server = await driver.get_server_info()
    except (Neo4jError, DriverError, OSError) as error:
        raise translated(error, uri, writing=False) from error
    check_version(server.agent, uri)
    stored = await database.value("opening/meta")
    if stored is None and await database.value("opening/count"):
        stored = await database.value(
            "opening/meta"
        )  # another process of ours may have begun meanwhile
        if stored is None:
            raise StoreForeign(
                f"database {database.settings.database!r} of {uri} holds nodes and none of them is ours; nothing"
                " was touched. Name an empty database, or another server"
            )
    steps = schema_steps()
    newest = steps[-1][0]
    if not isinstance(stored, int | None):
        raise StoreCorrupt(
            f"{uri} says that its schema is {stored!r}, which is no number; restore a back-up"
        )
    if stored is not None and stored > newest:
        raise SchemaTooNew(
            f"{uri} has schema {stored}, this release knows up to {newest}; upgrade the service"
        )
    texts = [text for _, found in steps for text in found]
    if stored != newest or await _lacking(database, texts):
        await _apply(database, texts)
        await database.write(lambda transaction: transaction.do("opening/set_meta", schema=newest))
        if lacking := await _lacking(database, texts):
            raise StoreCorrupt(
                f"{uri} does not keep {', '.join(lacking)} of cypher/schema; look at its log"
            )


def check_version(agent: str, uri: str) -> None:
    """`agent` as the server says it: Neo4j/5.26.25. Raises StoreUnsupported."""
    version = agent.rpartition("/")[2]
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if not agent.startswith("Neo4j/") or numbers != MADE_FOR:
        raise StoreUnsupported(
            f"{uri} is {agent}; this release is made for Neo4j {'.'.join(map(str, MADE_FOR))} (LTS)"
        )


async def _apply(database: Neo4jDatabase, texts: list[str]) -> None:
    """Each is a transaction of its own, as Neo4j has it; all can be repeated, so that a start that
    was cut short is finished."""
    for text in texts:
        await database.define(text)
    await database.rows("opening/await_indexes", seconds=WAIT_FOR_INDEXES_SECONDS)


async def _lacking(database: Neo4jDatabase, texts: list[str]) -> list[str]:
    """Indexes of ours, those of constraints too, that are not there or not online: without one a
    statement would look at every node."""
    states = dict(await database.rows("opening/indexes"))
    wanted = [text.split()[2] for text in texts if text.startswith("CREATE")]
    return sorted(name for name in wanted if states.get(name) != "ONLINE")
