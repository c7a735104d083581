"""The parts of GetStatus."""

from collections.abc import Callable

from propagation.model import Gauge, MessageReach, Usage
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from services.grpc.convert.vocabulary import time_to_proto
from services.runtime.measurements import Timings
from services.schedule.calendar_job import CalendarJob


def reach_to_proto(reach: MessageReach) -> pb.RouterReach:
    """Convert the reach of a router's messages."""
    return pb.RouterReach(
        router=reach.router,
        clients=reach.clients,
        merged=reach.merged,
        filtered=reach.filtered,
        empty=reach.empty,
        fell_out=reach.fell_out,
    )


def timings_to_proto(timings: Timings) -> list[pb.TimedPart]:
    """Convert the timings of calls and steps, the longest total time first."""
    return [
        pb.TimedPart(
            name=name, calls=part.calls, seconds=part.seconds, longest_seconds=part.longest
        )
        for name, part in sorted(timings.parts.items(), key=lambda named: -named[1].seconds)
    ]


def spending_to_proto(engine: Engine) -> pb.Spending | None:
    """Convert the cost of models; None for a reasoner that has cost nothing."""
    expenses, pipeline = engine.expenses, engine.pipeline
    if not expenses.all_runs:
        return None
    return pb.Spending(
        prompts=_usage_to_proto(expenses.this_run),
        ever=_usage_to_proto(expenses.all_runs),
        interactions=pipeline.done,
        redone=pipeline.redone,
    )


def _usage_to_proto(usage: Usage) -> list[pb.PromptSpending]:
    return [
        pb.PromptSpending(
            prompt=name,
            calls=cost.calls,
            cached=cost.cached,
            lost_parts=cost.lost,
            prompt_tokens=cost.prompt_tokens,
            completion_tokens=cost.completion_tokens,
            seconds=cost.seconds,
            money=cost.money,
        )
        for name, cost in usage.by_prompt
    ]


def gauge_to_proto(gauge: Gauge, *, with_course: bool) -> pb.Gauge:
    """Convert the gauge of propagation's worth."""
    return pb.Gauge(
        interactions=gauge.interactions,
        with_propagation=gauge.with_propagation,
        without=gauge.without,
        standard_error=gauge.standard_error,
        course=[
            pb.GaugePoint(
                through=point.through,
                interactions=point.interactions,
                with_propagation=point.with_propagation,
                without=point.without,
            )
            for point in gauge.course
        ]
        if with_course
        else (),
    )


async def job_to_proto(job: CalendarJob, redact: Callable[[str], str]) -> pb.ScheduledJob:
    """Convert the state of a calendar job, its error as the caller may see it."""
    status = await job.status()
    state, next_time = status.state, status.next_time
    failures = state.failures if state is not None else 0
    return pb.ScheduledJob(
        name=job.name,
        last=time_to_proto(state.finished) if state is not None else None,
        next=time_to_proto(int(next_time.timestamp() * 1_000)) if next_time is not None else None,
        failures=failures,
        error=redact(state.error) if state is not None and failures else None,
        retry=time_to_proto(state.retry_at) if state is not None and failures else None,
    )
