"""What commits say of themselves: what was recorded, learned, reasoned, received and published."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from propagation.model.learned import LearnedBlock
from propagation.model.round import Round
from propagation.model.text import ClientText, Merged, Reasoned
from propagation.ports.record import Recorded
from services.monitoring.metrics import Metrics

Count = Callable[[Metrics, Sequence[Any], Any], None]


def recorded(metrics: Metrics, args: Sequence[Any], result: Recorded) -> None:
    """record(events)"""
    for status, count in Counter(outcome.status for outcome in result.outcomes).items():
        metrics.events.labels(str(status)).inc(count)


def learned(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """commit_learned(lease, block)"""
    block: LearnedBlock = args[1]
    metrics.learned.inc(len(block.sequence))


def reasoned(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """commit_reasoned(claim, reasoned)"""
    results: Sequence[Reasoned] = args[1]
    for answer in results:
        word = "failed" if answer.failure is not None else "unpredicted" if answer.reward is None else f"reward {answer.reward}"
        metrics.reasoned.labels(word).inc()
        _texts(metrics, answer.texts, answer.merged)


def texts(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """commit_texts(texts, merged, sequence)"""
    _texts(metrics, args[0], args[1])


def published(metrics: Metrics, args: Sequence[Any], result: Round) -> None:
    """publish_round(lease, round)"""
    metrics.rounds.inc()
    metrics.messages.inc(result.touched)
    metrics.edges.labels("opened").inc(result.edges_opened)
    metrics.edges.labels("closed").inc(result.edges_closed)
    metrics.round_clients.labels("changed").set(result.changed)
    metrics.round_clients.labels("reached").set(result.reached)


def _texts(metrics: Metrics, written: Sequence[ClientText], merged: Sequence[Merged]) -> None:
    metrics.texts.inc(len(written))
    for outcome, count in Counter(merge.outcome for merge in merged).items():
        metrics.receptions.labels(_kind(str(outcome))).inc(count)


def _kind(outcome: str) -> str:
    """Without what it names: a rule's text or a router would be one series each."""
    return outcome.partition(":")[0].partition(" (")[0]


COUNTED: Mapping[str, Count] = {"record": recorded, "commit_learned": learned, "commit_reasoned": reasoned, "commit_texts": texts,
                                "publish_round": published}
