"""`propagation round` and `watch`: propagation by hand, and as it happens."""

from typing import TYPE_CHECKING, Annotated

import typer

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.cli.access import LOOPBACK, Address, AsJson, ask, kind_name
from services.client.errors import UsageProblem
from services.runtime.console import print_json_line, print_result, print_text

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

NAMES = ("round", "message", "merge", "evolution")
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
    sentence = round_in_words(answer.round) if answer.HasField("round") else answer.note
    print_result(answer, sentence, json=json)


def round_in_words(done: pb.RoundReport) -> str:
    """Return a round as one line."""
    return (
        f"round {done.number}: {pluralize(done.changed_clients, 'changed client')},"
        f" {pluralize(done.touched_routers, 'router')} sent a message,"
        f" {pluralize(done.edges_opened, 'edge')} opened, {done.edges_closed:,} closed,"
        f" {pluralize(done.reached_clients, 'client')} newly reached"
    )


def watch(
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="round|message|merge|evolution",
            help="Only this kind; may be repeated. Without: all.",
        ),
    ] = None,
    resume: Annotated[
        str,
        typer.Option(metavar="TOKEN", help="Go on after the event that bore this resume_token."),
    ] = "",
    count: Annotated[
        int | None,
        typer.Option("-n", "--count", "--limit", min=1, help="Stop after so many events."),
    ] = None,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Show propagation as it happens, until the service stops or Ctrl-C.

    JSON: one WatchPropagationResponse of the proto a line.
    """
    for kind in kinds or ():
        if kind not in NAMES:
            raise UsageProblem(f"--kind is {kind!r}; give {', '.join(NAMES)}")
    request = pb.WatchPropagationRequest(
        resume_token=resume,
        kinds=[
            pb.PropagationEventKind.Value(f"PROPAGATION_EVENT_KIND_{kind.upper()}")
            for kind in kinds or ()
        ],
    )
    go_on_token = ""

    async def follow(stub: "PropagationServiceAsyncStub") -> None:
        nonlocal go_on_token
        call = stub.WatchPropagation(request)
        go_on_token = str(dict(await call.initial_metadata() or ()).get(TOKEN_KEY, ""))
        shown = 0
        async for event in call:
            print_json_line(event) if json else print_text(event_in_words(event), wrap=False)
            go_on_token = event.resume_token
            shown += 1
            if shown == count:
                call.cancel()
                break

    try:
        ask(address, follow)
    finally:  # however it ends, a service that was killed and Ctrl-C included
        if go_on_token and not json:
            print_text(f"Go on with: propagation watch --resume {go_on_token}", wrap=False)


def event_in_words(event: pb.WatchPropagationResponse) -> str:
    """Return an event as one line."""
    match event.WhichOneof("event"):
        case "round":
            return round_in_words(event.round)
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
            return f"missed here: {pluralize(event.missed, 'event')}"


def _merge_in_words(merge: pb.MergeReport) -> str:
    named = ", ".join(f"{kind_name(key.kind)} {key.id}" for key in merge.client.clients.keys)
    did = {
        pb.MERGE_OUTCOME_MERGED: "took up",
        pb.MERGE_OUTCOME_FILTERED: "filtered out",
        pb.MERGE_OUTCOME_EMPTY: "found nothing in",
        pb.MERGE_OUTCOME_FELL_OUT: "had no room for",
    }.get(merge.outcome, "met")
    return (
        f"{named or f'a {kind_name(merge.kind)}'} {did} message {merge.router_version} of "
        f"router {merge.router}"
    )
