"""`python -m benchmarks [--only GROUP] [--short]`: a table, and as the last line one JSON object with the issue's keys."""

import argparse
import importlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
import traceback
from importlib.metadata import version
from pathlib import Path

from benchmarks.run import Run
from benchmarks.targets import TARGETS
from services.kernel_cache import use_kernel_cache

ROOT = Path(__file__).parent.parent
STATES = ROOT / ".cache" / "bench"
GROUPS = {
    "ingest": ("ingest_batch_events_per_s", "ingest_single_events_per_s", "ingest_stream_events_per_s"),
    "process": ("process_interactions_per_s", "process_cost_ratio_100k_over_1k_clients"),
    "reading": ("recommend_p50_ms", "recommend_p99_ms", "recommend_overlap", "recommend_per_s", "get_profile_p99_ms"),
    "probe": ("event_to_recommendation_s",),
    "start": ("rss_mb_100k_clients", "start_s_100k_clients"),
    "recommend_ml100k": ("recommend_ml100k_p50_ms", "recommend_ml100k_per_s"),
    "quality": ("n10_off", "n10_placebo", "n10_adoption", "delta", "delta_t", "n10_offk", "n10_offk_adoption", "n10_rules",
                "n10_text"),
}
PACKAGES = ("grpcio", "numba", "numpy", "protobuf", "pydantic")


def main() -> None:
    options = _options()
    use_kernel_cache()
    print(_circumstances())
    figures: dict[str, float | None] = {}
    STATES.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=STATES))
    try:
        run = Run(options.short, STATES, scratch, _ml100k(options.ml100k))
        for group in [options.only] if options.only else GROUPS:
            figures |= _measured(group, run)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _print_table(figures)
    print(_circumstances())
    print(json.dumps({key: figures.get(key) for key in TARGETS}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=GROUPS, help="one group of figures")
    parser.add_argument("--short", action="store_true", help="a few seconds each: the programs work, the figures mean nothing")
    parser.add_argument("--ml100k", type=Path, default=os.environ.get("ML100K"), metavar="FOLDER",
                        help="MovieLens 100k (or ML100K=FOLDER); default: ../shared/datasets/ml-100k, where there is one")
    return parser.parse_args()


def _ml100k(given: Path | None) -> Path | None:
    folder = Path(given) if given else ROOT.parent / "shared" / "datasets" / "ml-100k"
    return folder if (folder / "u.data").exists() else None


def _measured(group: str, run: Run) -> dict[str, float | None]:
    """A group that fails says why, and what it had not measured yet is null; the other groups are still measured."""
    print(f"{group}:", flush=True)
    started = time.monotonic()
    found: dict[str, float] = {}
    try:
        found.update(importlib.import_module(f"benchmarks.{group}").measure(run))
    except Exception:
        traceback.print_exc()
    run.note(f"{group} took {time.monotonic() - started:.0f} s")
    return {key: found.get(key) for key in GROUPS[group]}


def _circumstances() -> str:
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"],
                            capture_output=True, text=True)
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return (f"commit {commit.stdout.strip() or 'unknown'}; load average {load}; {os.cpu_count()} cores; "
            f"Python {platform.python_version()}, {versions}")


def _print_table(figures: dict[str, float | None]) -> None:
    width = max(map(len, figures))
    print(f"{'figure':<{width}}  {'measured':>12}  {'must':>8}  {'hope':>8}")
    for key, value in figures.items():
        target = TARGETS[key]
        sign = ">=" if target.at_least else "<="
        must = f"{sign}{target.must:g}" if target.must is not None else ""
        hope = f"{target.hope:g}" if target.hope is not None else ""
        verdict = "" if value is None or target.met(value) is None else ("yes" if target.met(value) else "NO")
        shown = "not measured" if value is None else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
        print(f"{key:<{width}}  {shown:>12}  {must:>8}  {hope:>8}  {verdict}")


if __name__ == "__main__":
    main()
