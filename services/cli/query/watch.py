"""`propagation watch`: rounds, messages, merges and evolution as they happen."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from propagation.model import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.cli.operator.rounds_and_evolution import round_in_words
from services.cli.options import LOOPBACK, Address, AsJson
from services.cli.service_call import ask, kind_name
from services.client.errors import UsageProblem
from services.runtime.console import console, print_json_line

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="round|message|merge|evolution",
        help="Only this kind; may be repeated. Without: all.",
    ),
]
Resume = Annotated[
    str, typer.Option(metavar="TOKEN", help="Go on after the event that bore this resume_token.")
]
Count = Annotated[
    int | None, typer.Option("-n", "--count", min=1, help="Stop after so many events.")
]
NAMES = ("round", "message", "merge", "evolution")
TOKEN_KEY = "propagation-resume-token"


def watch(
    kinds: Kinds = None,
    resume: Resume = "",
    count: Count = None,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Show propagation as it happens, until the service stops or Ctrl-C.

    JSON: one WatchPropagationResponse of the proto a line.
    """
    request = _request(kinds or (), resume)
    reached: deque[str] = deque(maxlen=1)
    try:
        ask(address, lambda stub: _watched(stub, request, count, json, reached.append))
    finally:  # however it ends, a service that was killed and Ctrl-C included
        if reached and not json:
            console().print(
                f"Go on with: propagation watch --resume {reached[-1]}",
                markup=False,
                soft_wrap=True,
            )


async def _watched(
    stub: "PropagationServiceAsyncStub",
    request: pb.WatchPropagationRequest,
    count: int | None,
    json: bool,
    reached: Callable[[str], None],
) -> None:
    """`reached` is told the token to go on with from here."""
    call = stub.WatchPropagation(request)
    reached(str(dict(await call.initial_metadata() or ()).get(TOKEN_KEY, request.resume_token)))
    shown = 0
    async for event in call:
        print_json_line(event) if json else console().print(
            event_in_words(event), markup=False, soft_wrap=True
        )
        reached(event.resume_token)
        shown += 1
        if shown == count:
            call.cancel()
            break


def _request(kinds: "list[str] | tuple[str, ...]", resume: str) -> pb.WatchPropagationRequest:
    for kind in kinds:
        if kind not in NAMES:
            raise UsageProblem(f"--kind is {kind!r}; give {', '.join(NAMES)}")
    return pb.WatchPropagationRequest(
        resume_token=resume,
        kinds=[
            pb.PropagationEventKind.Value(f"PROPAGATION_EVENT_KIND_{kind.upper()}")
            for kind in kinds
        ],
    )


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
