"""`propagation round`, `evolve` and `watch`: rounds and evolutions."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.cli.access import LOOPBACK, Address, AsJson, ask, name_kind
from services.client.errors import UsageProblem
from services.report.operations import describe_round
from services.runtime.console import (
    print_answer,
    print_json,
    print_result,
    print_rows,
    print_table,
    print_text,
)

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

EventKind = StrEnum("EventKind", ["ROUND", "MESSAGE", "MERGE", "EVOLUTION"])
TOKEN_KEY = "propagation-resume-token"


def run_round(
    drain: Annotated[
        bool, typer.Option("--drain", help="Wait until everything recorded is reasoned, then run.")
    ] = False,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Run a propagation round now.

    Changes go to routers, and the routers' messages go to clients.

    JSON: the proto's RunRoundResponse (round is null if nothing had changed).
    """
    answer = ask(address, lambda stub: stub.RunRound(pb.RunRoundRequest(drain=drain)))
    sentence = describe_round(answer.round) if answer.HasField("round") else answer.note
    print_result(answer, sentence, json=json)


def watch(
    kinds: Annotated[
        list[EventKind] | None,
        typer.Option("--kind", help="Show only this kind; may be repeated; default: all."),
    ] = None,
    resume: Annotated[
        str,
        typer.Option(metavar="TOKEN", help="Continue after the event with this resume_token."),
    ] = "",
    count: Annotated[
        int | None,
        typer.Option("-n", "--count", "--limit", min=1, help="Stop after this many events."),
    ] = None,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Show propagation as it happens, until the service stops or Ctrl-C.

    With --json, each line is one WatchPropagationResponse.
    """
    request = pb.WatchPropagationRequest(
        resume_token=resume,
        kinds=[
            pb.PropagationEventKind.Value(f"PROPAGATION_EVENT_KIND_{kind.name}")
            for kind in kinds or ()
        ],
    )
    resume_token = ""

    async def follow(stub: "PropagationServiceAsyncStub") -> None:
        nonlocal resume_token
        call = stub.WatchPropagation(request)
        resume_token = str(dict(await call.initial_metadata() or ()).get(TOKEN_KEY, ""))
        shown = 0
        async for event in call:
            print_json(event, line=True) if json else print_text(describe_event(event), wrap=False)
            resume_token = event.resume_token
            shown += 1
            if shown == count:
                call.cancel()
                break

    try:
        ask(address, follow)
    finally:  # also after Ctrl-C, or if the service was killed
        if resume_token and not json:
            print_text(f"Go on with: propagation watch --resume {resume_token}", wrap=False)


def describe_event(event: pb.WatchPropagationResponse) -> str:
    """Return an event as one line."""
    match event.WhichOneof("event"):
        case "round":
            return describe_round(event.round)
        case "message":
            return (
                f"router {event.message.router} ({event.message.router_name}) told its "
                f"community: {event.message.text}"
            )
        case "merge":
            return _merge_in_words(event.merge)
        case "evolution":
            return f"evolution {event.evolution.run}: {event.evolution.verdict}"
        case _:
            return f"gap: this watch missed {pluralize(event.missed, 'event')}"


def _merge_in_words(merge: pb.MergeReport) -> str:
    named = ", ".join(f"{name_kind(key.kind)} {key.id}" for key in merge.client.clients.keys)
    did = {
        pb.MERGE_OUTCOME_MERGED: "took up",
        pb.MERGE_OUTCOME_FILTERED: "filtered out",
        pb.MERGE_OUTCOME_EMPTY: "found nothing in",
        pb.MERGE_OUTCOME_FELL_OUT: "had no room for",
    }.get(merge.outcome, "met")
    return (
        f"{named or f'one {name_kind(merge.kind)}'} {did} message {merge.router_version} of "
        f"router {merge.router}"
    )


GOES_ON = "the service completes the run; `propagation evolve --list` shows its outcome"


def evolve(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan and judge changes without making them.")
    ] = False,
    undo: Annotated[
        int | None, typer.Option(metavar="RUN", min=1, help="Undo this run, by a new run.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the newest runs and their verdicts; run nothing.")
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
        _print_runs(answer.runs, json=json)
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


def _print_runs(runs: Sequence[pb.EvolutionRun], *, json: bool) -> None:
    undone = {run.undoes: run.run for run in runs if run.published and run.HasField("undoes")}
    print_rows(
        {"runs": list(runs)},
        ("run", "time (UTC)", "published", "changes", "verdict"),
        [
            (
                run.run,
                f"{run.time.ToDatetime():%Y-%m-%d %H:%M}",
                _describe_status(run, undone),
                len(run.changes),
                run.verdict,
            )
            for run in runs
        ],
        ("run", "changes"),
        json=json,
    )


def _describe_status(run: pb.EvolutionRun, undone: dict[int, int]) -> str:
    """Say whether a run is published or undone.

    Args:
        undone: Numbers of the runs that undid others, by the other's number.
    """
    if not run.published:
        return "no"
    return f"undone by run {undone[run.run]}" if run.run in undone else "yes"


def run_in_words(run: pb.EvolutionRun) -> str:
    """Return a run as one line."""
    name = f"run {run.run}" if run.run else "dry run"
    fate = f"published at sequence {run.sequence:,}" if run.published else "nothing was changed"
    return f"{name}: {fate}; {run.verdict}"
