"""Ports whose calls are timed, counted and traced; the workflow does not know of it."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from propagation.model import (
    LearnedBlock,
    ReasonedSummary,
    Round,
    count_outcomes,
    summarize_reasoned,
)
from propagation.ports import RecordResult
from services.monitoring.metrics import Metrics

if TYPE_CHECKING:
    from services.monitoring.traces import Traces


Count = Callable[[Metrics, Sequence[Any], Any], None]


def count_record(metrics: Metrics, args: Sequence[Any], result: RecordResult) -> None:
    """Count record(events) by outcome."""
    for status, count in Counter(outcome.status for outcome in result.outcomes).items():
        metrics.counters["events"].labels(str(status)).inc(count)


def count_learned(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """Count commit_learned(lease, block)."""
    block: LearnedBlock = args[1]
    metrics.counters["interactions_learned"].inc(len(block.sequence))


def count_reasoned(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """Count commit_reasoned(claim, reasoned)."""
    _count_summaries(metrics, [summarize_reasoned(answer) for answer in args[1]])


def count_packed(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """Count commit_packed(claim, reasoned)."""
    _count_summaries(metrics, args[1].finished)


def count_texts(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """Count commit_texts(texts, merged, sequence)."""
    _count_texts(metrics, len(args[0]), count_outcomes([merge.outcome for merge in args[1]]))


def count_round(metrics: Metrics, args: Sequence[Any], result: Round) -> None:
    """Count publish_round(lease, round)."""
    metrics.counters["rounds"].inc()
    metrics.counters["messages_sent"].inc(result.touched)
    metrics.counters["edges"].labels("opened").inc(result.edges_opened)
    metrics.counters["edges"].labels("closed").inc(result.edges_closed)
    metrics.set_gauge("round_clients", {"changed": result.changed, "reached": result.reached})


def _count_summaries(metrics: Metrics, summaries: Sequence[ReasonedSummary]) -> None:
    for summary in summaries:
        result = "unpredicted" if summary.reward is None else f"reward {summary.reward}"
        metrics.counters["interactions_reasoned"].labels(
            "failed" if summary.failed else result
        ).inc()
        _count_texts(metrics, len(summary.texts), summary.outcomes)


def _count_texts(metrics: Metrics, versions: int, outcomes: Mapping[str, int]) -> None:
    metrics.counters["profile_versions"].inc(versions)
    for outcome, count in outcomes.items():
        metrics.counters["messages_received"].labels(outcome).inc(count)


COMMIT_COUNTERS: Mapping[str, Count] = {
    "record": count_record,
    "commit_learned": count_learned,
    "commit_reasoned": count_reasoned,
    "commit_packed": count_packed,
    "commit_texts": count_texts,
    "publish_round": count_round,
}


class InstrumentedPort:
    """Stands in place of a port and has all its attributes; a call's wrapper is made once.

    Args:
        part: "store" or "index", for the metrics.
    """

    def __init__(self, port: object, part: str, metrics: Metrics, traces: "Traces | None") -> None:
        self._port = port
        self._part = part
        self._metrics = metrics
        self._traces = traces

    def __getattr__(self, name: str) -> Any:
        """Return the port's attribute; a coroutine function comes wrapped."""
        value = getattr(self._port, name)
        if not asyncio.iscoroutinefunction(value):
            return value
        self.__dict__[name] = self._instrumented(name, value)
        return self.__dict__[name]

    def _instrumented(
        self, name: str, call: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        observe = self._metrics.seconds[self._part].labels(name).observe
        count = COMMIT_COUNTERS.get(name)
        trace = self._traces.by_call.get(name) if self._traces else None
        metrics, part = self._metrics, self._part

        async def instrumented(*args: Any, **kwargs: Any) -> Any:
            start, start_ns = time.perf_counter(), time.time_ns()
            try:
                result = await call(*args, **kwargs)
            except Exception as error:
                metrics.counters["part_failures"].labels(part, type(error).__name__).inc()
                raise
            finally:
                observe(time.perf_counter() - start)
            if count is not None:
                count(metrics, args, result)
            if trace is not None:
                trace(args, result, start_ns)
            return result

        return instrumented
