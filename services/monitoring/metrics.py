"""The metrics, and ports whose calls are measured.

A metric has a name, a unit and labels. Calls of the ports are timed, counted and traced around the
ports, so that the workflow has no code for it.
"""

import asyncio
import collections
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from propagation.model import (
    ReasonedSummary,
    Round,
    Usage,
    count_outcomes,
    summarize_reasoned,
)
from propagation.ports import RecordResult
from services.runtime.measurements import Counters

PREFIX = "propagation"
CALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
PART_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)


@dataclass(frozen=True)
class Definition:
    """The description and labels of a metric; a histogram has buckets [s]."""

    about: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = PART_SECONDS


HISTOGRAMS = {
    "rpc": Definition(
        "Time of a call until its answer, or its stream's end", ("rpc", "code"), CALL_SECONDS
    ),
    "store": Definition("Time of a call to the graph store", ("call",)),
    "index": Definition("Time of a call to the vector index", ("call",)),
}
COUNTERS = {
    "part_failures": Definition("Calls to the store or the index that failed", ("part", "error")),
    "events": Definition("Events by outcome", ("status",)),
    "interactions_learned": Definition("Interactions in committed learn blocks"),
    "interactions_reasoned": Definition("Interactions reasoned, by reward or failure", ("result",)),
    "profile_versions": Definition("Versions of profiles written"),
    "messages_received": Definition(
        "Messages merged into a profile, or dropped, by outcome", ("outcome",)
    ),
    "rounds": Definition("Rounds published"),
    "messages_sent": Definition("Messages that rounds sent"),
    "edges": Definition("Edges of the routing table, opened and closed", ("change",)),
}
GAUGES = {
    "round_clients": Definition("Clients of the last round", ("what",)),
    "sequence": Definition("How far the log is recorded, learned and reasoned", ("through",)),
    "lag": Definition("Entries of the log that wait to be learned or reasoned", ("to_be",)),
    "queue": Definition("Entries that wait, by queue", ("of",)),
    "reasoned_above": Definition(
        "Entries done above the sequence up to which all are reasoned", ("of",)
    ),
    "clients": Definition("Clients", ("kind",)),
    "factor_steps": Definition(
        "Steps of the learned factors left out because a value would not have been finite", ("of",)
    ),
    "answers": Definition("1 if a part answered when asked for these metrics, else 0", ("part",)),
    "failing": Definition("1 while a step or job fails", ("job",)),
    "budget_used": Definition("The used part of a budget", ("budget",)),
    "budget_limit": Definition("The limit of a budget", ("budget",)),
    "predictions": Definition(
        "A reasoner's last predictions, at most 1,000: all, right, first_place", ("by", "of")
    ),
    "predictor_is_no_good": Definition(
        "1 if a reasoner's last predictions are by place or at chance, else 0", ("by",)
    ),
    "reasoning_pace": Definition(
        "A language model's pace over the last interactions: seconds, tokens, per_hour", ("of",)
    ),
}
# Costs of a language model; the label `prompt` holds the prompt and its version.
COSTS = {
    "calls": Definition("calls that reached the model, retries counted"),
    "cached_answers": Definition("answers that needed no call"),
    "lost_parts": Definition("parts of answers that were lost", ("reason",)),
    "checked_parts": Definition("parts of answers that were checked"),
    "refused": Definition("parts, texts and names that were refused", ("reason",)),
    "seconds": Definition("waiting for the model"),
    "tokens": Definition("tokens as the server counts them", ("kind",)),
    "money": Definition("in the currency of openai.price_prompt and openai.price_completion"),
}


class Metrics:
    """All metrics by name, in a registry of their own.

    Labels hold names of RPCs, calls and outcomes, never those of clients.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.seconds = {
            name: Histogram(
                f"{PREFIX}_{name}_seconds",
                row.about,
                row.labels,
                buckets=row.buckets,
                registry=self.registry,
            )
            for name, row in HISTOGRAMS.items()
        }
        self.counters = {
            name: Counter(f"{PREFIX}_{name}", row.about, row.labels, registry=self.registry)
            for name, row in COUNTERS.items()
        }
        self.gauges = {
            name: Gauge(f"{PREFIX}_{name}", row.about, row.labels, registry=self.registry)
            for name, row in GAUGES.items()
        }

    def set_gauges(self, gauges: Mapping[str, Mapping[str, float]]) -> None:
        """Set gauges that have one label, by name and the label's value."""
        for name, values in gauges.items():
            for label, value in values.items():
                self.gauges[name].labels(label).set(value)


@dataclass(eq=False)  # the registry needs a hash
class CounterCollector(Collector):
    """Exports the worker's counters as they are at each scrape.

    Each counter has one label, `of`.
    """

    counters: Counters

    def collect(self) -> Iterable[CounterMetricFamily]:
        """Make one family of each name."""
        families: dict[str, CounterMetricFamily] = {}
        for (name, label), count in sorted(self.counters.copy().items()):
            if name not in families:
                families[name] = CounterMetricFamily(
                    f"{PREFIX}_{name}", "Counted since this process started", labels=("of",)
                )
            families[name].add_metric([label], count)
        return families.values()


@dataclass(eq=False)  # the registry needs a hash
class CostCollector(Collector):
    """Exports the costs of a language model, by prompt.

    Each scrape exports the figures of GetStatus. Before the first call of a model nothing is
    exported. Money is exported only if a price is set.
    """

    usage: Callable[[], Usage]

    def collect(self) -> Iterable[CounterMetricFamily]:
        """Make the families from the usage since this process started."""
        families = {
            name: CounterMetricFamily(
                f"{PREFIX}_model_{name}",
                f"Since this process started, by prompt and its version: {row.about}",
                labels=("prompt", *row.labels),
            )
            for name, row in COSTS.items()
        }
        for prompt, cost in self.usage().by_prompt:
            samples = (
                ("calls", (), cost.calls),
                ("cached_answers", (), cost.cached),
                *(("lost_parts", (reason,), count) for reason, count in cost.losses.items()),
                ("checked_parts", (), cost.parts),
                *(("refused", (reason,), count) for reason, count in cost.refused.items()),
                ("seconds", (), cost.seconds),
                ("tokens", ("prompt",), cost.prompt_tokens),
                ("tokens", ("completion",), cost.completion_tokens),
                *((("money", (), cost.money),) if cost.money else ()),
            )
            for name, labels, value in samples:
                families[name].add_metric([prompt, *labels], value)
        return [family for family in families.values() if family.samples]


Count = Callable[[Metrics, Sequence[Any], Any], None]
Trace = Callable[[Sequence[Any], Any, int], None]
"""Traces a call; takes its arguments, its result and its start [ns]."""


def count_record(metrics: Metrics, args: Sequence[Any], result: RecordResult) -> None:
    """Count record(events) by outcome."""
    for status, count in collections.Counter(outcome.status for outcome in result.outcomes).items():
        metrics.counters["events"].labels(str(status)).inc(count)


def count_learned(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """Count commit_learned(lease, block)."""
    metrics.counters["interactions_learned"].inc(len(args[1].sequence))


def count_reasoned(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """Count commit_reasoned(claim, reasoned)."""
    _count_summaries(metrics, [summarize_reasoned(answer) for answer in args[1]])


def count_packed(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """Count commit_packed(claim, reasoned)."""
    _count_summaries(metrics, args[1].summaries)


def count_texts(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """Count commit_texts(texts, merged, sequence)."""
    _count_texts(metrics, len(args[0]), count_outcomes([merge.outcome for merge in args[1]]))


def count_round(metrics: Metrics, args: Sequence[Any], result: Round) -> None:
    """Count publish_round(lease, round, postponed)."""
    metrics.counters["rounds"].inc()
    metrics.counters["messages_sent"].inc(result.touched)
    metrics.counters["edges"].labels("opened").inc(result.edges_opened)
    metrics.counters["edges"].labels("closed").inc(result.edges_closed)
    metrics.set_gauges({"round_clients": {"changed": result.changed, "reached": result.reached}})


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
    """Stands in place of a port, and measures its calls.

    It has all attributes of the port. A call's wrapper is made once.

    Args:
        part: "store" or "index", for the metrics.
        traces: The functions that trace calls, by the call's name.
    """

    def __init__(
        self, port: object, part: str, metrics: Metrics, traces: Mapping[str, Trace]
    ) -> None:
        self._port = port
        self._part = part
        self._metrics = metrics
        self._traces = traces

    def __getattr__(self, name: str) -> Any:
        """Return the port's attribute; a coroutine function comes wrapped."""
        value = getattr(self._port, name)
        if not asyncio.iscoroutinefunction(value):
            return value
        self.__dict__[name] = self._instrument(name, value)
        return self.__dict__[name]

    def _instrument(
        self, name: str, call: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        observe = self._metrics.seconds[self._part].labels(name).observe
        count = COMMIT_COUNTERS.get(name)
        trace = self._traces.get(name)

        async def instrument(*args: Any, **kwargs: Any) -> Any:
            start, start_ns = time.perf_counter(), time.time_ns()
            try:
                result = await call(*args, **kwargs)
            except Exception as error:
                self._metrics.counters["part_failures"].labels(
                    self._part, type(error).__name__
                ).inc()
                raise
            finally:
                observe(time.perf_counter() - start)
            if count is not None:
                count(self._metrics, args, result)
            if trace is not None:
                trace(args, result, start_ns)
            return result

        return instrument
