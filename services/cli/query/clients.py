"""`propagation profile`, `similar` and `recommend`: queries about a client."""

from functools import partial
from typing import Annotated, Literal

import typer

from propagation.v1 import propagation_pb2 as pb
from services.cli.access import (
    LOOPBACK,
    Address,
    AsJson,
    Count,
    Moment,
    ask,
    build_client_key,
    name_kind,
)
from services.runtime.console import print_answer, print_rows, print_table, print_text

HEADINGS = {
    pb.AUTHOR_CATALOGUE: "From the catalogue:",
    pb.AUTHOR_INTERACTION: "From its own interactions:",
    pb.AUTHOR_RECEPTION: "From others, through routers:",
}
Kind = Annotated[
    Literal["user", "item"], typer.Argument(help="Whether the client is a user or an item.")
]
Id = Annotated[str, typer.Argument(help="The client's id.")]


def profile(
    kind: Kind,
    client: Id,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Merge waiting messages first, instead of answering at once."),
    ] = False,
    no_propagation: Annotated[
        bool, typer.Option("--no-propagation", help="Leave out what came from others.")
    ] = False,
    as_of: Moment = None,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Show a client's profile, and which of its lines came from others.

    JSON: the proto's GetProfileResponse (profile.lines[].author is AUTHOR_RECEPTION if a line came
    from others).
    """
    request = pb.GetProfileRequest(
        key=build_client_key(kind, client),
        propagate=False if no_propagation else None,
        freshness=pb.FRESHNESS_MERGED if fresh else pb.FRESHNESS_CACHED,
        as_of=as_of,
    )
    print_answer(ask(address, lambda stub: stub.GetProfile(request)), _print_profile, json=json)


def _print_profile(answer: pb.GetProfileResponse) -> None:
    """Print own lines, lines from others, filter rules, and waiting messages."""
    profile = answer.profile
    title = f" ({profile.title})" if profile.title else ""
    print_text(f"{name_kind(profile.key.kind)} {profile.key.id}{title}, version {profile.version}")
    if not profile.lines:
        print_text("", "Nothing is known of it yet.")
    sections = {
        heading: [
            f"{line.text}{_describe_source(line)}"
            for line in profile.lines
            if line.author == author
        ]
        for author, heading in HEADINGS.items()
    }
    # When a router was split, each half got the rule in the same words.
    sections["How it filters what others bring:"] = list(
        dict.fromkeys(rule.text for rule in profile.filter_memory)
    )
    sections["Waiting to be merged:"] = [
        f"{message.router_name}: {message.text}" for message in profile.waiting
    ]
    for heading, lines in sections.items():
        if lines:
            print_text("", heading, *(f"  {line}" for line in lines))


def _describe_source(line: pb.Line) -> str:
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
    by_routers: Annotated[
        bool, typer.Option("--by-routers", help="Compare communities instead of profiles.")
    ] = False,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """List the clients that are nearest to this one.

    JSON: the proto's SimilarClientsResponse.
    """
    request = pb.SimilarClientsRequest(
        key=build_client_key(kind, client),
        by=pb.SIMILARITY_ROUTERS if by_routers else pb.SIMILARITY_PROFILE,
        limit=count,
    )
    answer = ask(address, lambda stub: stub.SimilarClients(request))
    print_rows(
        answer,
        (kind, "title", "similarity"),
        [(near.key.id, near.title, f"{near.similarity:.3f}") for near in answer.neighbours],
        ("similarity",),
        json=json,
    )


Names = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only items that have it; may be repeated."),
]


def recommend(
    user: Annotated[
        str, typer.Argument(help="The user's id; an unknown user gets a sensible list, too.")
    ],
    count: Count = 10,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show the parts of each score, the routers, and the messages that counted.",
        ),
    ] = False,
    attribute: Names = None,
    category: Names = None,
    candidate: Annotated[
        list[str] | None,
        typer.Option("--candidate", metavar="ITEM", help="Rank only these items; may be repeated."),
    ] = None,
    with_seen: Annotated[
        bool, typer.Option("--with-seen", help="Include items that the user has chosen before.")
    ] = False,
    no_propagation: Annotated[
        bool, typer.Option("--no-propagation", help="Rank as if propagation were off.")
    ] = False,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Recommend items to a user, best first.

    JSON: the proto's RecommendResponse (explanation is null without --explain).
    """
    request = pb.RecommendRequest(
        user_id=user,
        limit=count,
        explain=explain,
        attributes=attribute,
        categories=category,
        candidate_ids=candidate,
        exclude_seen=not with_seen,
        propagate=False if no_propagation else None,
    )
    print_answer(
        ask(address, lambda stub: stub.Recommend(request)), partial(_print, user), json=json
    )


def _print(user: str, answer: pb.RecommendResponse) -> None:
    note = " (no history yet: the catalogue's own order)" if answer.cold else ""
    if not answer.recommendations:
        print_text(f"Nothing is left to recommend to {user}: no visible item matches the request.")
    else:
        print_table(
            f"For {user}{note}",
            ("", "item", "title", "score"),
            [
                (place, one.item_id, one.title, f"{one.score:.3f}")
                for place, one in enumerate(answer.recommendations, 1)
            ],
            ("", "score"),
        )
    for one in answer.recommendations:
        if one.HasField("explanation"):
            _explain(one)
    if answer.unknown_candidate_ids:
        print_text(f"Left out as unknown or hidden: {', '.join(answer.unknown_candidate_ids)}")


def _explain(one: pb.Recommendation) -> None:
    why = one.explanation
    print_table(
        f"{one.title or one.item_id}: {why.text}",
        ("part of the score", "raw", "standardised", "weight", "product"),
        [
            (
                part.feature,
                f"{part.raw:.3f}",
                f"{part.value:+.2f}",
                f"{part.weight:+.3f}",
                f"{part.product:+.3f}",
            )
            for part in sorted(why.parts, key=lambda part: -abs(part.product))
        ],
        ("raw", "standardised", "weight", "product"),
    )
    if why.routers:
        print_table(
            "",
            ("through router", "bank", "share of the user", "lift of the item", "adopters"),
            [
                (
                    router.name or router.router,
                    name_bank(router.bank),
                    f"{router.share:.0%}",
                    f"{router.lift:+.2f}",
                    router.adopters,
                )
                for router in why.routers
            ],
            ("share of the user", "lift of the item", "adopters"),
        )
    print_text(*(f"  heard: {message.text}" for message in why.messages))


def name_bank(bank: int) -> str:
    """Return session or taste."""
    return "session" if bank == pb.BANK_SESSION else "taste"
