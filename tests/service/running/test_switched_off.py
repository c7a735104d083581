"""Propagation off, per request and as a setting, and the gauge that says what it is worth; over
real gRPC."""

import math

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from services.cli.operator.service import describe_gauge

ANN = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann")
PROPAGATED = {"lift_session", "lift_taste", "profile"}
KNN = {"knn_slow", "knn_fast"}


async def record(stub, *pairs):
    events = [
        pb.Interaction(event_id=f"{user}-{item}", user_id=user, item_id=f"i{item}")
        for user, item in pairs
    ]
    return (
        await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=events))
    ).sequence


async def let_bob_and_cid_find_opera(stub):
    """Ann likes jazz with them; then they move on to opera, and a round tells it to their
    communities."""
    await stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[
                pb.Client(
                    key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=f"i{n}"),
                    title=f"Record {n}",
                    attributes=["jazz" if n < 10 else "opera"],
                )
                for n in range(20)
            ]
        )
    )
    await record(stub, *((user, n) for user in ("ann", "bob", "cid") for n in range(4)))
    await stub.RunRound(pb.RunRoundRequest(drain=True))
    await record(stub, ("bob", 15), ("cid", 15))
    await stub.RunRound(pb.RunRoundRequest(drain=True))


async def read_profile(stub, **fields):
    return (await stub.GetProfile(pb.GetProfileRequest(key=ANN, **fields))).profile


def list_heard_lines(profile):
    return [line for line in profile.lines if line.author == pb.AUTHOR_RECEPTION]


async def read_explanation(stub, sequence, **fields):
    answer = await stub.Recommend(
        pb.RecommendRequest(user_id="ann", explain=True, min_sequence=sequence, **fields)
    )
    assert all(
        abs(sum(part.product for part in item.explanation.parts) - item.score) < 1e-9
        for item in answer.recommendations
    )
    return answer.recommendations[0].explanation


async def test_a_request_can_leave_propagation_out(service):
    stub = service.stub
    await let_bob_and_cid_find_opera(stub)
    sequence = await record(stub, ("ann", 5))
    await stub.RunRound(pb.RunRoundRequest(drain=True))
    whole, alone = await read_profile(stub), await read_profile(stub, propagate=False)
    assert list_heard_lines(whole), "with propagation, something was received"
    assert [line.id for line in alone.lines] == [
        line.id for line in whole.lines if line.author != pb.AUTHOR_RECEPTION
    ], "without, only the lines received are left out"
    assert set(alone.attributes) == {name for line in alone.lines for name in line.attributes}, (
        "its attributes are those of its own lines"
    )
    assert not alone.waiting, "nothing waits"
    on, off = (
        await read_explanation(stub, sequence),
        await read_explanation(stub, sequence, propagate=False),
    )
    assert {part.feature for part in on.parts} - {
        part.feature for part in off.parts
    } == PROPAGATED, "the propagated features go"
    assert {part.feature for part in off.parts} >= KNN, (
        "the features of the user's own history stay"
    )
    assert on.routers, "with propagation, the explanation names routers"
    assert (len(off.routers), len(off.messages)) == (0, 0), (
        "without, it names no router and no message"
    )


async def test_the_setting_stops_rounds_and_reception_and_nothing_else(start_service):
    async with start_service(auto_create=True) as service:
        await let_bob_and_cid_find_opera(service.stub)
        before = await service.stub.GetStatus(pb.GetStatusRequest())
        assert (await read_profile(service.stub)).waiting
    async with start_service(auto_create=True, propagate=False, update_size=1) as service:
        stub = service.stub
        sequence = await record(stub, ("ann", 5), ("dee", 6))
        done = await stub.RunRound(pb.RunRoundRequest(drain=True))
        assert not done.HasField("round")
        assert "switched off" in done.note, "the call says why there was no round"
        with pytest.raises(grpc.aio.AioRpcError, match="switched off") as refused:
            await stub.EvolveRouters(pb.EvolveRoutersRequest())
        assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert (await stub.EvolveRouters(pb.EvolveRoutersRequest(dry_run=True))).run.verdict, (
            "a plan is still made on request"
        )
        off = await read_profile(stub, freshness=pb.FRESHNESS_MERGED, min_sequence=sequence)
        assert not list_heard_lines(off), "nothing is merged"
        assert not off.waiting, "nothing is shown as waiting"
        status = await stub.GetStatus(pb.GetStatusRequest())
        assert status.last_round == before.last_round, "no round by itself"
        assert not status.propagate, "the status shows the setting"
        assert (status.learned_through, status.reasoned_through) == (sequence, sequence), (
            "learning and reasoning go on"
        )
        assert not PROPAGATED & {
            part.feature for part in (await read_explanation(stub, sequence)).parts
        }, "the score leaves the propagated features out"
        assert {
            part.feature for part in (await read_explanation(stub, sequence, propagate=True)).parts
        } >= PROPAGATED, "a request can have them"
    async with start_service(auto_create=True) as service:
        assert list_heard_lines(await read_profile(service.stub, freshness=pb.FRESHNESS_MERGED)), (
            "what waited meanwhile arrives"
        )
        assert (await service.stub.RunRound(pb.RunRoundRequest(drain=True))).HasField("round")


async def test_the_gauge_ranks_with_and_without_and_outlives_a_restart(start_service):
    async with start_service(auto_create=True) as service:
        assert not (await service.stub.GetStatus(pb.GetStatusRequest())).HasField("gauge"), (
            "no gauge before the first interaction"
        )
        await let_bob_and_cid_find_opera(service.stub)
        told = await service.stub.GetStatus(pb.GetStatusRequest(history=True))
        gauge = told.gauge
        assert gauge.interactions == 14, "every interaction is counted"
        assert 1 / math.log2(6) < gauge.without <= 1, "the gain without propagation"
        assert 1 / math.log2(6) < gauge.with_propagation <= 1, "the gain with propagation"
        assert sum(point.interactions for point in gauge.course) == 14, (
            "the course covers all of them"
        )
        assert [done.number for done in told.rounds] == [1, 2], "the history lists the rounds"
        assert told.rounds[-1] == told.last_round, "the last of them is the last round"
        brief = await service.stub.GetStatus(pb.GetStatusRequest())
        assert (len(brief.gauge.course), len(brief.rounds)) == (0, 0), (
            "without history neither is sent"
        )
        course = await service.stub.GetStatus(pb.GetStatusRequest(gauge_course=True))
        assert (course.gauge, len(course.rounds)) == (gauge, 0), "the course alone can be asked for"
        assert "14 interactions" in describe_gauge(gauge), "the sentence says over how many"
    async with start_service(auto_create=True) as service:
        assert (await service.stub.GetStatus(pb.GetStatusRequest(history=True))).gauge == gauge, (
            "a restart keeps it"
        )
