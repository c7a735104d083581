"""Which user and item are shown, out of how many: an item of what the user was told, placed with
propagation and without."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from propagation.v1 import propagation_pb2 as pb
from services.demo.data.script import Plan
from services.demo.data.story import DEEP, Story

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

SHOWN = 5
BEYOND = DEEP + 1


@dataclass(frozen=True)
class Placed:
    """Where an item stands for the user of `story`, from 1; BEYOND below the first thousand."""

    story: Story
    item: str
    place: int
    place_without: int

    @property
    def rise(self) -> float:
        """By what factor propagation mends the place: over 1 it rose, under 1 it fell."""
        return self.place_without / self.place


@dataclass(frozen=True)
class Showcase:
    """`shown` is the one of all `candidates` pairs of a user and an item that rose most; `rose` of
    them rose and `fell` fell."""

    shown: Placed
    users: int
    candidates: int
    rose: int
    fell: int


@dataclass(frozen=True)
class Advice:
    """The head of a user's list. `chosen` is the one explained; `without`: the same with
    propagation off."""

    best: Sequence[pb.Recommendation]
    chosen: pb.Recommendation
    without: pb.Recommendation


async def find_showcase(
    stub: "PropagationServiceAsyncStub", plan: Plan, stories: Sequence[Story]
) -> Showcase | None:
    """Looks at every item of what each was told that stands among the first thousand, with
    propagation or without; None where there is none."""
    placed = [one for story in stories for one in await _placed(stub, plan, story)]
    return chosen_of(placed) if placed else None


def chosen_of(placed: Sequence[Placed]) -> Showcase:
    """`placed` is not empty. Of equal rises, the highest place."""
    shown = max(placed, key=lambda one: (one.rise, -one.place))
    return Showcase(
        shown,
        len({one.story.user for one in placed}),
        len(placed),
        sum(one.rise > 1 for one in placed),
        sum(one.rise < 1 for one in placed),
    )


async def advice_for(
    stub: "PropagationServiceAsyncStub", user: str, item: str | None
) -> Advice | None:
    """The user's list, and `item` (or the first of the list) explained; None where nothing is
    recommended."""
    best = (await stub.Recommend(pb.RecommendRequest(user_id=user, limit=SHOWN))).recommendations
    if not best:
        return None
    chosen, without = [
        await _explained(stub, user, item or best[0].item_id, propagate)
        for propagate in (True, False)
    ]
    return Advice(best, chosen, without)


async def _explained(
    stub: "PropagationServiceAsyncStub", user: str, item: str, propagate: bool
) -> pb.Recommendation:
    request = pb.RecommendRequest(
        user_id=user, candidate_ids=[item], explain=True, propagate=propagate
    )
    return (await stub.Recommend(request)).recommendations[0]


async def _placed(stub: "PropagationServiceAsyncStub", plan: Plan, story: Story) -> list[Placed]:
    places, without = [await _places(stub, story.user, propagate) for propagate in (True, False)]
    return [
        Placed(story, item, places.get(item, BEYOND), without.get(item, BEYOND))
        for item in sorted(plan.items_with(story.told) & (places.keys() | without.keys()))
    ]


async def _places(
    stub: "PropagationServiceAsyncStub", user: str, propagate: bool
) -> dict[str, int]:
    answer = await stub.Recommend(
        pb.RecommendRequest(user_id=user, limit=DEEP, propagate=propagate)
    )
    return {one.item_id: place for place, one in enumerate(answer.recommendations, 1)}
