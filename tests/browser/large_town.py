"""The page's tasks on a Neo4j server with 100,000 interactions.

Run `python -m tests.browser.large_town`. The first run fills a graph with a town like the demo's,
which takes minutes, and keeps it in .cache/large-town. Each run clicks through a copy of it.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from propagation.adapters.openai.options import OpenAIOptions
from propagation.datasets.generated_town import EVENTS, USERS, generate_town
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.data_settings import DataSettings, build_data_settings_blob
from services.assembly import build_engine
from services.client.stub import Stub, connect
from services.client.upload import upload
from services.config.settings import Settings
from services.runtime.kernel_cache import use_kernel_cache
from tests.browser.conftest import ROOT
from tests.browser.page_waits import PageWaits, TaskWaits
from tests.browser.programs import install
from tests.neo4j_server.build import describe_missing_programs
from tests.neo4j_server.server import Neo4jServer

HERE = Path(__file__).parent
STATES = ROOT / ".cache" / "large-town"
INTERACTIONS = 100_000
SEED = 7
HEAP = ("-Xms1g", "-Xmx1g")
# As in the demo, with a round for each 2,000 changed clients.
SETTINGS = (
    "server.port=0",
    "web.port=0",
    "bootstrap_items=500",
    "update_size=2000",
    "schedule.evolution=none",
)
TASKS = 11  # the ten of the docs, and taking an event back
STOP_SECONDS = 120
REPORT_SECONDS = 30.0


@dataclass(frozen=True)
class Service:
    """A running service and its page."""

    address: str
    page: str


@contextmanager
def run_graph(folder: Path) -> Iterator[Neo4jServer]:
    """Run Neo4j on a town's folder within the block."""
    server = Neo4jServer(folder / "graph", java_options=HEAP)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def run_service(server: Neo4jServer, log: Path) -> Iterator[Service]:
    """Run the service with its page within the block; its log is appended to a file."""
    options = [part for one in SETTINGS for part in ("--set", one)]
    with log.open("a") as errors:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "services.cli.main", "serve", "--web", *options],
            env=os.environ | name_server(server) | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        if not all(lines):
            raise RuntimeError(f"the service did not start; see {log}")
        address, page = (line.split()[-1] for line in lines)
        yield Service(address, page)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def name_server(server: Neo4jServer) -> dict[str, str]:
    """Return the variables that let a service use the server."""
    return {
        "PROPAGATION_STORE": "neo4j",
        "PROPAGATION_NEO4J__URI": server.settings.uri,
        "PROPAGATION_NEO4J__PASSWORD": server.settings.password.get_secret_value(),
    }


def prepare_town(interactions: int) -> Path:
    """Return the folder of a town that is learned, reasoned and evolved.

    A build that was interrupted is continued.
    """
    folder = STATES / str(interactions)
    figures = folder / "figures.json"
    if not figures.exists():
        folder.mkdir(parents=True, exist_ok=True)
        started, load = time.monotonic(), os.getloadavg()[0]
        log = folder / "service.log"
        with run_graph(folder) as server, run_service(server, log) as service:
            found = asyncio.run(_fill(service.address, interactions))
        found |= {"build_s": round(time.monotonic() - started), "load_at_start": load}
        figures.write_text(json.dumps(found, indent=1))
    print(f"The town in {folder}: {figures.read_text()}", flush=True)
    return folder


async def _fill(address: str, interactions: int) -> dict[str, float]:
    users = interactions * USERS // EVENTS
    town = generate_town(SEED, users, interactions)
    print(f"{users:,} users and {interactions:,} interactions are generated.", flush=True)
    async with connect(address) as stub:
        report = await upload(stub, town.dataset.clients, town.dataset.events)
        if report.outcomes["rejected"]:
            raise RuntimeError(report.examples[0])
        print(f"Recorded: {dict(report.outcomes)}.", flush=True)
        telling = asyncio.create_task(_report_progress(stub))
        await stub.RunRound(pb.RunRoundRequest(drain=True))
        status = await stub.GetStatus(pb.GetStatusRequest())
        if not status.last_evolution.run:
            await stub.EvolveRouters(pb.EvolveRoutersRequest())
        telling.cancel()
        status = await stub.GetStatus(pb.GetStatusRequest())
    return {
        "users": status.users,
        "items": status.items,
        "interactions": report.outcomes.total(),
        "waiting": status.learn_lag + status.interactions_to_reason + status.clients_to_describe,
        "rounds": status.last_round.number,
        "changes of the evolution": len(status.last_evolution.changes),
    }


async def _report_progress(stub: Stub) -> None:
    while True:
        status = await stub.GetStatus(pb.GetStatusRequest())
        print(
            f"{time.strftime('%H:%M:%S')} {status.learn_lag:,} to learn,"
            f" {status.interactions_to_reason:,} to reason, round {status.last_round.number}"
            f", load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        await asyncio.sleep(REPORT_SECONDS)


def run_tasks(folder: Path) -> PageWaits:
    """Click through the tasks, on a copy of a town that is removed afterwards."""
    waits = PageWaits()
    with tempfile.TemporaryDirectory(dir=STATES, prefix="run-") as scratch:
        copy = Path(scratch) / "town"
        shutil.copytree(folder, copy)
        with run_graph(copy) as server:
            with run_service(server, copy / "service.log") as service:
                run_tests("test_tasks.py", {"PAGE_UNDER_TEST": service.page}, waits)
            asyncio.run(hand_over_to_model(server))
            run_tests("test_dead_letters.py", name_server(server), waits)
    return waits


async def hand_over_to_model(server: Neo4jServer) -> None:
    """Let a service with a scripted language model go on with a graph.

    A town of this size is reasoned without a model, which takes minutes instead of hours. Only a
    model leaves dead letters, and a service refuses the data of another reasoner; so the name of
    the reasoner that the graph was made with is replaced.
    """
    settings = Settings(
        store="neo4j",
        neo4j=server.settings,
        reasoner="openai",
        openai=OpenAIOptions(model="scripted"),
    )
    engine = build_engine(settings)
    await engine.store.open()
    try:
        epoch = await engine.store.get_current_epoch()
        name = build_data_settings_blob(epoch.era)
        made = DataSettings.model_validate_json(await engine.store.get_blob(name))
        made = made.model_copy(update={"reasoner": engine.reasoner.name})
        await engine.store.put_blob(name, made.blob)
    finally:
        await engine.store.close()


def run_tests(file: str, variables: Mapping[str, str], waits: PageWaits) -> None:
    """Run the tests of a file in this process, with these variables in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        pytest.main(["-m", "browser", "-p", "no:cacheprovider", str(HERE / file)], plugins=[waits])


def print_table(tasks: Sequence[TaskWaits]) -> None:
    """Print each task, with the page and the action for which its visitor waited longest."""
    for task in tasks:
        name = task.task.removeprefix("test_").replace("_", " ")
        print(f"{'passed' if task.passed else 'FAILED'}  {name}, {len(task.pages)} pages")
        for method in ("GET", "POST"):
            if (slowest := task.find_slowest(method)) is not None:
                print(f"        {slowest.seconds:6.2f} s  {method} {slowest.path}")


def describe_load() -> str:
    return f"Load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."


def main() -> int:
    """Run the tasks; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.large_town", description=__doc__)
    parser.add_argument("--interactions", type=int, default=INTERACTIONS)
    options = parser.parse_args()
    if problem := install() or describe_missing_programs():
        print(f"Left out: {problem}.", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are stopped
    use_kernel_cache()
    folder = prepare_town(options.interactions)
    print(describe_load(), flush=True)
    tasks = run_tasks(folder).tasks
    print_table(tasks)
    print(describe_load())
    return int(len(tasks) < TASKS or not all(task.passed for task in tasks))


if __name__ == "__main__":
    sys.exit(main())
