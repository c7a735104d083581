"""Growth of memory in half an hour of load.

The load is 500 events a second, and the nightly evolution runs every two minutes.
"""

import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.life.background import background
from benchmarks.life.states import copy_of
from benchmarks.run import Figures, Run
from benchmarks.service.real_service import serving
from benchmarks.service.town import lived_town
from propagation.v1 import propagation_pb2 as pb
from services.cli.access import ask

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

SECONDS, WARM_SECONDS, EACH_SECONDS = 1_800.0, 300.0, 5.0
SHORT_SECONDS, SHORT_WARM_SECONDS, SHORT_EACH_SECONDS = 6.0, 2.0, 0.5
NIGHT_SECONDS, SHORT_NIGHT_SECONDS = 120.0, 1.0
EVERY_TWO_MINUTES = "schedule.evolution=*/2 * * * *"


def measure(run: Run) -> Figures:
    """Measure the growth of memory after the warm-up, in percent.

    The mean of the first two minutes is compared with that of the last two. Each span has exactly
    one nightly job, because the job runs every two minutes; a single minute might have none.
    """
    total, warm, each, night = (
        (SHORT_SECONDS, SHORT_WARM_SECONDS, SHORT_EACH_SECONDS, SHORT_NIGHT_SECONDS)
        if run.short
        else (SECONDS, WARM_SECONDS, EACH_SECONDS, NIGHT_SECONDS)
    )
    town = lived_town(run.short)
    rss: list[float] = []
    with (
        serving(copy_of(town, run), "--auto-create", "--set", EVERY_TWO_MINUTES) as service,
        background(service.address, town, run, f"soak of {total:,.0f} s"),
    ):
        started = time.monotonic()
        while (passed := time.monotonic() - started) < total:
            if passed >= warm:
                rss.append(service.rss_mb())
            time.sleep(each)
        jobs = ask(service.address, _jobs)
    samples = round(night / each)
    first, last = float(np.mean(rss[:samples])), float(np.mean(rss[-samples:]))
    run.note(
        f"resident memory {first:,.0f} MB after the warm-up ({min(rss[:samples]):,.0f} between two"
        f" nights), {last:,.0f} MB at the end ({min(rss[-samples:]):,.0f}), at most {max(rss):,.0f}"
        f" MB; {jobs}"
    )
    yield "soak_rss_growth_pct", 100 * (last - first) / first


async def _jobs(stub: "PropagationServiceAsyncStub") -> str:
    """Describe the scheduled jobs, failing steps, and the lag of reasoning."""
    status = await stub.GetStatus(pb.GetStatusRequest())
    said = [
        (
            f"{job.name}: last {job.last.ToJsonString() if job.HasField('last') else 'never'}, "
            f"{job.failures} failures"
        )
        for job in status.jobs
    ]
    return "; ".join(
        [*said, f"{status.reason_lag:,} events to reason", f"failing: {dict(status.failing)}"]
    )
