"""The driver's own lines about a server that does not answer."""

import subprocess
import sys

from tests.ports import find_free_port

# An operator's command does the same: it sets up no logging.
SCRIPT = """
import asyncio, contextlib, sys
from neo4j.exceptions import DriverError, Neo4jError
from propagation.adapters.neo4j.connection.database import create_driver
from propagation.adapters.neo4j.settings import Neo4jSettings

async def connect():
    async with create_driver(Neo4jSettings(uri=sys.argv[1], password="x"), 1, 1.0) as driver:
        with contextlib.suppress(DriverError, Neo4jError):
            await driver.verify_connectivity()

asyncio.run(connect())
"""


def test_it_writes_nothing():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, f"neo4j+s://127.0.0.1:{find_free_port()}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
