"""One preference on its way: a user who took no part, what they were told, and how it got there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from propagation.model.attribute import normalised
from propagation.v1 import propagation_pb2 as pb
from services.demo.plan import Plan

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

SHOWN = 5
DEEP = 1_000


@dataclass(frozen=True)
class Story:
    """`line`: what reception wrote into the profile of `user`, who had nothing of the kind (where `new` is set)."""

    user: str
    before: pb.Profile
    after: pb.Profile
    line: pb.Line
    new: bool
    path: pb.Path | None


@dataclass(frozen=True)
class Advice:
    """What is recommended to the user. `chosen` is the one explained; `place_without`: where it stands with propagation off,
    from 1; None below the first thousand."""

    best: Sequence[pb.Recommendation]
    chosen: pb.Recommendation
    place: int
    place_without: int | None


async def profiles_of(stub: "PropagationServiceAsyncStub", users: Sequence[str]) -> dict[str, pb.Profile]:
    """Waiting messages are merged first."""
    found = {}
    for user in users:
        request = pb.GetProfileRequest(key=user_key(user), freshness=pb.FRESHNESS_MERGED)
        found[user] = (await stub.GetProfile(request)).profile
    return found


async def find_story(stub: "PropagationServiceAsyncStub", plan: Plan, before: dict[str, pb.Profile]) -> Story | None:
    """Of all lines that reception wrote since, the one that says most to somebody who took no part; None where none did."""
    after = await profiles_of(stub, plan.watched)
    wanted = normalised(plan.wave.attribute) if plan.wave else None
    best: tuple[tuple[bool, bool, float], Story] | None = None
    for user in plan.watched:
        concepts = plan.concepts_of(user)
        known = {line.text for line in before[user].lines}
        for line in after[user].lines:
            if line.author != pb.AUTHOR_RECEPTION:
                continue
            new = not concepts.intersection(line.attributes)
            rank = (wanted in line.attributes, line.text not in known and new, line.weight)
            if best is None or rank > best[0]:
                best = rank, Story(user, before[user], after[user], line, new, None)
    return None if best is None else await _with_path(stub, best[1], wanted)


async def _with_path(stub: "PropagationServiceAsyncStub", story: Story, wanted: str | None) -> Story:
    """Of the line's paths, one that carries the wanted attribute, whole."""
    origin = pb.LineOfProfile(client=user_key(story.user), line_id=story.line.id)
    answer = await stub.TracePropagation(pb.TracePropagationRequest(line=origin, limit=DEEP))
    path = max(answer.paths, default=None,
               key=lambda path: (any(hop.attribute.name == wanted for hop in path.hops), len(path.hops)))
    return Story(story.user, story.before, story.after, story.line, story.new, path)


async def advice_for(stub: "PropagationServiceAsyncStub", plan: Plan, user: str, line: pb.Line | None) -> Advice | None:
    """Recommendations with their reasons; explained is the first that bears what the user was told, else the first."""
    ranked = (await stub.Recommend(pb.RecommendRequest(user_id=user, limit=DEEP))).recommendations
    if not ranked:
        return None
    bearing = plan.items_with(told_of(plan, line))
    place, chosen = next(((place, one) for place, one in enumerate(ranked, 1) if one.item_id in bearing), (1, ranked[0]))
    without = await stub.Recommend(pb.RecommendRequest(user_id=user, limit=DEEP, propagate=False))
    places = {one.item_id: place for place, one in enumerate(without.recommendations, 1)}
    explained = await stub.Recommend(pb.RecommendRequest(user_id=user, candidate_ids=[chosen.item_id], explain=True))
    return Advice(ranked[:SHOWN], explained.recommendations[0], place, places.get(chosen.item_id))


def told_of(plan: Plan, line: pb.Line | None) -> frozenset[str]:
    """What the line tells: the wave's attribute where it is in it, else all of it."""
    told = frozenset(line.attributes) if line else frozenset[str]()
    wave = frozenset([normalised(plan.wave.attribute)]) if plan.wave else frozenset[str]()
    return told & wave or told


def user_key(user: str) -> pb.ClientKey:
    return pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=user)
