"""OpenTelemetry traces from an event to the profiles that it changed, across processes.

A trace is one interaction. Its id is made from the sequence: whichever process records, learns or
reasons the interaction adds to the same trace, and nothing has to be passed on. The sequence also
decides whether an interaction is traced.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, TraceFlags

from propagation.model.clients.client_text import MERGED_OUTCOME
from propagation.model.interactions.interaction import NewInteraction
from propagation.model.interactions.learned_block import LearnedBlock
from propagation.model.interactions.reasoning import (
    ReasonClaim,
    ReasonedSummary,
    summarize_reasoned,
)
from propagation.ports.graph.record import RecordResult
from services.runtime.process import release

CLAIMS_KEPT = 64
Trace = Callable[[Sequence[Any], Any, int], None]


@dataclass(frozen=True)
class TraceIds:
    """The ids of a trace and of its first span; neither is 0."""

    trace: int
    root_span: int


_root: ContextVar[TraceIds | None] = ContextVar("root", default=None)


def ids_of(sequence: int) -> TraceIds:
    """Make the ids of an interaction's trace from its sequence."""
    digest = blake2b(sequence.to_bytes(8, "big"), digest_size=24, person=b"propagation").digest()
    return TraceIds(int.from_bytes(digest[:16], "big") | 1, int.from_bytes(digest[16:], "big") | 1)


class Traces:
    """Sends a share of all interactions, 0 to 1, to an exporter."""

    def __init__(self, exporter: SpanExporter, share: float, process: str) -> None:
        self._provider = TracerProvider(
            id_generator=_Ids(),
            resource=Resource.create(
                {
                    "service.name": "propagation",
                    "service.version": release(),
                    "service.instance.id": process,
                }
            ),
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("propagation")
        self._below = int(share * (1 << 64))
        self._claimed: OrderedDict[int, int] = OrderedDict()
        self._traces: Mapping[str, Trace] = {
            "record": self._recorded,
            "commit_learned": self._learned,
            "claim_reason": self._claim,
            "commit_reasoned": self._reasoned,
            "commit_packed": self._packed,
        }

    def tracer_of(self, call: str) -> Trace | None:
        """Find what traces a call of the store; it takes arguments, result and start [ns]."""
        return self._traces.get(call)

    def close(self) -> None:
        """Send all pending spans."""
        self._provider.shutdown()

    def _recorded(self, args: Sequence[Any], result: RecordResult, start_ns: int) -> None:
        events: Sequence[NewInteraction] = args[0]
        ended = time.time_ns()
        for outcome in result.outcomes:
            if (
                outcome.sequence
                and str(outcome.status) == "accepted"
                and self._is_traced(outcome.sequence)
            ):
                token = _root.set(ids_of(outcome.sequence))
                span = self._tracer.start_span(
                    "record",
                    context=trace.set_span_in_context(trace.INVALID_SPAN),
                    start_time=start_ns,
                    attributes={"sequence": outcome.sequence, "batch": len(events)},
                )
                _root.reset(token)
                span.end(ended)

    def _learned(self, args: Sequence[Any], result: None, start_ns: int) -> None:
        block: LearnedBlock = args[1]
        for sequence in map(int, block.sequence):
            if self._is_traced(sequence):
                self._span(
                    "learn",
                    sequence,
                    start_ns,
                    {"sequence": sequence, "block": len(block.sequence)},
                ).end()

    def _claim(self, args: Sequence[Any], result: ReasonClaim | None, start_ns: int) -> None:
        if result is not None:
            self._claimed[result.token] = time.time_ns()
            while len(self._claimed) > CLAIMS_KEPT:
                self._claimed.popitem(last=False)

    def _reasoned(self, args: Sequence[Any], result: None, start_ns: int) -> None:
        self._finished(
            args[0],
            [summarize_reasoned(answer) for answer in args[1] if self._is_traced(answer.sequence)],
            start_ns,
        )

    def _packed(self, args: Sequence[Any], result: None, start_ns: int) -> None:
        self._finished(
            args[0], [done for done in args[1].finished if self._is_traced(done.sequence)], start_ns
        )

    def _finished(
        self, claim: ReasonClaim, finished: Sequence[ReasonedSummary], start_ns: int
    ) -> None:
        claimed, ended = self._claimed.get(claim.token, start_ns), time.time_ns()
        for done in finished:
            span = self._span(
                "reason",
                done.sequence,
                claimed,
                {
                    "sequence": done.sequence,
                    "user": done.user,
                    "claim": len(claim.work),
                    "failed": done.failed,
                    "merged": done.outcomes.get(MERGED_OUTCOME, 0),
                    "heard": sum(done.outcomes.values()),
                },
            )
            inside = trace.set_span_in_context(span)
            for ref, version, lines in done.texts:
                self._tracer.start_span(
                    "profile version",
                    context=inside,
                    start_time=start_ns,
                    attributes={"client": ref, "version": version, "lines": lines},
                ).end(ended)
            span.end(ended)

    def _span(
        self, name: str, sequence: int, start_ns: int, attributes: Mapping[str, int | bool]
    ) -> Span:
        ids = ids_of(sequence)
        sampled = TraceFlags(TraceFlags.SAMPLED)
        parent = NonRecordingSpan(
            SpanContext(ids.trace, ids.root_span, is_remote=True, trace_flags=sampled)
        )
        return self._tracer.start_span(
            name,
            context=trace.set_span_in_context(parent),
            start_time=start_ns,
            attributes=attributes,
        )

    def _is_traced(self, sequence: int) -> bool:
        return (ids_of(sequence).trace & ((1 << 64) - 1)) < self._below


class _Ids(IdGenerator):
    """Makes the first span's ids from the interaction, all others at random."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        root = _root.get()
        return root.trace if root else self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        root = _root.get()
        return root.root_span if root else self._random.generate_span_id()
