"""`propagation profile` and `similar`: a client, and clients like it."""

from typing import Annotated

import typer

from propagation.v1 import propagation_pb2 as pb
from services.cli.options import LOOPBACK, Address, AsJson, Count, Moment, parse_as_of
from services.cli.service_call import ask, client_key, kind_name
from services.runtime.console import console, print_answer, print_table

Kind = Annotated[str, typer.Argument(metavar="user|item", help="Which id space.")]
Id = Annotated[str, typer.Argument(help="The client's id.")]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Merge waiting messages first, instead of answering at once."),
]
Alone = Annotated[bool, typer.Option("--no-propagation", help="Leave out what came from others.")]
Routers = Annotated[
    bool, typer.Option("--by-routers", help="Compare communities instead of profiles.")
]


def profile(
    kind: Kind,
    client: Id,
    fresh: Fresh = False,
    no_propagation: Alone = False,
    as_of: Moment = None,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Show a client's profile, and which of its lines came from others.

    JSON: the proto's GetProfileResponse (profile.lines[].author is AUTHOR_RECEPTION if a line came
    from others).
    """
    request = pb.GetProfileRequest(
        key=client_key(kind, client),
        propagate=False if no_propagation else None,
        freshness=pb.FRESHNESS_MERGED if fresh else pb.FRESHNESS_CACHED,
        as_of=parse_as_of(as_of),
    )
    print_answer(ask(address, lambda stub: stub.GetProfile(request)), _print_profile, json=json)


def _print_profile(answer: pb.GetProfileResponse) -> None:
    for line in profile_in_words(answer.profile):
        console().print(line, markup=False)


def profile_in_words(profile: pb.Profile) -> list[str]:
    """Return lines to print: own lines, lines from others, filter rules, waiting messages."""
    title = f" ({profile.title})" if profile.title else ""
    out = [f"{kind_name(profile.key.kind)} {profile.key.id}{title}, version {profile.version}"]
    headings = {
        pb.AUTHOR_CATALOGUE: "From the catalogue:",
        pb.AUTHOR_INTERACTION: "From its own interactions:",
        pb.AUTHOR_RECEPTION: "From others, through routers:",
    }
    for author, heading in headings.items():
        lines = [line for line in profile.lines if line.author == author]
        if lines:
            out += ["", heading, *(f"  {line.text}{_through(line)}" for line in lines)]
    if not profile.lines:
        out += ["", "Nothing is known of it yet."]
    if profile.filter_memory:
        # Of a router that was split each half has the rule, in the same words.
        out += [
            "",
            "How it filters what others bring:",
            *(f"  {text}" for text in dict.fromkeys(rule.text for rule in profile.filter_memory)),
        ]
    if profile.waiting:
        out += [
            "",
            "Waiting to be merged:",
            *(f"  {message.router_name}: {message.text}" for message in profile.waiting),
        ]
    return out


def _through(line: pb.Line) -> str:
    names = dict.fromkeys(
        source.message.router_name or f"router {source.message.router}"
        for source in line.sources
        if source.HasField("message")
    )
    return f"  (through {', '.join(names)})" if names else ""


def similar(
    kind: Kind,
    client: Id,
    count: Count = 10,
    by_routers: Routers = False,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """List the clients that are nearest to this one.

    JSON: the proto's SimilarClientsResponse.
    """
    by = pb.SIMILARITY_ROUTERS if by_routers else pb.SIMILARITY_PROFILE
    request = pb.SimilarClientsRequest(key=client_key(kind, client), by=by, limit=count)

    def show(answer: pb.SimilarClientsResponse) -> None:
        rows = [(near.key.id, near.title, f"{near.similarity:.3f}") for near in answer.neighbours]
        print_table("", (kind, "title", "similarity"), rows, ("similarity",))

    print_answer(ask(address, lambda stub: stub.SimilarClients(request)), show, json=json)
