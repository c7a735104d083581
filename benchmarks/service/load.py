"""The load generator, a process of its own.

Run `python -m benchmarks.service.load ADDRESS batch|single|stream SECONDS SEED`.

The generator draws 10,000 users and 5,000 items by Zipf's law with exponent 1. It serialises calls
before the clock starts. It prints one JSON object: {"acked", "seconds", "sequence"}. Every ack must
say ACCEPTED.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator

import grpc
import numpy as np

from propagation.v1 import propagation_pb2 as pb

USERS, ITEMS = 10_000, 5_000
BATCH = 1_000  # the most that a call takes
BATCH_CALLERS, SINGLE_CALLERS = 2, 16
STREAM_WINDOW = 2_000
EVENTS_READY = {"batch": 40_000, "single": 4_000, "stream": 10_000}
PREFIX = "/propagation.v1.PropagationService/"


def zipf(
    count: int, size: int, rng: np.random.Generator
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Draw numbers from 0 to count-1 by Zipf's law.

    Number r has the weight 1 / (r + 1).

    Returns:
        Draws [size].
    """
    weights = 1 / np.arange(1, count + 1)
    return rng.choice(count, size, p=weights / weights.sum())


def events(count: int, seed: int) -> Iterator[pb.Interaction]:
    rng = np.random.default_rng(seed)
    for number, (user, item) in enumerate(
        zip(zipf(USERS, count, rng), zipf(ITEMS, count, rng), strict=True)
    ):
        yield pb.Interaction(event_id=f"{seed}-{number}", user_id=f"u{user}", item_id=f"i{item}")


class Tally:
    """The number of acknowledged events, and their newest sequence."""

    def __init__(self) -> None:
        self.acked = 0
        self.sequence = 0

    def take(self, outcome: pb.InteractionOutcome) -> None:
        if outcome.status != pb.INTERACTION_STATUS_ACCEPTED:
            raise RuntimeError(f"not accepted: {outcome}")
        self.acked += 1
        self.sequence = max(self.sequence, outcome.sequence)


async def unary(
    channel: grpc.aio.Channel, calls: Iterator[bytes], callers: int, until: float, tally: Tally
) -> None:
    """Send calls with several callers; each waits for its ack."""
    record = channel.unary_unary(
        PREFIX + "RecordInteractions",
        None,
        response_deserializer=pb.RecordInteractionsResponse.FromString,
    )

    async def caller() -> None:
        while time.monotonic() < until and (call := next(calls, None)) is not None:
            answer = await record(call)
            for outcome in answer.outcomes:
                tally.take(outcome)

    await asyncio.gather(*(caller() for _ in range(callers)))


async def stream(
    channel: grpc.aio.Channel, calls: Iterator[bytes], until: float, tally: Tally
) -> None:
    """Send events on one stream, one message an event.

    At most STREAM_WINDOW events wait for their ack.
    """
    open_stream = channel.stream_stream(
        PREFIX + "StreamInteractions",
        None,
        response_deserializer=pb.StreamInteractionsResponse.FromString,
    )
    call = open_stream()  # type: ignore[call-arg]  # aio: written to below
    window = asyncio.Semaphore(STREAM_WINDOW)

    async def write() -> None:
        while time.monotonic() < until and (message := next(calls, None)) is not None:
            await window.acquire()
            await call.write(message)
        await call.done_writing()

    writing = asyncio.create_task(write())
    while (answer := await call.read()) is not grpc.aio.EOF:
        tally.take(answer.outcome)
        window.release()
    await writing


def prepared(mode: str, seconds: float, seed: int) -> list[bytes]:
    """Serialise more calls than the run can send."""
    stock = list(events(int(EVENTS_READY[mode] * seconds), seed))
    if mode == "stream":
        return [
            pb.StreamInteractionsRequest(interaction=event).SerializeToString() for event in stock
        ]
    size = BATCH if mode == "batch" else 1
    return [
        pb.RecordInteractionsRequest(interactions=stock[start : start + size]).SerializeToString()
        for start in range(0, len(stock), size)
    ]


async def run(address: str, mode: str, seconds: float, seed: int) -> dict[str, float]:
    calls, tally = prepared(mode, seconds, seed), Tally()
    async with grpc.aio.insecure_channel(address) as channel:
        await channel.channel_ready()
        started = time.monotonic()
        if mode == "stream":
            await stream(channel, iter(calls), started + seconds, tally)
        else:
            callers = BATCH_CALLERS if mode == "batch" else SINGLE_CALLERS
            await unary(channel, iter(calls), callers, started + seconds, tally)
        return {
            "acked": tally.acked,
            "seconds": time.monotonic() - started,
            "sequence": tally.sequence,
        }


if __name__ == "__main__":
    print(
        json.dumps(asyncio.run(run(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))))
    )
