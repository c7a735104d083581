"""One server for a whole test run, and the rule of where it is left out: on a machine without Java,
never in CI.

NEO4J_TEST_URI and NEO4J_TEST_PASSWORD name one that runs already; whatever it holds is emptied."""

import atexit
import os
import tempfile
from functools import cache
from pathlib import Path

import pytest

from propagation.adapters.neo4j.settings import Neo4jSettings
from tests.neo4j_server.build import describe_missing_programs
from tests.neo4j_server.server import Neo4jServer, Server


def skip_where_missing() -> None:
    """Skips the test where no Neo4j can be started; an error where CI is set."""
    if lacking := describe_missing_programs():
        if os.environ.get("CI"):
            pytest.fail(
                f"CI runs every backend, and Neo4j cannot be started: {lacking}", pytrace=False
            )
        pytest.skip(f"Neo4j: {lacking}")


@cache
def get_shared_server() -> Server:
    """Started at the first call, stopped with the run."""
    if uri := os.environ.get("NEO4J_TEST_URI"):
        return Server(Neo4jSettings(uri=uri, password=os.environ["NEO4J_TEST_PASSWORD"]))
    skip_where_missing()
    folder = tempfile.TemporaryDirectory(prefix="neo4j-")
    atexit.register(folder.cleanup)
    server = Neo4jServer(Path(folder.name))
    server.start()
    atexit.register(server.stop)
    return server


_emptied_for: list[Path] = []


def get_server(folder: Path) -> Server:
    """The shared server; its one database is empty at the first call for a folder, and as it was
    left at the next ones."""
    server = get_shared_server()
    if _emptied_for[-1:] != [folder]:
        server.empty()
        _emptied_for[:] = [folder]
    return server
