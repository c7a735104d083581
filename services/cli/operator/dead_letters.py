"""`propagation dead-letters`: interactions whose reasoning failed for good.

The commands ask a running service; without one, they open the database.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.cli.access import (
    AsJson,
    Assignments,
    Config,
    Count,
    Database,
    ServiceOrDatabase,
    ask,
    ask_or_open,
    get_settings,
    with_engine,
    with_store,
)
from services.cli.exits import Command
from services.cli.query.history import Page, format_time, print_next_page
from services.runtime.console import print_answer, print_result, print_table, print_text

if TYPE_CHECKING:
    from services.config.settings import Settings

dead_letters = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Interactions whose reasoning failed for good; their numbers were learned all the same.",
)


@dead_letters.command("list", cls=Command)
def list_dead_letters(
    count: Count = 20,
    page: Page = "",
    exchanges: Annotated[
        bool,
        typer.Option("--exchanges", help="Show what the model was asked last, and answered."),
    ] = False,
    address: ServiceOrDatabase = None,
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """List what failed and why, newest first.

    A service is asked if one runs (role admin). Without one, and with --database, --config or
    --set, the database is opened.

    JSON: the proto's ListDeadLettersResponse.
    """
    request = pb.ListDeadLettersRequest(page_size=count, page_token=page, exchanges=exchanges)

    def read_database() -> pb.ListDeadLettersResponse:
        from services.grpc.handlers.operator.dead_letters import answer_dead_letters

        return with_store(
            get_settings(config, assignments, database=database),
            lambda store: answer_dead_letters(store, request),
        )

    answer = ask_or_open(
        address,
        lambda chosen: ask(chosen, lambda stub: stub.ListDeadLetters(request)),
        read_database,
        database_named=any((database, config, assignments)),
    )
    print_answer(answer, _print_letters, json=json)


def _print_letters(answer: pb.ListDeadLettersResponse) -> None:
    if not answer.dead_letters:
        print_text("No dead letters.")
        return
    print_table(
        "",
        ("sequence", "event", "user", "item", "failed (UTC)", "tries", "reason"),
        [
            (
                letter.sequence,
                letter.interaction.event_id,
                letter.interaction.user_id,
                letter.interaction.item_id,
                format_time(letter.failed_at) if letter.HasField("failed_at") else "",
                letter.attempts if letter.HasField("attempts") else "",
                f"(queued) {letter.reason}" if letter.queued else letter.reason,
            )
            for letter in answer.dead_letters
        ],
        ("sequence", "tries"),
    )
    for letter in answer.dead_letters:
        if letter.asked:
            print_text(f"--- {letter.sequence} was asked:", wrap=False)
            print_text(*letter.asked.split("\n"), wrap=False)
            print_text(f"--- {letter.sequence} was answered:", wrap=False)
            print_text(*letter.answered.split("\n"), wrap=False)
    print_next_page(answer.next_page_token)


@dead_letters.command("replay", cls=Command)
def replay_dead_letters(
    sequences: Annotated[
        list[int],
        typer.Argument(
            metavar="SEQUENCE...",
            min=1,
            help="Dead letters by sequence; none: all.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - typer reads it
    address: ServiceOrDatabase = None,
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Try dead letters again.

    Their edits apply to the current profiles, and are marked late. A service that runs (role
    admin) queues them and tries them in the background. Without one, and with --database, --config
    or --set, the command tries them itself.

    JSON: the proto's ReplayDeadLettersResponse; of a database {"mended", "failed"}.
    """
    ask_or_open(
        address,
        lambda chosen: _queue(chosen, sequences, json=json),
        lambda: _retry(get_settings(config, assignments, database=database), sequences, json=json),
        database_named=any((database, config, assignments)),
    )


def _queue(address: str, sequences: list[int], *, json: bool) -> None:
    request = pb.ReplayDeadLettersRequest(sequences=sequences, all=not sequences)
    answer = ask(address, lambda stub: stub.ReplayDeadLetters(request))
    unknown = (
        f" {pluralize(answer.unknown, 'sequence')} of no dead letter." if answer.unknown else ""
    )
    print_result(
        answer,
        f"{answer.queued:,} queued; the service tries them again in the background.{unknown}",
        json=json,
    )


def _retry(settings: "Settings", sequences: list[int], *, json: bool) -> None:
    mended, failed = with_engine(
        settings, lambda engine: engine.retry_dead_letters(sequences or None)
    )
    print_result(
        {"mended": mended, "failed": failed},
        f"{mended:,} mended, {failed:,} failed again.",
        json=json,
    )
