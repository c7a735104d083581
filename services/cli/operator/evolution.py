"""`propagation evolve`: runs and lists evolutions of the routers.

Evolutions are run by hand here.
"""

from typing import Annotated

import typer

from propagation.v1 import propagation_pb2 as pb
from services.cli.access import LOOPBACK, Address, AsJson, ask
from services.client.errors import UsageProblem
from services.runtime.console import print_answer, print_json, print_table, print_text

GOES_ON = "the service goes on with it; `propagation evolve --list` shows what came of it"


def evolve(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan and judge, and change nothing.")
    ] = False,
    undo: Annotated[
        int | None, typer.Option(metavar="RUN", min=1, help="Lead a run back, as one more run.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="The newest runs and their verdicts; nothing is run.")
    ] = False,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Split, merge or rewrite routers, judged on the newest interactions.

    JSON: the proto's EvolutionRun; with --list {"runs": [...]}.
    """
    if listed:
        if dry_run or undo is not None:
            raise UsageProblem("--list only shows runs; leave out --dry-run and --undo")
        answer = ask(address, lambda stub: stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest()))
        runs = list(answer.runs)
        print_json({"runs": runs}) if json else _print_runs(runs)
        return
    run = ask(
        address,
        lambda stub: stub.EvolveRouters(pb.EvolveRoutersRequest(dry_run=dry_run, undo_run=undo)),
        "" if dry_run else GOES_ON,
    ).run
    print_answer(run, _print_run, json=json)


def _print_run(run: pb.EvolutionRun) -> None:
    print_text(run_in_words(run))
    if run.changes:
        print_table(
            "",
            ("change", "before", "after", "why"),
            [
                (
                    pb.EvolutionKind.Name(change.kind).removeprefix("EVOLUTION_KIND_").lower(),
                    ", ".join(map(str, change.before)),
                    ", ".join(map(str, change.after)),
                    change.reason,
                )
                for change in run.changes
            ],
        )


def _print_runs(runs: list[pb.EvolutionRun]) -> None:
    undone = {run.undoes: run.run for run in runs if run.published and run.HasField("undoes")}
    print_table(
        "",
        ("run", "time (UTC)", "published", "changes", "verdict"),
        [
            (
                run.run,
                f"{run.time.ToDatetime():%Y-%m-%d %H:%M}",
                _status(run, undone),
                len(run.changes),
                run.verdict,
            )
            for run in runs
        ],
        ("run", "changes"),
    )


def _status(run: pb.EvolutionRun, undone: dict[int, int]) -> str:
    """`undone`: by which run, of those that were."""
    if not run.published:
        return "no"
    return f"undone by run {undone[run.run]}" if run.run in undone else "yes"


def run_in_words(run: pb.EvolutionRun) -> str:
    """Return a run as one line."""
    name = f"run {run.run}" if run.run else "dry run"
    if run.published:
        return f"{name}: published at sequence {run.sequence:,}; {run.verdict}"
    return f"{name}: nothing was changed; {run.verdict}"
