"""Rate of ingest in runs of 60 s, with processing.

There are 10,000 users and 5,000 items, drawn by Zipf's law with exponent 1. The service creates
them at their first event. The backlog at the end, and the seconds to drain it, are printed.
"""

import asyncio
import json
import subprocess
import sys
import time

from benchmarks.run import Figures, Run
from benchmarks.service.real_service import Service, serving
from propagation.v1 import propagation_pb2 as pb
from services.client.stub import connect

MODES = ("batch", "single", "stream")
SECONDS = 60.0
DRAIN_SECONDS = 30.0
POLL_SECONDS = 0.25


def measure(run: Run) -> Figures:
    """Measure each mode on a fresh service."""
    for mode in MODES:
        yield f"ingest_{mode}_events_per_s", measured(run, mode)


def measured(run: Run, mode: str) -> float:
    """Return the acknowledged events a second, and note the backlog.

    Events are acknowledged after their commit.
    """
    seconds = run.seconds(SECONDS)
    with serving(run.scratch / f"ingest-{mode}.db", "--auto-create") as service:
        load = subprocess.run(
            [
                sys.executable,
                "-m",
                "benchmarks.service.load",
                service.address,
                mode,
                str(seconds),
                "1",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        done = json.loads(load.stdout)
        rate = float(done["acked"] / done["seconds"])
        run.note(
            f"{mode}: {done['acked']:,} events in {done['seconds']:.1f} s, {rate:,.0f}/s; "
            + _drained(run, service, done["sequence"])
        )
    return rate


def _drained(run: Run, service: Service, sequence: int) -> str:
    return asyncio.run(_watch(service, sequence, run.seconds(DRAIN_SECONDS)))


async def _watch(service: Service, sequence: int, seconds: float) -> str:
    """Describe the backlog, and the time to drain it.

    After `seconds` the time for the rest is estimated.
    """
    async with connect(service.address) as stub:
        request = pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="u0"))
        first = (await stub.GetProfile(request)).reflects
        started, now = time.monotonic(), first
        while now.reasoned_through < sequence and time.monotonic() - started < seconds:
            await asyncio.sleep(POLL_SECONDS)
            now = (await stub.GetProfile(request)).reflects
    passed = time.monotonic() - started
    backlog = (
        f"backlog {sequence - first.applied_through:,} to learn, "
        f"{sequence - first.reasoned_through:,} to reason"
    )
    left = sequence - now.reasoned_through
    if left <= 0:
        return f"{backlog}; drained in {passed:.1f} s"
    pace = (now.reasoned_through - first.reasoned_through) / passed
    rest = f"about {left / pace:,.0f} s more at this pace" if pace else "no progress seen"
    return f"{backlog}; {left:,} left after {passed:.0f} s, {rest} (estimated)"
