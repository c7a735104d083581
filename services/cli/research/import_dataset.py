"""`propagation import`: load a dataset into a service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from propagation.model import pluralize
from services.cli.exits import ExitCode
from services.cli.options import LOOPBACK, Address, AsJson, First
from services.cli.service_call import ask
from services.client.errors import UsageProblem
from services.runtime.console import console, print_json, progress_bar

if TYPE_CHECKING:
    from propagation.datasets.dataset import Dataset
    from services.client.upload import UploadReport

Folder = Annotated[
    Path,
    typer.Argument(
        help="MovieLens, RecBole atomic files, or clients.jsonl and events.jsonl: docs/data.md."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Orders events of equal time.")]


def import_(
    folder: Folder,
    first: First = None,
    seed: Seed = 7,
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

    dataset = load_dataset(folder, seed)
    dataset = dataset.first(first) if first else dataset
    report = _uploaded(dataset, address)
    if json:
        print_json({"name": dataset.name, **as_json(report), "notes": dataset.notes})
    else:
        for line in in_words(dataset, report):
            console().print(line, markup=False)
    if report.outcomes["rejected"]:
        raise typer.Exit(ExitCode.WRONG)


def _uploaded(dataset: "Dataset", address: str) -> "UploadReport":
    from services.client.upload import upload

    clients = len(dataset.items) + len(dataset.users)
    if not clients:
        raise UsageProblem(f"{dataset.name} holds nothing to import")
    with progress_bar() as bar:
        task = bar.add_task(dataset.name, total=clients + len(dataset))
        return ask(
            address,
            lambda stub: upload(
                stub, dataset.clients, dataset.events, lambda more: bar.advance(task, more)
            ),
        )


def as_json(report: "UploadReport") -> dict[str, object]:
    """Return the report as JSON values."""
    return {
        "clients": report.clients,
        "clients_changed": report.clients_changed,
        **{name: report.outcomes[name] for name in ("accepted", "duplicate", "rejected")},
        "examples": report.examples,
        "sequence": report.sequence,
    }


def in_words(dataset: "Dataset", report: "UploadReport") -> list[str]:
    """Print the report."""
    counts = ", ".join(
        f"{report.outcomes[name]:,} {name}" for name in ("accepted", "duplicate", "rejected")
    )
    return [
        (
            f"{dataset.name}: {pluralize(report.clients, 'client')} ({report.clients_changed:,} "
            "new "
            f"or changed); events: {counts}"
        ),
        *dataset.notes,
        *_left_out(report),
        *(f"rejected: {example}" for example in report.examples),
    ]


def _left_out(report: "UploadReport") -> list[str]:
    """Return what is in the service now and what is not, if that is not everything."""
    accepted, known, rejected = (
        report.outcomes[name] for name in ("accepted", "duplicate", "rejected")
    )
    if not rejected:
        return []
    return [
        f"Loaded: all clients and {pluralize(accepted, 'new event')}; there already: {known:,}."
        f" Not loaded: {pluralize(rejected, 'event')}; of those that the service has with other "
        "content it keeps what it had."
        " The first of them:"
    ]
