"""Lines of earlier versions, messages that an evolution wrote, rules that it moved; trust."""

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from tests.service.evolution_traces import (
    drop_past,
    evolve,
    find_moved_rule,
    find_reworded_line,
    hear_evolution,
    read_profile,
)
from tests.service.scenarios import ANN, ITEM, catch_code, propagate_opera
from tests.service.status_details import read_error_info, read_field_violation


async def trace_line(service, key, line, version=None, limit=1_000):
    asked = pb.LineOfProfile(client=key, line_id=line, version=version)
    return await service.stub.TracePropagation(pb.TracePropagationRequest(line=asked, limit=limit))


async def test_a_line_is_traced_at_the_version_of_its_address(evolving_service):
    key, id_, version = await find_reworded_line(evolving_service)
    versions = pb.ListProfileVersionsRequest(key=key)
    listed = (await evolving_service.stub.ListProfileVersions(versions)).versions
    [sequence] = [one.sequence for one in listed if one.version == version]
    then = await read_profile(evolving_service, key, as_of=pb.AsOf(sequence=sequence))
    now = await read_profile(evolving_service, key)
    early = await trace_line(evolving_service, key, id_, version)
    late = await trace_line(evolving_service, key, id_)
    for answer, profile in ((early, then), (late, now)):
        [line] = [line for line in profile.lines if line.id == id_]
        assert (answer.line.version, answer.line.line) == (profile.version, line)
        assert answer.line.client.clients.keys == [key]
        assert {path.hops[-1].profile.line.text for path in answer.paths} == {line.text}
    assert early.line.line.text != late.line.line.text


@pytest.mark.parametrize(("version", "code"), [(0, "INVALID_ARGUMENT"), (999, "NOT_FOUND")])
async def test_a_version_that_never_was(service, version, code):
    line = await propagate_opera(service)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await trace_line(service, ANN, line.id, version)
    assert caught.value.code().name == code


async def test_a_version_that_retention_dropped_is_too_old(evolving_service):
    key, id_, version = await find_reworded_line(evolving_service)
    await drop_past(evolving_service)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await trace_line(evolving_service, key, id_, version)
    assert caught.value.code() == grpc.StatusCode.OUT_OF_RANGE
    assert caught.value.details() == (
        f"version {version} of the profile is no longer kept; name no version to read the present"
        " one"
    )
    info = read_error_info(caught.value)
    assert (info.reason, dict(info.metadata)) == ("TOO_OLD", {"version": str(version)})
    now = await read_profile(evolving_service, key)
    assert (await trace_line(evolving_service, key, id_)).line.version == now.version


async def test_a_version_of_an_item_is_for_analysts(start_service):
    """Its number would tell of each event."""
    item = pb.ClientKey(kind=ITEM, id="i15")
    async with start_service(auto_create=True) as service:
        await propagate_opera(service)
        profile = await read_profile(service, item)
        line = next(line for line in profile.lines if line.author == pb.AUTHOR_INTERACTION)
        found = await trace_line(service, item, line.id, profile.version)
        assert found.line.line.text == line.text
    async with start_service(roles=[Role.PERSONS]) as service:
        asked = catch_code(trace_line(service, item, 1, profile.version))
        assert await asked == grpc.StatusCode.PERMISSION_DENIED
        ann = await read_profile(service, ANN)
        own = await trace_line(service, ANN, ann.lines[0].id, ann.version)
        assert own.line.version == ann.version, "a user's versions are for the role persons"


async def test_a_message_of_an_evolution_names_it_wherever_it_is_cited(evolving_service):
    run, key, line = await hear_evolution(evolving_service)
    profile = await read_profile(evolving_service, key)
    message = next(one.message for one in line.sources if one.message.HasField("evolution"))
    origin = message.evolution
    [change] = [one for one in run.changes if message.router in one.after]
    assert (origin.run, origin.sequence, origin.kind) == (run.run, run.sequence, change.kind)
    assert list(origin.before) == list(change.before)
    assert not message.senders.clients.keys

    traced = await trace_line(evolving_service, key, line.id, profile.version)
    [hop] = [
        hop
        for path in traced.paths
        for hop in path.hops
        if hop.message.router == message.router and hop.message.version == message.version
    ]
    assert hop.evolution == origin
    others = [
        hop
        for path in traced.paths
        for hop in path.hops
        if (hop.message.router, hop.message.version) != (message.router, message.version)
    ]
    assert all(
        hop.HasField("evolution") == (hop.message.sequence == run.sequence) for hop in others
    )
    assert f"evolution run {run.run} wrote when it" in hop.text

    asked = pb.ListRouterVersionsRequest(number=message.router, through_version=message.version)
    versions = (await evolving_service.stub.ListRouterVersions(asked)).versions
    assert versions[0].version == message.version
    assert versions[0].evolution == origin
    assert not any(one.HasField("evolution") for one in versions[1:]), "rounds sent the others"


async def test_versions_up_to_one_are_listed_page_by_page(service):
    heard = (await propagate_opera(service)).sources[0].message
    asked = pb.ListRouterVersionsRequest(number=heard.router, page_size=1, through_version=1)
    answer = await service.stub.ListRouterVersions(asked)
    assert [one.version for one in answer.versions] == [1]
    assert not answer.next_page_token
    newest = pb.ListRouterVersionsRequest(number=heard.router, through_version=1_000)
    assert (await service.stub.ListRouterVersions(newest)).versions[0].version >= heard.version
    asked.through_version = 0
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.ListRouterVersions(asked)
    assert read_field_violation(caught.value).field == "through_version"


async def test_a_moved_rule_names_the_router_that_it_was_written_about(evolving_service):
    run = await evolve(evolving_service)
    _, rule = await find_moved_rule(evolving_service)
    [change] = [one for one in run.changes if rule.router in one.after]
    assert rule.first_router in change.before
    assert rule.first_router != rule.router
    assert rule.age < run.sequence


async def test_a_merge_that_was_undone_ends_no_router(evolving_service):
    run = await evolve(evolving_service)
    stub = evolving_service.stub
    [split] = [one for one in run.changes if one.kind == pb.EVOLUTION_KIND_SPLIT]
    half = max(split.after)

    async def read_end():
        asked = pb.ListRouterVersionsRequest(number=half)
        return (await stub.ListRouterVersions(asked)).versions[-1]

    async def read_standings():
        answer = await stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest())
        return {
            one.run: standing for one, standing in zip(answer.runs, answer.standings, strict=True)
        }

    assert not (await read_end()).HasField("end")
    standing = (await read_standings())[run.run]
    assert not standing.HasField("undone_by")
    assert half in standing.current_routers
    undo = (await stub.EvolveRouters(pb.EvolveRoutersRequest(undo_run=run.run))).run
    end = (await read_end()).end
    assert end == pb.RouterEnd(sequence=undo.sequence, run=undo.run, merged_into=split.before[0])
    standings = await read_standings()
    assert standings[run.run].undone_by == undo.run
    assert half not in standings[run.run].current_routers
    again = (await stub.EvolveRouters(pb.EvolveRoutersRequest(undo_run=undo.run))).run
    standings = await read_standings()
    assert standings[undo.run].undone_by == again.run
    assert not standings[run.run].HasField("undone_by"), "its undo was undone"
    assert not (await read_end()).HasField("end"), "the half has its number again"
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.EvolveRouters(pb.EvolveRoutersRequest(undo_run=run.run))
    assert f"run {again.run} brought back" in caught.value.details()


async def test_each_bank_counts_the_users_who_trust_a_router_most(evolving_service):
    listed = await evolving_service.stub.ListRouters(pb.ListRoutersRequest())
    status = await evolving_service.stub.GetStatus(pb.GetStatusRequest())
    for bank in (pb.BANK_TASTE, pb.BANK_SESSION):
        routers = [router for router in listed.routers if router.bank == bank]
        assert sum(router.trusted_by for router in routers) == status.users, "all have events"
        assert all(router.members == router.trusted_by for router in routers) == (
            bank == pb.BANK_SESSION
        )
    strongest = max(
        (one for one in listed.routers if one.bank == pb.BANK_TASTE), key=lambda one: one.trusted_by
    )
    request = pb.GetRouterRequest(number=strongest.number)
    assert (await evolving_service.stub.GetRouter(request)).router.trusted_by > 0
    request.as_of.sequence = status.learned_through
    past = (await evolving_service.stub.GetRouter(request)).router
    assert not past.HasField("trusted_by")
