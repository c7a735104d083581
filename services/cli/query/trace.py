"""`propagation trace`: the paths of a preference, in words."""

from functools import partial
from typing import Annotated

import typer

from propagation.v1 import propagation_pb2 as pb
from services.cli.options import LOOPBACK, Address, AsJson
from services.cli.service_call import ask, split_key
from services.client.errors import UsageProblem
from services.runtime.console import console, print_answer

Event = Annotated[
    str | None,
    typer.Option("--event", metavar="ID", help="From an event to the profiles it reached."),
]
Client = Annotated[
    str | None,
    typer.Option("--client", metavar="user:ID", help="From a client to the profiles it reached."),
]
Attribute = Annotated[
    str | None,
    typer.Option(
        "--attribute", metavar="NAME", help="From an attribute to the profiles it reached."
    ),
]
Line = Annotated[
    str | None,
    typer.Option(
        "--line", metavar="user:ID#LINE", help="Back from a profile's line to where it began."
    ),
]
Count = Annotated[
    int, typer.Option("-n", "--count", min=1, max=1000, help="At most so many paths.")
]


def trace(
    event: Event = None,
    client: Client = None,
    attribute: Attribute = None,
    line: Line = None,
    count: Count = 10,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Trace a preference: interaction, profile, attribute, router, message, another profile.

    Give exactly one origin.

    JSON: the proto's TracePropagationResponse.
    """
    request = _request(event, client, attribute, line, count)
    print_answer(
        ask(address, lambda stub: stub.TracePropagation(request)), partial(_print, count), json=json
    )


def _print(count: int, answer: pb.TracePropagationResponse) -> None:
    if not answer.paths:
        console().print(
            (
                "It reached nobody yet: run a round (`propagation round --drain`), or wait for the "
                "next one."
            ),
            markup=False,
        )
    for place, path in enumerate(answer.paths, 1):
        console().print(
            f"{place}. {path.text or ' -> '.join(hop.text for hop in path.hops)}\n", markup=False
        )
    if answer.truncated:
        console().print(f"There are more than {count}; ask for them with -n.", markup=False)


def _request(
    event: str | None, client: str | None, attribute: str | None, line: str | None, count: int
) -> pb.TracePropagationRequest:
    if sum(origin is not None for origin in (event, client, attribute, line)) != 1:
        raise UsageProblem("give exactly one of --event, --client, --attribute, --line")
    if event is not None:
        return pb.TracePropagationRequest(event_id=event, limit=count)
    if client is not None:
        return pb.TracePropagationRequest(client=split_key(client), limit=count)
    if attribute is not None:
        return pb.TracePropagationRequest(attribute=attribute, limit=count)
    return pb.TracePropagationRequest(line=_line(str(line)), limit=count)


def _line(text: str) -> pb.LineOfProfile:
    key, hash_, number = text.rpartition("#")
    if not (hash_ and number.isdecimal()):
        raise UsageProblem(
            f"--line is {text!r}; give user:ID#LINE, such as user:ann#3 (`propagation profile "
            "--json` has ids)"
        )
    return pb.LineOfProfile(client=split_key(key), line_id=int(number))
