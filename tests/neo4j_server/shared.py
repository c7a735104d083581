"""One server for a whole test run.

On a machine without Java or Maven its tests are skipped; in CI they fail there. NEO4J_TEST_URI and
NEO4J_TEST_PASSWORD name a server that runs already; everything in it is deleted.
"""

import atexit
import os
import tempfile
from functools import cache
from pathlib import Path

import pytest

from propagation.adapters.neo4j.settings import Neo4jSettings
from tests.neo4j_server.build import describe_missing_programs
from tests.neo4j_server.server import Neo4jServer, Server

KEEP_PLANS = "dbms.cypher.min_replan_interval=1h"
"""Otherwise the server plans most statements anew for each test, because each fills a database."""


def skip_where_missing() -> None:
    """Skip the test if no Neo4j can be started; fail in CI."""
    if lacking := describe_missing_programs():
        if os.environ.get("CI"):
            pytest.fail(
                f"CI runs every backend, and Neo4j cannot be started: {lacking}", pytrace=False
            )
        pytest.skip(f"Neo4j: {lacking}")


@cache
def get_shared_server() -> Server:
    """Start the server at the first call; it stops with the run."""
    if uri := os.environ.get("NEO4J_TEST_URI"):
        return Server(Neo4jSettings(uri=uri, password=os.environ["NEO4J_TEST_PASSWORD"]))
    skip_where_missing()
    folder = tempfile.TemporaryDirectory(prefix="neo4j-")
    atexit.register(folder.cleanup)
    server = Neo4jServer(Path(folder.name), options=[KEEP_PLANS])
    server.start()
    atexit.register(server.stop)
    return server


_emptied_for: list[Path] = []


def get_server(folder: Path) -> Server:
    """Return the shared server, with an empty database for a new folder.

    If the folder is that of the call before, the database stays as it is.
    """
    server = get_shared_server()
    if _emptied_for[-1:] != [folder]:
        server.empty()
        _emptied_for[:] = [folder]
    return server
