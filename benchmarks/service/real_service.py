"""The real service as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from propagation.forced_exit import clean_up_by

READY_SECONDS = 120


@dataclass(frozen=True)
class Service:
    """A running service.

    Attributes:
        address: Where it listens, "host:port".
        start_seconds: From its start until it listened.
    """

    address: str
    process: "subprocess.Popen[str]"
    start_seconds: float

    def rss_mb(self) -> float:
        """Return the resident MB of the service and its child processes."""
        return sum(_rss_mb(pid) for pid in (self.process.pid, *_children(self.process.pid)))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def _children(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def _rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1_000
    raise RuntimeError(f"process {pid} has no VmRSS")


@contextmanager
def serving(database: Path, *arguments: str) -> Iterator[Service]:
    """Run a service on this file while the body runs.

    SIGTERM stops it. The service's log is next to the database.
    """
    with open(database.with_suffix(".log"), "a", encoding="utf-8") as log:
        started = time.monotonic()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "services.cli.main",
                "serve",
                "--port",
                "0",
                "--database",
                str(database),
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=_build_environment(),
        )
        with clean_up_by(process.kill):  # if this process has to end before the service has
            try:
                yield Service(_address(process), process, time.monotonic() - started)
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait(READY_SECONDS)


def _build_environment() -> dict[str, str]:
    """Return an environment in which Python keeps compiled modules.

    It does so by default. Otherwise each start would compile some 200 modules, which takes a
    second.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONUNBUFFERED": "1"}


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("listening on "):
        raise RuntimeError(f"the service did not start: {line!r}; see the .log beside its database")
    return line.removeprefix("listening on ").strip()
