"""One preference on its way: a user who took no part, what they were told, and how it got there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from propagation.model.clients.attribute import normalize_name
from propagation.v1 import propagation_pb2 as pb
from services.demo.data.script import Plan

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

DEEP = 1_000


@dataclass(frozen=True)
class Story:
    """`line`: what reception wrote into the profile of `user`, who had chosen nothing of it (where
    `new` is set; of the wave, where the line tells of it). `told`: what travelled on `path`, or all
    that the line says where no path is kept."""

    user: str
    before: pb.Profile
    after: pb.Profile
    line: pb.Line
    new: bool
    path: pb.Path | None
    told: frozenset[str]


async def profiles_of(
    stub: "PropagationServiceAsyncStub", users: Sequence[str]
) -> dict[str, pb.Profile]:
    """Waiting messages are merged first."""
    found = {}
    for user in users:
        request = pb.GetProfileRequest(key=user_key(user), freshness=pb.FRESHNESS_MERGED)
        found[user] = (await stub.GetProfile(request)).profile
    return found


async def find_stories(
    stub: "PropagationServiceAsyncStub", plan: Plan, before: dict[str, pb.Profile]
) -> list[Story]:
    """One for each of the watched into whose profile reception wrote: the line that says most to
    somebody who took no part. Where one or more of them tell of the wave, and their paths too,
    these alone."""
    after = await profiles_of(stub, plan.watched)
    wave = wave_of(plan)
    stories = []
    for user in plan.watched:
        concepts = plan.concepts_of(user)
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
            path = await _path_of(stub, user, line, wave)
            news = wave.intersection(line.attributes) or line.attributes
            stories.append(
                Story(
                    user,
                    before[user],
                    after[user],
                    line,
                    not concepts.intersection(news),
                    path,
                    carried(path) or frozenset(line.attributes),
                )
            )
    return [story for story in stories if story.told & wave] or stories


async def _path_of(
    stub: "PropagationServiceAsyncStub", user: str, line: pb.Line, wanted: frozenset[str]
) -> pb.Path | None:
    """Of the line's paths, one that carries a wanted attribute, whole; None where none is kept."""
    origin = pb.LineOfProfile(client=user_key(user), line_id=line.id)
    answer = await stub.TracePropagation(pb.TracePropagationRequest(line=origin, limit=DEEP))
    return max(
        answer.paths, default=None, key=lambda path: (bool(carried(path) & wanted), len(path.hops))
    )


def carried(path: pb.Path | None) -> frozenset[str]:
    """The attributes that went from a profile to a router on it."""
    return frozenset(
        hop.attribute.name for hop in (path.hops if path else ()) if hop.HasField("attribute")
    )


def wave_of(plan: Plan) -> frozenset[str]:
    """The wave's attribute, as profiles write it; empty where no wave is watched."""
    return frozenset([normalize_name(plan.wave.attribute)] if plan.wave else ())


def user_key(user: str) -> pb.ClientKey:
    return pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=user)
