"""One Neo4j process, which tests start, stop, freeze and kill."""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neo4j import GraphDatabase, Session
from neo4j.exceptions import DriverError, Neo4jError

from propagation.adapters.neo4j.settings import Neo4jSettings
from tests.neo4j_server.build import HERE, prepare_jars
from tests.ports import find_free_port

START_SECONDS = 240.0
STOP_SECONDS = 60.0
JAVA_OPTIONS = ("-Xms256m", "-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Without its second compiler, Java starts a server in half the computing time."""


class Server:
    """A running server."""

    def __init__(self, settings: Neo4jSettings) -> None:
        self.settings = settings

    def empty(self) -> None:
        """Delete all nodes and relationships; indexes stay."""
        self.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS")

    def run(self, text: str, **parameters: object) -> list[list[object]]:
        """Run any statement, as an analyst would; return its rows."""
        with self._session() as session:
            return session.run(text, parameters).values()

    def plans(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Return the server's plan of each statement, made for what the database holds now."""
        with self._session() as session:
            session.run("CALL db.clearQueryCaches()").consume()
            return [session.run(f"EXPLAIN {text}").consume().plan for text in texts]

    @contextmanager
    def _session(self) -> Iterator[Session]:
        settings = self.settings
        password = settings.password.get_secret_value()
        with (
            GraphDatabase.driver(
                settings.uri, auth=(settings.user, password), notifications_min_severity="OFF"
            ) as driver,
            driver.session(database=settings.database) as session,
        ):
            yield session


class Neo4jServer(Server):
    """A server process on a folder, which keeps its data between starts.

    Each object draws a password.

    Args:
        java_options: Java's own options, of memory for example.
        options: Lines of neo4j.conf.
    """

    def __init__(
        self, folder: Path, java_options: Sequence[str] = JAVA_OPTIONS, options: Sequence[str] = ()
    ) -> None:
        self._java_options = java_options
        self._options = options
        self._port = find_free_port()
        super().__init__(
            Neo4jSettings(
                uri=f"bolt://127.0.0.1:{self._port}",
                password=secrets.token_urlsafe(12),
                retry_seconds=30,
            )
        )
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and wait until it answers.

        Raises:
            RuntimeError: The server ended, or took too long; the message has its log.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "neo4j.conf").write_text("\n".join(self._options))
        environment = {
            **os.environ,
            "NEO4J_TEST_PASSWORD": self.settings.password.get_secret_value(),
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "java",
                    *self._java_options,
                    "-cp",
                    f"{prepare_jars()}/*",
                    str(HERE / "Neo4jServer.java"),
                    str(self._folder),
                    str(self._port),
                ],
                env=environment,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"Neo4j did not start:\n{self._log.read_text()[-4_000:]}")
            time.sleep(0.5)

    def stop(self) -> None:
        """Stop the server as an operator does, by SIGTERM."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the server (kill -9), as a crash does."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Freeze the server: it keeps its connections and answers nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    @property
    def _log(self) -> Path:
        return self._folder / "server.log"

    def _answers(self) -> bool:
        try:
            self.run("RETURN 1")
        except (Neo4jError, DriverError):
            return False
        return True

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            process.send_signal(number)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "start it first"
        self._process.send_signal(number)
