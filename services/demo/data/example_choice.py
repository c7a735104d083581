"""The choice of the user and item that the demo shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from propagation.v1 import propagation_pb2 as pb
from services.client.stub import Stub
from services.demo.data.script import DemoScript
from services.demo.data.story import DEEP, Story

SHOWN = 5
BEYOND = DEEP + 1


@dataclass(frozen=True)
class Placement:
    """The places of an item for the user of `story`, from 1; BEYOND below the first thousand."""

    story: Story
    item: str
    place: int
    place_without: int

    @property
    def rise(self) -> float:
        """How much propagation improves the place: above 1 it rose, below 1 it fell."""
        return self.place_without / self.place


@dataclass(frozen=True)
class Showcase:
    """The pair of user and item that rose most, of all `candidates`.

    Args:
        rose: Pairs that rose; `fell` fell.
    """

    shown: Placement
    users: int
    candidates: int
    rose: int
    fell: int


@dataclass(frozen=True)
class Advice:
    """The head of a user's list, with one item explained.

    Args:
        chosen: The item that is explained.
        without: The same list with propagation off.
    """

    best: Sequence[pb.Recommendation]
    chosen: pb.Recommendation
    without: pb.Recommendation


async def find_showcase(
    stub: Stub, script: DemoScript, stories: Sequence[Story]
) -> Showcase | None:
    """Place every item of the stories among the first thousand, with and without propagation.

    Returns:
        None if there is none.
    """
    placements = [one for story in stories for one in await _placements(stub, script, story)]
    return largest_rise(placements) if placements else None


def largest_rise(placements: Sequence[Placement]) -> Showcase:
    """Return the placement that rose most; of equal rises, the highest place."""
    shown = max(placements, key=lambda one: (one.rise, -one.place))
    return Showcase(
        shown,
        len({one.story.user for one in placements}),
        len(placements),
        sum(one.rise > 1 for one in placements),
        sum(one.rise < 1 for one in placements),
    )


async def advice_for(stub: Stub, user: str, item: str | None) -> Advice | None:
    """Fetch the user's list and explain `item`, or the first; None if it is empty."""
    best = (await stub.Recommend(pb.RecommendRequest(user_id=user, limit=SHOWN))).recommendations
    if not best:
        return None
    chosen, without = [
        await _explained(stub, user, item or best[0].item_id, propagate)
        for propagate in (True, False)
    ]
    return Advice(best, chosen, without)


async def _explained(stub: Stub, user: str, item: str, propagate: bool) -> pb.Recommendation:
    request = pb.RecommendRequest(
        user_id=user, candidate_ids=[item], explain=True, propagate=propagate
    )
    return (await stub.Recommend(request)).recommendations[0]


async def _placements(stub: Stub, script: DemoScript, story: Story) -> list[Placement]:
    places, without = [await _places(stub, story.user, propagate) for propagate in (True, False)]
    return [
        Placement(story, item, places.get(item, BEYOND), without.get(item, BEYOND))
        for item in sorted(script.items_with(story.told) & (places.keys() | without.keys()))
    ]


async def _places(stub: Stub, user: str, propagate: bool) -> dict[str, int]:
    answer = await stub.Recommend(
        pb.RecommendRequest(user_id=user, limit=DEEP, propagate=propagate)
    )
    return {one.item_id: place for place, one in enumerate(answer.recommendations, 1)}
