"""Callers of reads, a process of their own: `python -m benchmarks.reads ADDRESS CALLERS SECONDS`.

Recommend with n = 10, seen left out, for users drawn evenly from a JSON list on stdin. Prints {"p50_ms", "p99_ms", "per_s"}."""

import asyncio
import json
import sys
import time

import grpc
import numpy as np

from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc


async def run(address: str, users: list[str], callers: int, seconds: float) -> dict[str, float]:
    """Each caller waits for its answer before it asks again."""
    took: list[float] = []
    async with grpc.aio.insecure_channel(address) as channel:
        stub = pb_grpc.PropagationServiceStub(channel)
        await channel.channel_ready()
        started = time.monotonic()

        async def caller(seed: int) -> None:
            rng = np.random.default_rng(seed)
            while time.monotonic() < started + seconds:
                request = pb.RecommendRequest(user_id=users[rng.integers(len(users))], limit=10, exclude_seen=True)
                asked = time.perf_counter()
                answer = await stub.Recommend(request)
                took.append(time.perf_counter() - asked)
                if not answer.recommendations:
                    raise RuntimeError(f"nothing recommended to {request.user_id!r}")

        await asyncio.gather(*(caller(seed) for seed in range(callers)))
        passed = time.monotonic() - started
    return {"p50_ms": float(np.percentile(took, 50) * 1e3), "p99_ms": float(np.percentile(took, 99) * 1e3),
            "per_s": len(took) / passed}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(sys.argv[1], json.load(sys.stdin), int(sys.argv[2]), float(sys.argv[3])))))
