"""`propagation recommend`: items for a user."""

from functools import partial
from typing import Annotated

import typer

from propagation.v1 import propagation_pb2 as pb
from services.cli.options import LOOPBACK, Address, AsJson, Count
from services.cli.service_call import ask
from services.runtime.console import console, print_answer, print_table

User = Annotated[
    str, typer.Argument(help="The user's id; one that was never seen gets a sensible list.")
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain", help="The parts of each score, the routers, and the messages that counted."
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only items with one of these; may be repeated."),
]
Candidates = Annotated[
    list[str] | None,
    typer.Option("--candidate", metavar="ITEM", help="Rank these only; may be repeated."),
]
Seen = Annotated[bool, typer.Option("--with-seen", help="Keep items that the user has had.")]
Alone = Annotated[bool, typer.Option("--no-propagation", help="Rank as if propagation were off.")]


def recommend(
    user: User,
    count: Count = 10,
    explain: Explain = False,
    attribute: Names = None,
    category: Names = None,
    candidate: Candidates = None,
    with_seen: Seen = False,
    no_propagation: Alone = False,
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
        console().print(
            f"Nothing is left to recommend to {user}: no visible item passes what was asked for.",
            markup=False,
        )
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
        console().print(
            f"Left out, unknown or hidden: {', '.join(answer.unknown_candidate_ids)}", markup=False
        )


def _explain(one: pb.Recommendation) -> None:
    why = one.explanation
    rows = [
        (
            part.feature,
            f"{part.raw:.3f}",
            f"{part.value:+.2f}",
            f"{part.weight:+.3f}",
            f"{part.product:+.3f}",
        )
        for part in sorted(why.parts, key=lambda part: -abs(part.product))
    ]
    print_table(
        f"{one.title or one.item_id}: {why.text}",
        ("part of the score", "raw", "standardised", "weight", "product"),
        rows,
        ("raw", "standardised", "weight", "product"),
    )
    if why.routers:
        print_table(
            "",
            ("through router", "bank", "share of the user", "lift of the item", "adopters"),
            [
                (
                    router.name or router.router,
                    bank_name(router.bank),
                    f"{router.share:.0%}",
                    f"{router.lift:+.2f}",
                    router.adopters,
                )
                for router in why.routers
            ],
            ("share of the user", "lift of the item", "adopters"),
        )
    for message in why.messages:
        console().print(f"  heard: {message.text}", markup=False)


def bank_name(bank: int) -> str:
    """Return session or taste."""
    return "session" if bank == pb.BANK_SESSION else "taste"
