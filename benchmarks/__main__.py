"""Run the benchmarks and print their figures.

Usage: `python -m benchmarks [--life | --llm | --neo4j] [--only GROUP] [--short]`. The figures are
printed as a table; the last line is one JSON object with all keys.
"""

import argparse
import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.groups import BENCH, LIFE, LLM, MODULES, NEO4J
from benchmarks.run import Run
from benchmarks.targets import TARGETS
from propagation.forced_exit import clean_up_by
from services.runtime.interruption import interruption
from services.runtime.kernel_cache import use_kernel_cache
from services.runtime.logs import configure_logging

ROOT = Path(__file__).parent.parent
STATES = ROOT / ".cache" / "bench"
PACKAGES = ("grpcio", "numba", "numpy", "protobuf", "pydantic")


def main() -> None:
    options = _options()
    groups = _groups(options)
    interruption.start()
    use_kernel_cache()
    configure_logging("console")
    print(_circumstances())
    figures: dict[str, float | None] = {}
    STATES.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=STATES))
    with clean_up_by(lambda: shutil.rmtree(scratch, ignore_errors=True)):
        run = Run(options.short, STATES, scratch, _ml100k(options.ml100k), options.cds)
        for group in [options.only] if options.only else groups:
            figures |= _measured(group, groups[group], run)
    _print_table(figures)
    print(_circumstances())
    print(json.dumps({key: figures.get(key) for keys in groups.values() for key in keys}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--life",
        action="store_true",
        help="measure a service that runs for long: evolution, back-up, soak",
    )
    parser.add_argument(
        "--llm",
        action="store_true",
        help="measure the work with a language model, against a scripted server",
    )
    parser.add_argument(
        "--cds",
        type=Path,
        metavar="FOLDER",
        help="folder of cds-dense; default: ../shared/datasets/cds-dense",
    )
    parser.add_argument(
        "--neo4j",
        action="store_true",
        help="measure the service on a Neo4j server, which the benchmark starts",
    )
    parser.add_argument(
        "--only",
        metavar="GROUP",
        help=(
            f"measure one group of figures: {', '.join(BENCH)}; with --life: {', '.join(LIFE)};"
            f" with --neo4j: {', '.join(NEO4J)}"
        ),
    )
    parser.add_argument(
        "--short",
        action="store_true",
        help="run each group for seconds only, to see that it works; the figures mean nothing",
    )
    parser.add_argument(
        "--ml100k",
        type=Path,
        default=os.environ.get("ML100K"),
        metavar="FOLDER",
        help=(
            "folder of MovieLens 100k (or set ML100K=FOLDER); default: "
            "../shared/datasets/ml-100k, if it exists"
        ),
    )
    options = parser.parse_args()
    groups = _groups(options)
    if options.only and options.only not in groups:
        parser.error(f"--only {options.only}: no such group; choose one of {', '.join(groups)}")
    return options


def _groups(options: argparse.Namespace) -> Mapping[str, Sequence[str]]:
    if options.neo4j:
        return NEO4J
    return LLM if options.llm else LIFE if options.life else BENCH


def _ml100k(given: Path | None) -> Path | None:
    folder = Path(given) if given else ROOT.parent / "shared" / "datasets" / "ml-100k"
    return folder if (folder / "u.data").exists() else None


def _measured(group: str, keys: Sequence[str], run: Run) -> dict[str, float | None]:
    """Measure the figures of a group.

    If the group fails, the traceback is printed, and the figures that it did not reach are None.
    """
    print(f"{group}:", flush=True)
    started = time.monotonic()
    found: dict[str, float] = {}
    try:
        found.update(importlib.import_module(f"benchmarks.{MODULES[group]}").measure(run))
    except Exception:
        traceback.print_exc()
    run.note(f"{group} took {time.monotonic() - started:.0f} s")
    return {key: found.get(key) for key in keys}


def _circumstances() -> str:
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True,
        text=True,
    )
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return (
        f"commit {commit.stdout.strip() or 'unknown'}; load average {load}; {os.cpu_count()} cores;"
        f" Python {platform.python_version()}, {versions}"
    )


def _print_table(figures: dict[str, float | None]) -> None:
    width = max(map(len, figures))
    print(f"{'figure':<{width}}  {'measured':>12}  {'must':>8}  {'hope':>8}")
    for key, value in figures.items():
        target = TARGETS[key]
        sign = ">=" if target.at_least else "<="
        must = f"{sign}{target.must:g}" if target.must is not None else ""
        hope = f"{target.hope:g}" if target.hope is not None else ""
        verdict = (
            ""
            if value is None or target.met(value) is None
            else ("yes" if target.met(value) else "NO")
        )
        shown = (
            "not measured"
            if value is None
            else f"{value:,.4g}"
            if abs(value) < 1000
            else f"{value:,.0f}"
        )
        print(f"{key:<{width}}  {shown:>12}  {must:>8}  {hope:>8}  {verdict}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(interruption.exit_code)
