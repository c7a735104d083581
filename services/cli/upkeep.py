"""`propagation reindex`: what is derived, made again from the graph."""

import time

from services.cli.opening import with_engine
from services.cli.options import AsJson, Assignments, Config, Database, settings_of
from services.cli.output import console, print_json, progress_bar


def reindex(database: Database = None, config: Config = None, assignments: Assignments = None, json: AsJson = False) -> None:
    """Empty the vector index and make it again from the graph; nothing else changes.

    JSON: {"points", "seconds"}."""
    settings = settings_of(config, assignments, database=database)
    started = time.monotonic()
    with progress_bar() as bar:
        task = bar.add_task("reindex", total=None)
        points = with_engine(settings, lambda engine: engine.vectors.reindex(
            lambda done, total: bar.update(task, completed=done, total=total)))
    seconds = round(time.monotonic() - started, 3)
    if json:
        print_json({"points": points, "seconds": seconds})
    else:
        console().print(f"The index holds {points:,} points, made in {seconds:.1f} s.")
