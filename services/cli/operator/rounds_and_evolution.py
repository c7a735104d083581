"""`propagation evolve` and `round`: evolutions and rounds by hand."""

from collections.abc import Iterable
from typing import Annotated

import typer

from propagation.model import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.cli.options import LOOPBACK, Address, AsJson
from services.cli.service_call import ask
from services.client.errors import UsageProblem
from services.runtime.console import console, print_answer, print_json, print_result, print_table

GOES_ON = "the service goes on with it; `propagation evolve --list` shows what came of it"
Drain = Annotated[
    bool, typer.Option("--drain", help="Wait until everything recorded is reasoned, then run.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Plan and judge, and change nothing.")]
Undo = Annotated[
    int | None, typer.Option(metavar="RUN", min=1, help="Lead a run back, as one more run.")
]
Listed = Annotated[
    bool, typer.Option("--list", help="The newest runs and their verdicts; nothing is run.")
]


def evolve(
    dry_run: DryRun = False,
    undo: Undo = None,
    listed: Listed = False,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Split, merge or rewrite routers, judged on the newest interactions.

    JSON: the proto's EvolutionRun; with --list {"runs": [...]}.
    """
    if listed:
        if dry_run or undo is not None:
            raise UsageProblem("--list only shows runs; leave out --dry-run and --undo")
        runs = ask(address, lambda stub: stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest())).runs
        print_json({"runs": list(runs)}) if json else _print_runs(list(runs))
        return
    run = ask(
        address,
        lambda stub: stub.EvolveRouters(pb.EvolveRoutersRequest(dry_run=dry_run, undo_run=undo)),
        "" if dry_run else GOES_ON,
    ).run
    print_answer(run, _print_run, json=json)


def _print_run(run: pb.EvolutionRun) -> None:
    console().print(run_in_words(run), markup=False)
    if run.changes:
        print_table(
            "",
            ("change", "before", "after", "why"),
            [
                (_kind(change.kind), _numbers(change.before), _numbers(change.after), change.reason)
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
                _published(run, undone),
                len(run.changes),
                run.verdict,
            )
            for run in runs
        ],
        ("run", "changes"),
    )


def _published(run: pb.EvolutionRun, undone: dict[int, int]) -> str:
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


def _kind(kind: int) -> str:
    return pb.EvolutionKind.Name(kind).removeprefix("EVOLUTION_KIND_").lower()  # type: ignore[arg-type]


def _numbers(routers: "Iterable[int]") -> str:
    return ", ".join(map(str, routers))


def run_round(drain: Drain = False, address: Address = LOOPBACK, json: AsJson = False) -> None:
    """Run a propagation round now: changes go to routers, and their messages to clients.

    JSON: the proto's RunRoundResponse (round is null if nothing had changed).
    """
    answer = ask(address, lambda stub: stub.RunRound(pb.RunRoundRequest(drain=drain)))
    sentence = round_in_words(answer.round) if answer.HasField("round") else answer.note
    print_result(answer, sentence, json=json)


def round_in_words(done: pb.RoundReport) -> str:
    """Return a round as one line."""
    return (
        f"round {done.number}: {pluralize(done.changed_clients, 'changed client')}, "
        f"{pluralize(done.touched_routers, 'router')} sent a message, "
        f"{pluralize(done.edges_opened, 'edge')} opened, "
        f"{done.edges_closed:,} closed, {pluralize(done.reached_clients, 'client')} newly reached"
    )
