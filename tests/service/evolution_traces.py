"""What an evolution leaves in profiles: messages that it wrote, rules that it moved."""

from itertools import pairwise

from propagation.v1 import propagation_pb2 as pb
from tests.service.scenarios import USER
from tests.unit.workflow.evolve.planted_communities import STYLES, draw_events, push

USERS = [
    pb.ClientKey(kind=USER, id=f"{style}-{number}") for style in STYLES[:3] for number in range(10)
]


async def read_profile(service, key, **fields) -> pb.Profile:
    return (await service.stub.GetProfile(pb.GetProfileRequest(key=key, **fields))).profile


async def evolve(service) -> pb.EvolutionRun:
    run = (await service.stub.EvolveRouters(pb.EvolveRoutersRequest())).run
    assert run.published
    return run


async def hear_evolution(service) -> tuple[pb.EvolutionRun, pb.ClientKey, pb.Line]:
    """Let users merge what an evolution wrote.

    Returns:
        The run, a user, and a line of the user's profile that rests on such a message.
    """
    run = await evolve(service)
    await push(service.engine, draw_events(STYLES[:3], 60, seed=2, loyal=1.0))
    for key in USERS:
        profile = await read_profile(service, key, freshness=pb.FRESHNESS_MERGED)
        for line in profile.lines:
            if any(source.message.HasField("evolution") for source in line.sources):
                return run, key, line
    raise AssertionError("nobody merged a message of the evolution")


async def find_moved_rule(service) -> tuple[pb.ClientKey, pb.FilterRule]:
    """Return a user, and a rule of the user that an evolution moved."""
    for key in USERS:
        for rule in (await read_profile(service, key)).filter_memory:
            if rule.HasField("first_router"):
                return key, rule
    raise AssertionError("the evolution moved no rule")


async def find_reworded_line(service) -> tuple[pb.ClientKey, int, int]:
    """Let a user merge all messages; return the user, a line's id, and an earlier version.

    A later version of the profile reworded the line. The earlier one is the last of its sequence.
    """
    for key in USERS:
        await read_profile(service, key, freshness=pb.FRESHNESS_MERGED)
        answer = await service.stub.ListProfileVersions(pb.ListProfileVersionsRequest(key=key))
        for version, before in pairwise(answer.versions):
            if version.changed_line_ids and before.sequence < version.sequence:
                return key, version.changed_line_ids[0], before.version
    raise AssertionError("no line was reworded")


async def drop_past(service) -> None:
    """Drop what retention may drop of the whole past."""
    store = service.engine.store
    while await store.prune(await store.get_recorded_through(), 1_000) is not None:
        pass
