"""StreamInteractions: acks in order after the commit, back-pressure, graceful stop."""

import asyncio
import contextlib

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb

ACCEPTED = pb.INTERACTION_STATUS_ACCEPTED


def request(number: int) -> pb.StreamInteractionsRequest:
    return pb.StreamInteractionsRequest(
        interaction=pb.Interaction(
            event_id=f"e{number}", user_id=f"u{number % 7}", item_id=f"i{number % 11}"
        )
    )


async def test_each_event_has_one_ack_in_order_with_its_sequence(service):
    call = service.stub.StreamInteractions(request(number) for number in range(700))
    outcomes = [answer.outcome async for answer in call]
    assert [outcome.event_id for outcome in outcomes] == [f"e{number}" for number in range(700)]
    assert {outcome.status for outcome in outcomes} == {ACCEPTED}
    sequences = [outcome.sequence for outcome in outcomes]
    assert sequences == sorted(set(sequences))


async def test_an_ack_comes_while_the_stream_stays_open(service):
    call = service.stub.StreamInteractions()
    for number in range(3):
        await call.write(request(number))
        answer = await asyncio.wait_for(call.read(), 5)
        assert answer.outcome.sequence <= await service.engine.store.get_recorded_through()
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF


@pytest.mark.slow
async def test_a_caller_that_reads_no_acks_is_slowed_down_and_loses_nothing(service):
    """Its own writes block once the service's bounded queues and the transport's windows
    are full."""
    call = service.stub.StreamInteractions()
    sent = await write_until_blocked(call)
    acked = [(await call.read()).outcome for _ in range(sent)]
    assert [int(outcome.event_id) for outcome in acked] == list(range(sent))
    assert {outcome.status for outcome in acked} == {ACCEPTED}
    call.cancel()


async def write_until_blocked(call) -> int:
    """Count the events that were sent before a write waited for half a second."""
    for sent in range(100_000):
        one = request(sent)
        one.interaction.event_id = f"{sent:0256d}"
        try:
            await asyncio.wait_for(asyncio.shield(call.write(one)), 0.5)
        except TimeoutError:
            return sent
    raise AssertionError("the service reads events although its acks are not read")


async def test_a_stop_delivers_the_acks_of_recorded_events(start_service):
    async with start_service(auto_create=True) as service:
        call = service.stub.StreamInteractions()
        for number in range(20):
            await call.write(request(number))
        first = await call.read()
        stopping = asyncio.create_task(service.running.stop(5))
        acked = [first.outcome.event_id]
        with contextlib.suppress(grpc.aio.AioRpcError):
            while (answer := await call.read()) is not grpc.aio.EOF:
                acked.append(answer.outcome.event_id)
        assert await call.code() == grpc.StatusCode.UNAVAILABLE
        await stopping
        states = await service.engine.store.get_event_states(acked)
        known = [event for event, state in zip(acked, states, strict=True) if state.interaction]
        assert known == acked == [f"e{number}" for number in range(len(acked))]
