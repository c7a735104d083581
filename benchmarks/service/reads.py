"""Callers of reads in a process of their own.

Run `python -m benchmarks.service.reads ADDRESS recommend|profile CALLERS SECONDS`. The callers ask
for Recommend (10 items, seen ones left out) or GetProfile CACHED, for users drawn evenly from a
JSON list on stdin. The program prints {"p50_ms", "p99_ms", "per_s"}.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import grpc
import numpy as np

from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub


def measured(
    address: str, method: str, users: Sequence[str], callers: int, seconds: float
) -> dict[str, float]:
    """Run the callers in a process of their own.

    Returns:
        {"p50_ms", "p99_ms", "per_s"}.
    """
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.service.reads",
            address,
            method,
            str(callers),
            str(seconds),
        ],
        input=json.dumps(users),
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(json.loads(done.stdout))


async def ask(stub: "PropagationServiceAsyncStub", method: str, user: str) -> None:
    """Make one read, and check that its answer is not empty."""
    if method == "recommend":
        answer = await stub.Recommend(
            pb.RecommendRequest(user_id=user, limit=10, exclude_seen=True)
        )
        if not answer.recommendations:
            raise RuntimeError(f"nothing recommended to {user!r}")
    else:
        await stub.GetProfile(
            pb.GetProfileRequest(
                key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=user), freshness=pb.FRESHNESS_CACHED
            )
        )


async def run(
    address: str, method: str, users: Sequence[str], callers: int, seconds: float
) -> dict[str, float]:
    """Run the callers; each waits for its answer before the next call."""
    took: list[float] = []
    async with grpc.aio.insecure_channel(address) as channel:
        stub = pb_grpc.PropagationServiceStub(channel)
        await channel.channel_ready()
        await ask(
            stub, method, users[0]
        )  # the first read after a start prepares what all others use
        started = time.monotonic()

        async def caller(seed: int) -> None:
            rng = np.random.default_rng(seed)
            while time.monotonic() < started + seconds:
                user = users[rng.integers(len(users))]
                asked = time.perf_counter()
                await ask(stub, method, user)
                took.append(time.perf_counter() - asked)

        await asyncio.gather(*(caller(seed) for seed in range(callers)))
        passed = time.monotonic() - started
    return {
        "p50_ms": float(np.percentile(took, 50) * 1e3),
        "p99_ms": float(np.percentile(took, 99) * 1e3),
        "per_s": len(took) / passed,
    }


if __name__ == "__main__":
    print(
        json.dumps(
            asyncio.run(
                run(
                    sys.argv[1],
                    sys.argv[2],
                    json.load(sys.stdin),
                    int(sys.argv[3]),
                    float(sys.argv[4]),
                )
            )
        )
    )
