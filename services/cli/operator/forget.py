"""`propagation retract`, `forget` and `export-client`: take back, erase and give out."""

import sys
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, TextIO

import typer

from propagation.atomic_file import write_atomically
from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.cli.access import (
    LOOPBACK,
    Address,
    AsJson,
    Force,
    ask,
    build_client_key,
    check_folder,
    name_kind,
)
from services.cli.exits import ExitCode
from services.client.errors import UsageProblem
from services.runtime.console import make_printable_json, print_answer, print_result, print_text

User = Annotated[str | None, typer.Option("--user", metavar="ID", help="A user.")]
Item = Annotated[str | None, typer.Option("--item", metavar="ID", help="An item.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Wipe = Annotated[
    bool,
    typer.Option(
        "--wipe",
        help="Do the night's work at once: learn the factors again, wipe the database files.",
    ),
]
WIPED = (
    " The ranker's factors are learned again, if they are on, and traces in the files are wiped."
)
GOES_ON = "the service completes what it has begun; run the command again to see the result"
WORDS = {
    "UNKNOWN": "was never recorded",
    "RETRACTED": "was retracted before",
    "FORGOTTEN": "was erased with its client",
}


def retract(
    events: Annotated[
        list[str],
        typer.Argument(
            metavar="EVENT...",
            help="Event ids, as they were recorded; with --wipe there may be none.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - typer reads it
    yes: Yes = False,
    wipe: Wipe = False,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Take events back, with what they wrote into numbers and texts.

    A retracted event that is sent again is a duplicate. Exit code 1 if an event was not retracted.

    JSON: the proto's RetractInteractionsResponse.
    """
    if not events and not wipe:
        raise UsageProblem("name the events to take back, or do the night's work with --wipe")
    if events:
        _confirm(f"Take back {pluralize(len(events), 'event')}?", yes)
    answer = ask(
        address,
        lambda stub: stub.RetractInteractions(
            pb.RetractInteractionsRequest(event_ids=events, wipe=wipe)
        ),
        GOES_ON,
    )
    print_answer(answer, partial(_print_retracted, wiped=wipe), json=json)
    if not all(outcome.retracted for outcome in answer.outcomes):
        raise typer.Exit(ExitCode.WRONG)


def _print_retracted(answer: pb.RetractInteractionsResponse, *, wiped: bool) -> None:
    done = sum(outcome.retracted for outcome in answer.outcomes)
    print_text(
        (
            f"{done:,} retracted, at sequence {answer.sequence:,}."
            if done
            else "Nothing was retracted."
        )
        + (WIPED if wiped else "")
    )
    for outcome in answer.outcomes:
        if not outcome.retracted:
            print_text(f"{outcome.event_id}: {WORDS.get(outcome.reason, outcome.reason)}")


def forget(
    user: User = None,
    item: Item = None,
    yes: Yes = False,
    wipe: Wipe = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be erased; change nothing.")
    ] = False,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Erase a client with its events, texts and numbers.

    Texts of other clients that rest on the client are erased, too. This cannot be undone. What
    other clients learned from the client stays (docs/erasure.md).

    JSON: the proto's ForgetClientResponse.
    """
    key = _parse_key(user, item)
    if dry_run:
        request = pb.ForgetClientRequest(key=key, wipe=wipe, dry_run=True)
        preview = ask(address, lambda stub: stub.ForgetClient(request))
        print_result(preview, _describe_preview(preview), json=json)
        return
    _confirm(
        (
            f"Forget {name_kind(key.kind)} {key.id!r}, with all its events and texts? This cannot"
            " be undone."
        ),
        yes,
    )
    answer = ask(
        address, lambda stub: stub.ForgetClient(pb.ForgetClientRequest(key=key, wipe=wipe)), GOES_ON
    )
    print_result(
        answer,
        f"Forgotten: {pluralize(answer.events_erased, 'event')};"
        f" {pluralize(answer.lines_dropped, 'line')} of other clients were erased with it, at"
        f" sequence {answer.sequence:,}." + (WIPED if wipe else ""),
        json=json,
    )


def _describe_preview(answer: pb.ForgetClientResponse) -> str:
    return (
        f"Would be erased, as of sequence {answer.as_of_sequence:,}:"
        f" {pluralize(answer.events_erased, 'event')},"
        f" {pluralize(answer.lines_dropped, 'line')} of other clients,"
        f" {pluralize(answer.items_erased, 'item')} that only these events named; would change:"
        f" {pluralize(answer.router_texts, 'router text')}."
    )


def export_client(
    user: User = None,
    item: Item = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            callback=check_folder,
            help="The file to write; - is stdout.",
        ),
    ] = Path("-"),
    force: Force = False,
    address: Address = LOOPBACK,
) -> None:
    """Export all data about a client, as JSON Lines.

    Each line names its kind of record in `what`: texts, events, profile versions, filter rules,
    gradients, edges, merges, weights. FILE appears when it is complete, and only this user can read
    it; one that exists is overwritten only with --force. A pipe or a link, such as /dev/stdout, is
    written directly.
    """
    request = pb.ExportClientRequest(key=_parse_key(user, item))
    with _open_output(output, force) as file:
        ask(address, lambda stub: _write(stub.ExportClient(request), file))


@contextmanager
def _open_output(output: Path, force: bool) -> Iterator[TextIO]:
    """Open stdout, a file, or a pipe or link.

    A file gets its name when it is complete.

    Raises:
        PropagationError: The file exists, and --force was not given.
    """
    if str(output) == "-":
        yield sys.stdout
    elif output.is_symlink() or (output.exists() and not output.is_file()):
        with output.open("w", encoding="utf-8") as file:
            yield file
    else:
        with (
            write_atomically(output, replace=force) as partial,
            partial.open("w", encoding="utf-8") as file,
        ):
            yield file


async def _write(answers: AsyncIterable[pb.ExportClientResponse], file: TextIO) -> None:
    async for answer in answers:
        print(make_printable_json(answer.json_line), file=file)


def _parse_key(user: str | None, item: str | None) -> pb.ClientKey:
    if (user is None) == (item is None):
        raise UsageProblem("give either --user ID or --item ID")
    return (
        build_client_key("user", user) if user is not None else build_client_key("item", item or "")
    )


def _confirm(question: str, yes: bool) -> None:
    """Ask whether to go on, unless `yes` is given.

    Raises:
        UsageProblem: There is no terminal to ask on.
        Abort: The answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageProblem("there is no terminal to ask on; add --yes")
    typer.confirm(question, abort=True, err=True)
