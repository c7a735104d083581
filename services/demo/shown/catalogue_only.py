"""The demo of a catalogue without events: search and recommendation."""

from rich.console import Console

from propagation.datasets.dataset import Dataset
from propagation.v1 import propagation_pb2 as pb
from services.client.stub import Stub
from services.demo.shown.printing import heading, say, show_found

SEARCHES, SHOWN = 3, 5
NEWCOMER = "somebody new"


async def search(stub: Stub, console: Console, dataset: Dataset, sequence: int) -> None:
    """Show neighbours of a few items, and a list for a new user."""
    heading(console, "Searched")
    titled = [item for item in dataset.items if item.title]
    for item in titled[:: max(1, len(titled) // SEARCHES)][:SEARCHES]:
        key = pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=item.key.id)
        answer = await stub.SimilarClients(
            pb.SimilarClientsRequest(
                key=key, by=pb.SIMILARITY_PROFILE, limit=SHOWN, min_sequence=sequence
            )
        )
        listed = f" ({', '.join(item.categories)})" if item.categories else ""
        show_found(
            console,
            f"Most like “{item.title}”{listed}:",
            [near.title or near.key.id for near in answer.neighbours],
        )
    advice = await stub.Recommend(
        pb.RecommendRequest(user_id=NEWCOMER, limit=SHOWN, min_sequence=sequence)
    )
    show_found(
        console,
        "For a user never seen:",
        [one.title or one.item_id for one in advice.recommendations],
    )
    heading(console, "Ranking")
    say(
        console,
        (
            f"{dataset.name} is a catalogue alone: it has no events, so there is nothing to rank "
            "and "
            "nothing to propagate."
        ),
    )
