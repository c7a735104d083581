"""`propagation import` and `replay`: load or replay a dataset.

`import` loads the dataset into a service; `replay` runs it through the whole loop.
"""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from propagation.plurals import pluralize
from services.cli.access import (
    LOOPBACK,
    WAIT_SECONDS,
    WAIT_TO_LISTEN_SECONDS,
    Address,
    AsJson,
    Assignments,
    Config,
    Database,
    First,
    Folder,
    ask,
    get_settings,
    measure_time,
    with_engine,
)
from services.cli.exits import ExitCode
from services.client.errors import UsageProblem
from services.runtime.console import print_error, print_result, show_progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from propagation.datasets.dataset import Dataset, Event
    from propagation.model import NewInteraction
    from propagation.workflow.engine import Engine
    from propagation.workflow.replay import ReplayReport
    from services.client.upload import UploadReport


OUTCOMES = ("accepted", "duplicate", "rejected")


def import_(
    folder: Folder,
    first: First = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed for the order of events of equal time.")
    ] = 7,
    wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long to wait for a service that is starting; at most 20 s of it for one that"
            " does not listen yet.",
        ),
    ] = WAIT_SECONDS,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Load a dataset into a running service, through its API.

    docs/data.md has the formats, their fields and limits. The whole folder is read and checked
    before anything is sent; a line that the service would refuse is named with its file and field,
    and nothing is loaded.

    It can be interrupted and run again: events that are stored already are duplicates and change
    nothing. Exit code 1 if events were rejected.

    JSON: {"name", "clients", "clients_changed", "accepted", "duplicate", "rejected", "examples",
    "sequence", "notes"}.
    """
    from propagation.datasets.load import load_dataset

    dataset = load_dataset(folder, seed).first(first)
    report = _upload(dataset, address, wait)
    print_result(
        {
            "name": dataset.name,
            "clients": report.clients,
            "clients_changed": report.clients_changed,
            **{name: report.outcomes[name] for name in OUTCOMES},
            "examples": report.examples,
            "sequence": report.sequence,
            "notes": dataset.notes,
        },
        *describe_report(dataset, report),
        json=json,
    )
    if report.outcomes["rejected"]:
        raise typer.Exit(ExitCode.WRONG)


def _upload(dataset: "Dataset", address: str, wait: float) -> "UploadReport":
    from services.client.upload import upload

    total = len(dataset.items) + len(dataset.users) + len(dataset)
    if not total:
        raise UsageProblem(f"{dataset.name} holds nothing to import")
    with show_progress(dataset.name) as progress:
        return ask(
            address,
            lambda stub: upload(
                stub, dataset.clients, dataset.events, lambda done: progress(done, total)
            ),
            wait=wait,
            wait_to_listen=min(wait, WAIT_TO_LISTEN_SECONDS),
        )


def describe_report(dataset: "Dataset", report: "UploadReport") -> list[str]:
    """Return the report as lines to print."""
    accepted, known, rejected = (report.outcomes[name] for name in OUTCOMES)
    lines = [
        f"{dataset.name}: {pluralize(report.clients, 'client')} ({report.clients_changed:,} new or"
        f" changed); events: {accepted:,} accepted, {known:,} duplicate, {rejected:,} rejected",
        *dataset.notes,
    ]
    if rejected:
        lines.append(
            f"Loaded: all clients and {pluralize(accepted, 'new event')}; already there: {known:,}."
            f" Not loaded: {pluralize(rejected, 'event')}. An event that was recorded before with"
            " other content keeps that content. The first rejected:"
        )
    return [*lines, *(f"rejected: {example}" for example in report.examples)]


def replay(
    folder: Folder,
    database: Database = None,
    first: First = None,
    step: Annotated[int, typer.Option(min=1, help="Events recorded at a time.")] = 256,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Run a dataset through the whole loop on a database file.

    Two runs are equal to the bit, because the loop runs in lockstep: every step of events is
    recorded, learned and reasoned before the next, and rounds run by counts, not by time.

    JSON: {"name", "clients", "events", "rounds", "outcomes": {status: count}, "seconds"}.
    """
    from propagation.datasets.load import load_dataset

    settings = get_settings(config, assignments, database=database)
    dataset = load_dataset(folder, settings.workflow.seed).first(first)
    print_error(*dataset.notes)
    report, seconds = measure_time(
        lambda: with_engine(settings, lambda engine: _replay(engine, dataset, step), create=True)
    )
    outcomes = {str(status): count for status, count in report.outcomes.items()}
    counts = ", ".join(f"{count:,} {status}" for status, count in outcomes.items()) or "none"
    print_result(
        {
            "name": dataset.name,
            "clients": report.clients,
            "events": report.events,
            "rounds": report.rounds,
            "outcomes": outcomes,
            "seconds": seconds,
        },
        f"{dataset.name}: {pluralize(report.clients, 'client')},"
        f" {pluralize(report.rounds, 'round')}; events: {counts}; {seconds:.1f} s; in"
        f" {settings.graph}",
        json=json,
    )


async def _replay(engine: "Engine", dataset: "Dataset", step: int) -> "ReplayReport":
    from propagation.workflow.replay import replay

    with show_progress(dataset.name) as progress:
        return await replay(
            engine,
            dataset.clients,
            check_events(dataset.events),
            step=step,
            progress=lambda events: progress(events, len(dataset)),
        )


def check_events(events: "Iterable[Event]") -> "Iterator[NewInteraction]":
    """Check and convert events as the service does.

    If the same events are imported later, the service thus finds that they are duplicates.
    """
    from services.client.upload import event_to_proto
    from services.grpc.requests import parse_interaction

    now = time.time_ns() // 1_000_000
    for event in events:
        yield parse_interaction(event_to_proto(event), now)
