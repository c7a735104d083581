"""The metrics, by name, unit and label."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from propagation.model import Usage
from services.runtime.measurements import Counters

PREFIX = "propagation"
CALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
PART_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)


class Metrics:
    """All metrics, in a registry of their own.

    Labels hold names of RPCs, calls and outcomes, never those of clients.
    """

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

    def text(self) -> bytes:
        """Render all metrics in Prometheus' exposition format."""
        return generate_latest(self.registry)

    def _histogram(
        self, name: str, about: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(f"{PREFIX}_{name}", about, labels, buckets=buckets, registry=self.registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", about, labels, registry=self.registry)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", about, labels, registry=self.registry)


class CounterCollector(Collector):
    """Exports the worker's counters as they are at each scrape; their label is `of`."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def collect(self) -> Iterable[CounterMetricFamily]:
        """Make one family of each name."""
        families: dict[str, CounterMetricFamily] = {}
        for (name, label), count in sorted(self._counters.copy().items()):
            if name not in families:
                families[name] = _family(name, "Counted since this process started", "of")
            families[name].add_metric([label], count)
        return families.values()


class CostCollector(Collector):
    """Exports what a language model cost by prompt, as GetStatus shows it at each scrape.

    Nothing is exported before a model was called, and no money while no price is set.
    """

    def __init__(self, usage: Callable[[], Usage]) -> None:
        self._usage = usage

    def collect(self) -> Iterable[CounterMetricFamily]:
        """Make the families from the usage since this process started."""
        by_prompt = self._usage().by_prompt
        if not by_prompt:
            return []
        calls = _cost_family("calls", "calls that reached the model, retries counted")
        cached = _cost_family("cached_answers", "answers that needed no call")
        lost = _cost_family("lost_parts", "parts of answers that were not usable")
        seconds = _cost_family("seconds", "waiting for the model")
        tokens = _cost_family("tokens", "tokens as the server counts them", "kind")
        money = _cost_family(
            "money", "in the currency of openai.price_prompt and openai.price_completion"
        )
        for prompt, cost in by_prompt:
            calls.add_metric([prompt], cost.calls)
            cached.add_metric([prompt], cost.cached)
            lost.add_metric([prompt], cost.lost)
            seconds.add_metric([prompt], cost.seconds)
            tokens.add_metric([prompt, "prompt"], cost.prompt_tokens)
            tokens.add_metric([prompt, "completion"], cost.completion_tokens)
            if cost.money:
                money.add_metric([prompt], cost.money)
        return [calls, cached, lost, seconds, tokens, *([money] if money.samples else [])]


def _cost_family(name: str, meaning: str, *labels: str) -> CounterMetricFamily:
    about = f"Since this process started, by prompt and its version: {meaning}"
    return _family(f"model_{name}", about, "prompt", *labels)


def _family(name: str, about: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"{PREFIX}_{name}", about, labels=labels)
