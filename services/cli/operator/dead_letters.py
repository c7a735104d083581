"""`propagation dead-letters`: interactions on which reasoning failed."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.database_access import with_engine
from services.cli.options import AsJson, Assignments, Config, Database, settings_of
from services.runtime.console import console, print_json, print_result, print_table

if TYPE_CHECKING:
    from propagation.workflow.engine import Engine

Limit = Annotated[int, typer.Option("-n", "--count", min=1, help="At most so many, oldest first.")]
dead_letters = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Interactions whose reasoning failed for good; their numbers were learned all the same.",
)


@dead_letters.command("list")
def list_dead_letters(
    count: Limit = 100,
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """List what failed, and why; opens the database.

    `propagation status` shows the newest of a running service.

    JSON: {"dead_letters": [{"sequence", "reason"}]}.
    """
    letters = with_engine(
        settings_of(config, assignments, database=database),
        lambda engine: engine.dead_letters(count),
    )
    if json:
        print_json(
            {
                "dead_letters": [
                    {"sequence": sequence, "reason": reason} for sequence, reason in letters
                ]
            }
        )
    elif letters:
        print_table("", ("sequence", "reason"), letters, ("sequence",))
    else:
        console().print("No dead letters.")


@dead_letters.command("replay")
def replay_dead_letters(
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Try dead letters again; their edits apply to the current profiles, marked late.

    JSON: {"mended", "failed"}.
    """
    mended, failed = with_engine(settings_of(config, assignments, database=database), _replay_all)
    sentence = f"{mended:,} mended, {failed:,} failed again."
    print_result({"mended": mended, "failed": failed}, sentence, json=json)


async def _replay_all(engine: "Engine") -> tuple[int, int]:
    """Replay claim after claim until none repairs anything."""
    mended, failed = 0, 0
    while True:
        done, left = await engine.replay_dead_letters()
        mended, failed = mended + done, left
        if not done:
            return mended, failed
