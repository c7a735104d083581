"""The page with 100,000 clients, alone and with 20 visitors.

Visitors and no visitors take turns, while 500 events a second are recorded. Without tokens all
visitors share one feed.
"""

import statistics
import time
from collections.abc import Sequence
from contextlib import nullcontext

import httpx2

from benchmarks.life.background import background
from benchmarks.life.states import copy_of
from benchmarks.run import Figures, Run
from benchmarks.service.reads import measured
from benchmarks.service.real_service import Service, serving
from benchmarks.service.town import Town, town_of_100k_clients
from benchmarks.web.visitors import visiting

VISITORS = 20
TURNS, SECONDS = 4, 12.0
VIEWS = (
    "/",
    "/routers",
    "/routers/taste/0",
    "/clients",
    "/client?kind=user&id=u1",
    "/client?kind=item&id=i1",
    "/trace",
    "/evolution",
    "/history",
    "/failures",
    "/settings",
    "/reports",
)
FILES = ("/static/style.css", "/static/page.js")
ON = ("--auto-create", "--web", "--set", "web.port=0")


def measure(run: Run) -> Figures:
    """Measure the first views, then what visitors cost."""
    town = town_of_100k_clients(run.short)
    with serving(copy_of(town, run), *ON) as service:
        assert service.process.stdout is not None
        page = service.process.stdout.readline().split()[-1]
        yield "web_first_view_s", _open_first(page)
        times = {view: _open(page, view) for view in VIEWS}
        for view, seconds in times.items():
            run.note(f"{view}: {seconds:.3f} s")
        yield "web_slowest_view_s", max(times.values())
        without, with_ = _compare(run, service, town, page)
    for name, key in (("Recommend's p99", "p99_ms"), ("a recording call", "call_ms")):
        run.note(
            f"{name}: without visitors {', '.join(f'{turn[key]:.2f}' for turn in without)} ms;"
            f" with {VISITORS} {', '.join(f'{turn[key]:.2f}' for turn in with_)} ms"
        )
    yield "web_recommend_p99_change_pct", _change(without, with_, "p99_ms")
    yield "web_ingest_change_pct", _change(without, with_, "call_ms")


def _open_first(page: str) -> float:
    """Return the seconds of the first visitor's first view, with its files."""
    started = time.perf_counter()
    with httpx2.Client(base_url=page, trust_env=False, timeout=60) as http:
        for path in ("/", *FILES):
            http.get(path).raise_for_status()
    return time.perf_counter() - started


def _open(page: str, view: str) -> float:
    """Return the seconds of a view's first opening."""
    with httpx2.Client(base_url=page, trust_env=False, timeout=60) as http:
        http.get("/health")
        started = time.perf_counter()
        http.get(view).raise_for_status()
        return time.perf_counter() - started


Turns = Sequence[dict[str, float]]


def _compare(run: Run, service: Service, town: Town, page: str) -> tuple[Turns, Turns]:
    """Measure in turns, without visitors and with them.

    Each is first as often as last: if the machine slows down meanwhile, both suffer alike.
    """
    turns: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    users = [f"u{row}" for row in range(town.users)]
    for turn in range(2 if run.short else TURNS):
        for visited in (False, True) if turn % 2 == 0 else (True, False):
            what = "with visitors" if visited else "without visitors"
            with (
                background(service.address, town, run, what) as load,
                visiting(page, VISITORS, run) if visited else nullcontext(),
            ):
                reads = measured(service.address, "recommend", users, 1, run.seconds(SECONDS))
            turns[visited].append(reads | load)
    return turns[False], turns[True]


def _change(without: Turns, with_: Turns, key: str) -> float:
    """Return by how many percent the median grows with visitors."""
    before, after = (statistics.median(turn[key] for turn in turns) for turns in (without, with_))
    return 100 * (after / before - 1)
