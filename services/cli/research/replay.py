"""`propagation replay`: a dataset through the whole loop."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from propagation.model import pluralize
from services.cli.database_access import with_engine
from services.cli.options import AsJson, Assignments, Config, Database, First, Folder, settings_of
from services.runtime.console import console, print_json, progress_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from propagation.datasets.dataset import Dataset
    from propagation.datasets.event_columns import Event
    from propagation.model import ClientChange, NewInteraction
    from propagation.workflow.engine import Engine
    from propagation.workflow.replay import ReplayReport

Step = Annotated[int, typer.Option(min=1, help="Events recorded at a time.")]


def replay(
    folder: Folder,
    database: Database = None,
    first: First = None,
    step: Step = 256,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Run a dataset through the whole loop on a database file, in lockstep.

    Two runs are equal to the bit: every step of events is recorded, learned and reasoned before the
    next, and rounds run by counts, not by time.

    JSON: {"name", "clients", "events", "rounds", "outcomes": {status: count}, "seconds"}.
    """
    from propagation.datasets.load import load_dataset

    settings = settings_of(config, assignments, database=database)
    dataset = load_dataset(folder, settings.workflow.seed)
    dataset = dataset.first(first) if first else dataset
    started = time.monotonic()
    clients = list(checked_clients(dataset.clients))
    report = with_engine(
        settings, lambda engine: _replayed(engine, dataset, clients, step), create=True
    )
    seconds = time.monotonic() - started
    outcomes = {str(status): count for status, count in report.outcomes.items()}
    if json:
        print_json(
            {
                "name": dataset.name,
                "clients": report.clients,
                "events": report.events,
                "rounds": report.rounds,
                "outcomes": outcomes,
                "seconds": round(seconds, 3),
            }
        )
    else:
        counts = ", ".join(f"{count:,} {status}" for status, count in outcomes.items()) or "none"
        console().print(
            f"{dataset.name}: {pluralize(report.clients, 'client')}, "
            f"{pluralize(report.rounds, 'round')}; "
            f"events: {counts}; {seconds:.1f} s; in {settings.graph}",
            markup=False,
        )


async def _replayed(
    engine: "Engine", dataset: "Dataset", clients: "Sequence[ClientChange]", step: int
) -> "ReplayReport":
    from propagation.workflow.replay import replay

    with progress_of(dataset.name) as progress:
        return await replay(
            engine,
            clients,
            checked(dataset.events),
            step=step,
            progress=lambda now: progress(now.events, len(dataset)),
        )


def checked_clients(changes: "Iterable[ClientChange]") -> "Iterator[ClientChange]":
    """Check clients as the service does.

    Raises:
        InvalidInput: The service would refuse one.
    """
    from services.client.upload import client_to_proto
    from services.grpc.requests.validation import parse_client_change

    for change in changes:
        yield parse_client_change(
            client_to_proto(change), None, f"{change.key.kind.name.lower()} {change.key.id!r}"
        )


def checked(events: "Iterable[Event]") -> "Iterator[NewInteraction]":
    """Check events as the service does, so that a later import finds duplicates."""
    from services.client.upload import event_to_proto
    from services.grpc.requests.validation import parse_interaction

    now = time.time_ns() // 1_000_000
    for event in events:
        yield parse_interaction(event_to_proto(event), now)
