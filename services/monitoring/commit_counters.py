"""What commits say of themselves: what was recorded, learned, reasoned, received and published."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from propagation.model.interactions.learned_block import LearnedBlock
from propagation.model.interactions.reasoning import (
    ReasonedSummary,
    count_outcomes,
    summarize_reasoned,
)
from propagation.model.routers.round import Round
from propagation.ports.graph.record import RecordResult
from services.monitoring.metrics import Metrics

Count = Callable[[Metrics, Sequence[Any], Any], None]


def recorded(metrics: Metrics, args: Sequence[Any], result: RecordResult) -> None:
    """record(events)"""
    for status, count in Counter(outcome.status for outcome in result.outcomes).items():
        metrics.events.labels(str(status)).inc(count)


def learned(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """commit_learned(lease, block)"""
    block: LearnedBlock = args[1]
    metrics.learned.inc(len(block.sequence))


def reasoned(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """commit_reasoned(claim, reasoned)"""
    _finished(metrics, [summarize_reasoned(answer) for answer in args[1]])


def packed(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """commit_packed(claim, reasoned)"""
    _finished(metrics, args[1].finished)


def texts(metrics: Metrics, args: Sequence[Any], result: None) -> None:
    """commit_texts(texts, merged, sequence)"""
    _texts(metrics, len(args[0]), count_outcomes([merge.outcome for merge in args[1]]))


def published(metrics: Metrics, args: Sequence[Any], result: Round) -> None:
    """publish_round(lease, round)"""
    metrics.rounds.inc()
    metrics.messages.inc(result.touched)
    metrics.edges.labels("opened").inc(result.edges_opened)
    metrics.edges.labels("closed").inc(result.edges_closed)
    metrics.round_clients.labels("changed").set(result.changed)
    metrics.round_clients.labels("reached").set(result.reached)


def _finished(metrics: Metrics, finished: Sequence[ReasonedSummary]) -> None:
    for done in finished:
        word = (
            "failed"
            if done.failed
            else "unpredicted"
            if done.reward is None
            else f"reward {done.reward}"
        )
        metrics.reasoned.labels(word).inc()
        _texts(metrics, len(done.texts), done.outcomes)


def _texts(metrics: Metrics, written: int, heard: Mapping[str, int]) -> None:
    metrics.texts.inc(written)
    for outcome, count in heard.items():
        metrics.receptions.labels(outcome).inc(count)


COUNTED: Mapping[str, Count] = {
    "record": recorded,
    "commit_learned": learned,
    "commit_reasoned": reasoned,
    "commit_packed": packed,
    "commit_texts": texts,
    "publish_round": published,
}
