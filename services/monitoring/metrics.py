"""The metrics, by name, unit and label: what a dashboard may ask for."""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from propagation.model.usage import Usage
from services.monitoring.llm_cost import SpendingCollector
from services.runtime.measurements import Counters

PREFIX = "propagation"
CALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
PART_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)


class Metrics:
    """One of each, in a registry of their own. Labels hold names of RPCs, calls and outcomes: never
    a client's."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.rpc_seconds = self._histogram(
            "rpc_seconds",
            "Time of a call until its answer, or its stream's end",
            CALL_SECONDS,
            "rpc",
            "code",
        )
        self.store_seconds = self._histogram(
            "store_seconds", "Time of a call to the graph store", PART_SECONDS, "call"
        )
        self.index_seconds = self._histogram(
            "index_seconds", "Time of a call to the vector index", PART_SECONDS, "call"
        )
        self.part_failures = self._counter(
            "part_failures", "Calls to the store or the index that failed", "part", "error"
        )
        self.events = self._counter("events", "Events by what became of them", "status")
        self.learned = self._counter(
            "interactions_learned", "Interactions in committed learn blocks"
        )
        self.reasoned = self._counter(
            "interactions_reasoned", "Interactions reasoned, by reward or failure", "result"
        )
        self.texts = self._counter("profile_versions", "Versions of profiles written")
        self.receptions = self._counter(
            "messages_received", "Messages merged into a profile, or dropped and by what", "outcome"
        )
        self.rounds = self._counter("rounds", "Rounds published")
        self.messages = self._counter("messages_sent", "Messages that rounds sent")
        self.edges = self._counter(
            "edges", "Edges of the routing table, opened and closed", "change"
        )
        self.round_clients = self._gauge("round_clients", "Clients of the last round", "what")
        self.sequence = self._gauge(
            "sequence", "How far the log is recorded, learned and reasoned", "through"
        )
        self.lag = self._gauge("lag", "Entries of the log that wait", "to_be")
        self.queue = self._gauge("queue", "What waits, by queue", "of")
        self.clients = self._gauge("clients", "Clients", "kind")
        self.answers = self._gauge(
            "answers", "1 where a part answered when it was asked for these metrics, else 0", "part"
        )
        self.failing = self._gauge("failing", "1 while a step or job fails", "job")
        self.budget_used = self._gauge("budget_used", "What is used of a budget", "budget")
        self.budget_limit = self._gauge("budget_limit", "The limit of a budget", "budget")

    def show_counters(self, counters: Counters) -> None:
        """What the worker counts, exported as it stands."""
        self.registry.register(_Counted(counters))

    def show_spending(self, usage: Callable[[], Usage]) -> None:
        """What a language model cost, as it stands."""
        self.registry.register(SpendingCollector(PREFIX, usage))

    def text(self) -> bytes:
        """Prometheus' exposition format."""
        return generate_latest(self.registry)

    def _histogram(
        self, name: str, about: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(f"{PREFIX}_{name}", about, labels, buckets=buckets, registry=self.registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", about, labels, registry=self.registry)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", about, labels, registry=self.registry)


class _Counted(Collector):
    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def collect(self) -> Iterable[CounterMetricFamily]:
        families: dict[str, CounterMetricFamily] = {}
        counts: Mapping[tuple[str, str], int] = self._counters.snapshot()
        for (name, label), count in sorted(counts.items()):
            family = families.setdefault(
                name,
                CounterMetricFamily(
                    f"{PREFIX}_{name}", "Counted since this process started", labels=["of"]
                ),
            )
            family.add_metric([label], count)
        return families.values()
