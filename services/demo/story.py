"""The story of one preference, and how it reached a watched user."""

from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model import normalize_name
from propagation.v1 import propagation_pb2 as pb
from propagation_client import user_key
from services.client.stub import Stub
from services.demo.data import DemoScript, read_profiles

DEEP = 1_000
SHOWN = 5
BEYOND = DEEP + 1


@dataclass(frozen=True)
class Story:
    """A line that reception wrote into a user's profile, and its path.

    Args:
        new: Whether the user had chosen nothing of the kind.
        path: How the line came about; None if no path is kept.
        attributes: The attributes that `path` carried or, if it carried none, those of the line.
    """

    user: str
    before: pb.Profile
    after: pb.Profile
    line: pb.Line
    new: bool
    path: pb.Path | None
    attributes: frozenset[str]


async def find_stories(
    stub: Stub, script: DemoScript, before: dict[str, pb.Profile]
) -> list[Story]:
    """Find a story for each watched user into whose profile reception wrote.

    If the path of any story carried the wave's attribute, only such stories are returned.
    """
    after = await read_profiles(stub, script.watched)
    wave = describe_wave(script)
    stories = []
    for user in script.watched:
        concepts = script.list_concepts(user)
        known = {line.text for line in before[user].lines}
        heard = [line for line in after[user].lines if line.author == pb.AUTHOR_RECEPTION]
        if heard:
            line = max(
                heard,
                key=lambda line: (
                    bool(wave.intersection(line.attributes)),
                    line.text not in known,
                    not concepts.intersection(line.attributes),
                    line.weight,
                ),
            )
            path = await _find_path_of(stub, user, line, wave)
            news = wave.intersection(line.attributes) or line.attributes
            stories.append(
                Story(
                    user,
                    before[user],
                    after[user],
                    line,
                    not concepts.intersection(news),
                    path,
                    list_carried_attributes(path) or frozenset(line.attributes),
                )
            )
    return [story for story in stories if story.attributes & wave] or stories


async def _find_path_of(
    stub: Stub, user: str, line: pb.Line, attributes: frozenset[str]
) -> pb.Path | None:
    """Return the line's longest path.

    A path that carries one of the attributes goes before a longer one.

    Returns:
        None if no path is kept.
    """
    origin = pb.LineOfProfile(client=user_key(user), line_id=line.id)
    answer = await stub.TracePropagation(pb.TracePropagationRequest(line=origin, limit=DEEP))
    return max(
        answer.paths,
        default=None,
        key=lambda path: (bool(list_carried_attributes(path) & attributes), len(path.hops)),
    )


def list_carried_attributes(path: pb.Path | None) -> frozenset[str]:
    """Return the attributes that a path carried from profiles to routers."""
    return frozenset(
        hop.attribute.name for hop in (path.hops if path else ()) if hop.HasField("attribute")
    )


def describe_wave(script: DemoScript) -> frozenset[str]:
    """Return the watched attribute as profiles write it.

    Returns:
        A set of that name; empty if no wave is watched.
    """
    return frozenset([normalize_name(script.wave.attribute)] if script.wave else ())


@dataclass(frozen=True)
class Placement:
    """The places of an item for the user of `story`, from 1.

    An item that is not among the first thousand has the place BEYOND.

    Args:
        place: The place with propagation.
        place_without: The place without propagation.
    """

    story: Story
    item: str
    place: int
    place_without: int

    @property
    def rise(self) -> float:
        """The factor by which propagation improves the place; below 1 it fell."""
        return self.place_without / self.place


@dataclass(frozen=True)
class Advice:
    """The head of a user's list, with one item explained.

    Args:
        chosen: The item that is explained.
        without: The same item, explained with propagation off.
    """

    best: Sequence[pb.Recommendation]
    chosen: pb.Recommendation
    without: pb.Recommendation


async def find_placements(stub: Stub, script: DemoScript, story: Story) -> list[Placement]:
    """Place the story's items among the first thousand, with and without propagation."""
    places, without = [
        await _read_places(stub, story.user, propagate) for propagate in (True, False)
    ]
    return [
        Placement(story, item, places.get(item, BEYOND), without.get(item, BEYOND))
        for item in sorted(
            script.list_items_with(story.attributes) & (places.keys() | without.keys())
        )
    ]


def find_largest_rise(placements: Sequence[Placement]) -> Placement | None:
    """Return the placement that rose most; of equal rises, the highest place."""
    return max(placements, key=lambda one: (one.rise, -one.place), default=None)


async def fetch_advice(stub: Stub, user: str, item: str | None) -> Advice | None:
    """Fetch the user's list, and explain `item` or the list's first.

    Returns:
        None if the list is empty.
    """
    best = (await stub.Recommend(pb.RecommendRequest(user_id=user, limit=SHOWN))).recommendations
    if not best:
        return None
    chosen, without = [
        await _explain(stub, user, item or best[0].item_id, propagate)
        for propagate in (True, False)
    ]
    return Advice(best, chosen, without)


async def _explain(stub: Stub, user: str, item: str, propagate: bool) -> pb.Recommendation:
    request = pb.RecommendRequest(
        user_id=user, candidate_ids=[item], explain=True, propagate=propagate
    )
    return (await stub.Recommend(request)).recommendations[0]


async def _read_places(stub: Stub, user: str, propagate: bool) -> dict[str, int]:
    answer = await stub.Recommend(
        pb.RecommendRequest(user_id=user, limit=DEEP, propagate=propagate)
    )
    return {one.item_id: place for place, one in enumerate(answer.recommendations, 1)}


def find_traced_message(story: Story) -> pb.MessageSource | None:
    """Return the message on a story's path, with its router and senders.

    If no message of the line is on the path, it is any of the line's messages.

    Returns:
        None if the line rests on no message.
    """
    hops = story.path.hops if story.path else ()
    routers = [hop.attribute.router for hop in hops if hop.HasField("attribute")]
    messages = [source.message for source in story.line.sources if source.HasField("message")]
    return min(messages, key=lambda message: message.router not in routers, default=None)
