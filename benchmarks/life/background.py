"""Background load from a process of its own.

Run `python -m benchmarks.life.background ADDRESS USERS ITEMS RATE`. It records RATE events a second
until its input is closed, then prints {"per_s", "lag_s", "call_ms"}. Twice a second it makes a read
that waits until the numbers reflect the newest acknowledged event; `lag_s` is the longest time of
such a read, and `call_ms` the mean time of a recording call.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import grpc

from benchmarks.run import Run
from benchmarks.service.town import Town, pairs_of
from propagation.forced_exit import clean_up_by
from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

RATE, CALLS_A_SECOND = 500, 10
EVENTS = 1_000_000
LOOK_SECONDS = 0.5
LAG_MOST = 2.0


@contextmanager
def background(
    address: str, town: Town, run: Run, what: str, rate: int = RATE
) -> Iterator[dict[str, float]]:
    """Send events while the body runs, then note their rate and lag.

    The events have no user or item of the probes. Yields a mapping; after the block it has
    {"per_s", "lag_s", "call_ms"}.

    Args:
        what: Names the measurement in the note.
        rate: Events a second.
    """
    arguments = [address, str(town.users), str(town.items), str(rate)]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.life.background", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    done: dict[str, float] = {}
    with clean_up_by(process.kill):
        try:
            process.stdout.readline()
            yield done
        finally:
            rest, _ = process.communicate(timeout=60)
    done.update(json.loads(rest))
    late = "" if done["lag_s"] < LAG_MOST else f", which is over {LAG_MOST:g} s"
    run.note(
        f"{what}, with {done['per_s']:,.0f} events/s meanwhile: longest lag of the numbers "
        f"{done['lag_s']:.2f} s{late}"
    )


class Background:
    """Sends events, and measures how far the numbers lag behind the acks."""

    def __init__(self, stub: "PropagationServiceAsyncStub", town: Town, rate: int) -> None:
        self._stub = stub
        self._rate = rate
        self._stamp = time.time_ns()
        self._pairs = pairs_of(town, EVENTS, self._stamp % (1 << 32)).tolist()
        self._stopping = asyncio.Event()
        self.sent = 0
        self.acked = 0
        self.lag = 0.0
        self.calls: list[float] = []

    def stop(self) -> None:
        self._stopping.set()

    async def push(self) -> None:
        """Send on schedule: after a late call the next ones catch up."""
        due = time.monotonic()
        while not self._stopping.is_set():
            size = self._rate // CALLS_A_SECOND
            called = time.monotonic()
            answer = await self._stub.RecordInteractions(
                pb.RecordInteractionsRequest(
                    interactions=[
                        pb.Interaction(
                            event_id=f"live-{self._stamp}-{self.sent + place}",
                            user_id=f"u{user}",
                            item_id=f"i{item}",
                        )
                        for place, (user, item) in enumerate(
                            self._pairs[self.sent : self.sent + size]
                        )
                    ]
                )
            )
            self.calls.append(time.monotonic() - called)
            self.sent, self.acked = self.sent + size, answer.sequence
            due += 1 / CALLS_A_SECOND
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def look(self) -> None:
        """Measure the lag by the cheapest read: Recommend to an unknown user."""
        while not self._stopping.is_set():
            started = time.monotonic()
            await self._stub.Recommend(
                pb.RecommendRequest(user_id="nobody", candidate_ids=["i0"], min_sequence=self.acked)
            )
            self.lag = max(self.lag, time.monotonic() - started)
            await asyncio.sleep(LOOK_SECONDS)


async def main(address: str, town: Town, rate: int) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        await channel.channel_ready()
        events = Background(pb_grpc.PropagationServiceStub(channel), town, rate)
        started = time.monotonic()
        tasks = asyncio.gather(events.push(), events.look())
        await asyncio.sleep(1)
        print("running", flush=True)
        ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        await asyncio.wait([ended, tasks], return_when=asyncio.FIRST_COMPLETED)
        events.stop()
        await tasks
        print(
            json.dumps(
                {
                    "per_s": events.sent / (time.monotonic() - started),
                    "lag_s": events.lag,
                    "call_ms": 1e3 * sum(events.calls) / len(events.calls),
                }
            )
        )


if __name__ == "__main__":
    asyncio.run(
        main(
            sys.argv[1],
            Town(int(sys.argv[2]), int(sys.argv[3]), 0).without_probers(),
            int(sys.argv[4]),
        )
    )
