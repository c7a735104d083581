"""Back-up of a million interactions under load.

The load is 500 events a second and one caller of Recommend.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.life.background import background
from benchmarks.life.states import copy_of
from benchmarks.run import Figures, Run
from benchmarks.service.reads import measured
from benchmarks.service.real_service import serving
from benchmarks.service.town import lived_town

LEAST_SECONDS = 20.0


def measure(run: Run) -> Figures:
    """Repeat `propagation backup` while reads are measured, and take the longest.

    The copy is restored and checked by `propagation doctor`.
    """
    town = lived_town(run.short)
    database = copy_of(town, run)
    copy = run.scratch / "copy.db"
    users = [f"u{row}" for row in range(town.users)]
    with (
        serving(database, "--auto-create") as service,
        background(service.address, town, run, "one caller of Recommend"),
        copying(database, copy) as took,
    ):
        reads = measured(service.address, "recommend", users, 1, run.seconds(LEAST_SECONDS))
    run.note(
        f"{len(took)} back-ups of {copy.stat().st_size / 1e6:,.0f} MB:"
        f" {', '.join(f'{each:.1f}' for each in took)} s; Recommend p50 {reads['p50_ms']:.1f} ms"
        " meanwhile"
    )
    yield "recommend_p99_during_backup_ms", reads["p99_ms"]
    yield "backup_s_1m_interactions", max(took)
    restored = run.scratch / "restored.db"
    started = time.monotonic()
    _command("restore", str(copy), "--database", str(restored))
    run.note(f"restored in {time.monotonic() - started:.1f} s")
    if not json.loads(_command("doctor", "--database", str(restored), "--json"))["sound"]:
        raise RuntimeError("the restored copy is not sound")


@contextmanager
def copying(database: Path, copy: Path) -> Iterator[list[float]]:
    """Make one back-up after another while the body runs.

    Yields:
        The seconds of each back-up so far. The list is complete after the body.
    """
    took: list[float] = []
    ended = threading.Event()

    def loop() -> None:
        while not ended.is_set():
            started = time.monotonic()
            _command("backup", str(copy), "--database", str(database), "--force")
            took.append(time.monotonic() - started)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield took
    finally:
        ended.set()
        thread.join()


def _command(*arguments: str) -> str:
    command = [sys.executable, "-m", "services.cli.main", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
