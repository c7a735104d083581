"""A Neo4j server for a benchmark.

It is the server of the tests, with a heap of 1 GB, and runs on the cores of the benchmark.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.run import Run
from services.config.settings import Settings
from tests.neo4j_server.server import Neo4jServer

HEAP = ("-Xms1g", "-Xmx1g")


@contextmanager
def neo4j_settings(run: Run, name: str) -> Iterator[Settings]:
    """Yield the settings of a service on an empty server.

    The server is stopped afterwards. A service that is started meanwhile, as a process of its own,
    finds the settings in its environment.
    """
    with neo4j_server(run, name) as server:
        yield Settings(store="neo4j", neo4j=server.settings)


@contextmanager
def neo4j_server(run: Run, name: str) -> Iterator[Neo4jServer]:
    """Yield the server itself, for a benchmark that kills it."""
    server = Neo4jServer(run.scratch / f"neo4j-{name}", java_options=HEAP)
    server.start()
    variables = {
        "PROPAGATION_STORE": "neo4j",
        "PROPAGATION_NEO4J__URI": server.settings.uri,
        "PROPAGATION_NEO4J__PASSWORD": server.settings.password.get_secret_value(),
    }
    os.environ.update(variables)
    try:
        yield server
    finally:
        for variable in variables:
            del os.environ[variable]
        server.stop()
