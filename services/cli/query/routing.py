"""`propagation routers` and `trace`: routers, and the paths of preferences."""

from functools import partial
from typing import Annotated, Any, Literal

import typer

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.cli.access import (
    LOOPBACK,
    Address,
    AsJson,
    Moment,
    ask,
    name_kind,
    split_key,
)
from services.cli.query.clients import name_bank
from services.client.errors import UsageProblem
from services.runtime.console import print_answer, print_rows, print_table, print_text


def routers(
    number: Annotated[
        int | None,
        typer.Argument(min=0, help="Show this router with its members; default: list all."),
    ] = None,
    bank: Annotated[
        Literal["taste", "session"], typer.Option(help="The bank of the routers.")
    ] = "taste",
    members: Annotated[
        int, typer.Option(min=1, max=1000, help="How many members of the router to show.")
    ] = 20,
    as_of: Moment = None,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """List the routers: what each stands for, its adoptions, its members.

    JSON: {"routers": [...]} of the proto's Router; with a number, the proto's GetRouterResponse.
    """
    banks = {"taste": pb.BANK_TASTE, "session": pb.BANK_SESSION}
    if number is None:
        from services.client.stub import list_routers

        found = ask(address, lambda stub: list_routers(stub, banks[bank], as_of))
        print_rows(
            {"routers": found},
            ("router", "name", "members", "mass", "newest message"),
            [
                (
                    router.number,
                    router.name,
                    router.members,
                    f"{router.mass:,.0f}" if as_of is None else "",  # past numbers are not kept
                    router.text,
                )
                for router in found
            ],
            ("router", "members", "mass"),
            json=json,
        )
    else:
        request = pb.GetRouterRequest(
            number=number, bank=banks[bank], page_size=members, as_of=as_of
        )
        print_answer(ask(address, lambda stub: stub.GetRouter(request)), _print_one, json=json)


def _print_one(answer: pb.GetRouterResponse) -> None:
    router = answer.router
    title = (
        f"router {router.number} ({name_bank(router.bank)}), {router.name or 'not named yet'},"
        f" version {router.version}"
    )
    nothing = (
        "Its messages were taken back; none is left."
        if router.version
        else "It has sent no message yet."
    )
    print_text(title, router.text or nothing)
    for step in answer.lineage:
        if step.before == router.number and step.after != router.number:
            print_text(
                f"Evolution run {step.run} made it, or a part of it, into router {step.after}."
            )
    if router.written_by:
        print_text(f"Written by {router.written_by}.")
    print_table(
        pluralize(router.members, "member"),
        ("member", "title", "score"),
        [
            (_format_member(member), member.title, f"{member.score:.3f}")
            for member in answer.members
        ],
        ("score",),
    )


def _format_member(member: pb.RouterMember) -> str:
    return (
        f"{name_kind(member.client.kind)} {member.client.id}"
        if member.HasField("client")
        else pluralize(member.count, "user")
    )


def trace(
    event: Annotated[
        str | None,
        typer.Option("--event", metavar="ID", help="Trace an event to the profiles it reached."),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            "--client", metavar="user:ID", help="Trace a client to the profiles it reached."
        ),
    ] = None,
    attribute: Annotated[
        str | None,
        typer.Option(
            "--attribute", metavar="NAME", help="Trace an attribute to the profiles it reached."
        ),
    ] = None,
    line: Annotated[
        str | None,
        typer.Option(
            "--line", metavar="user:ID#LINE", help="Trace a profile's line back to where it began."
        ),
    ] = None,
    count: Annotated[
        int,
        typer.Option(
            "-n", "--count", "--limit", min=1, max=1000, help="Show at most this many paths."
        ),
    ] = 10,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Trace a preference: interaction, profile, attribute, router, message, another profile.

    Give exactly one origin.

    JSON: the proto's TracePropagationResponse.
    """
    origins: dict[str, Any] = {
        "event_id": event,
        "client": None if client is None else split_key(client),
        "attribute": attribute,
        "line": None if line is None else _line(line),
    }
    if sum(origin is not None for origin in origins.values()) != 1:
        raise UsageProblem("give exactly one of --event, --client, --attribute, --line")
    request = pb.TracePropagationRequest(limit=count, **origins)
    print_answer(
        ask(address, lambda stub: stub.TracePropagation(request)), partial(_print, count), json=json
    )


def _print(count: int, answer: pb.TracePropagationResponse) -> None:
    if not answer.paths:
        print_text(
            "It has reached no profile yet: run a round (`propagation round --drain`), or wait for"
            " the next one."
        )
    for place, path in enumerate(answer.paths, 1):
        print_text(f"{place}. {path.text or ' -> '.join(hop.text for hop in path.hops)}", "")
    if answer.truncated and len(answer.paths) < count:
        print_text("There are more paths than an answer holds; begin at one of the steps.")
    elif answer.truncated:
        print_text(f"There are more than {count} paths; raise -n to see them.")


def _line(text: str) -> pb.LineOfProfile:
    key, hash_, number = text.rpartition("#")
    if not (hash_ and number.isdecimal()):
        raise UsageProblem(
            f"--line is {text!r}; give user:ID#LINE, such as user:ann#3 (`propagation profile "
            "--json` shows the ids of lines)"
        )
    return pb.LineOfProfile(client=split_key(key), line_id=int(number))
