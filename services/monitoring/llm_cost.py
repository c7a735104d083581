"""What a language model cost, by prompt: what GetStatus shows of this process."""

from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from propagation.model.usage import Usage

ABOUT = "Since this process started, by prompt and its version: "


class SpendingCollector(Collector):
    """`usage`: what was spent since this process began, asked at each look. Nothing where no model
    was asked; money where a price is set. `prefix` of every name."""

    def __init__(self, prefix: str, usage: Callable[[], Usage]) -> None:
        self._prefix = f"{prefix}_model"
        self._usage = usage

    def collect(self) -> Iterable[CounterMetricFamily]:
        by_prompt = self._usage().by_prompt
        if not by_prompt:
            return []
        calls = self._family("calls", "calls that reached the model, retries counted")
        cached = self._family("cached_answers", "answers that needed no call")
        lost = self._family("lost_parts", "parts of answers that were not usable")
        seconds = self._family("seconds", "waiting for the model")
        tokens = self._family("tokens", "tokens as the server counts them", "kind")
        money = self._family(
            "money", "in the currency of openai.price_prompt and openai.price_completion"
        )
        for prompt, spent in by_prompt:
            calls.add_metric([prompt], spent.calls)
            cached.add_metric([prompt], spent.cached)
            lost.add_metric([prompt], spent.lost)
            seconds.add_metric([prompt], spent.seconds)
            tokens.add_metric([prompt, "prompt"], spent.prompt_tokens)
            tokens.add_metric([prompt, "completion"], spent.completion_tokens)
            if spent.money:
                money.add_metric([prompt], spent.money)
        return [calls, cached, lost, seconds, tokens, *([money] if money.samples else [])]

    def _family(self, name: str, about: str, *labels: str) -> CounterMetricFamily:
        return CounterMetricFamily(
            f"{self._prefix}_{name}", ABOUT + about, labels=["prompt", *labels]
        )
