"""`propagation init`, `rebuild` and `reindex`: bootstrap, numbers and vector index by hand."""

import sys
import time

from services.cli.database_access import with_engine
from services.cli.options import AsJson, Assignments, Config, Database, settings_of
from services.runtime.console import print_result, progress_of


def init(
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Bootstrap now (stage 0): fit the embedder, find routers, learn all interactions again.

    It opens an epoch. It runs by itself at `bootstrap_items` items with text; run it by hand to do
    so earlier, or after settings changed (taste.k, session.k, the embedder, the reasoner).

    JSON: {"epoch", "sequence", "seconds"}.
    """
    settings = settings_of(config, assignments, database=database)
    started = time.monotonic()
    epoch = with_engine(settings, lambda engine: engine.init(_say), adopt=True)
    seconds = round(time.monotonic() - started, 3)
    print_result(
        {"epoch": epoch.number, "sequence": epoch.sequence, "seconds": seconds},
        f"Epoch {epoch.number} is open at sequence {epoch.sequence:,}, after {seconds:.1f} s.",
        json=json,
    )


def _say(step: str) -> None:
    if sys.stderr.isatty():
        print(f"{step} ...", file=sys.stderr)


def rebuild(
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Compute the numbers again from the log, from the newest barrier on.

    The result is equal to the bit.

    JSON: {"sequence", "seconds"}.
    """
    settings = settings_of(config, assignments, database=database)
    started = time.monotonic()
    sequence = with_engine(settings, lambda engine: engine.rebuild())
    seconds = round(time.monotonic() - started, 3)
    print_result(
        {"sequence": sequence, "seconds": seconds},
        f"The numbers stand at sequence {sequence:,}, made again in {seconds:.1f} s.",
        json=json,
    )


def reindex(
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Empty the vector index and make it again from the graph.

    JSON: {"points", "seconds"}.
    """
    settings = settings_of(config, assignments, database=database)
    started = time.monotonic()
    with progress_of("reindex") as progress:
        points = with_engine(settings, lambda engine: engine.reindex(progress))
    seconds = round(time.monotonic() - started, 3)
    print_result(
        {"points": points, "seconds": seconds},
        f"The index holds {points:,} points, made in {seconds:.1f} s.",
        json=json,
    )
