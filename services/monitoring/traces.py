"""OpenTelemetry traces from an event to the profiles that it changed.

Each traced interaction has one trace. The trace id is made from the interaction's sequence, so that
all processes that record, learn or reason the interaction add to the same trace without passing
anything on. The sequence also decides whether an interaction is traced.
"""

import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from cachetools import FIFOCache
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, TraceFlags

from propagation.model import (
    MERGED_OUTCOME,
    LearnedBlock,
    ReasonClaim,
    ReasonedSummary,
    summarize_reasoned,
)
from propagation.ports import RecordResult
from propagation.release import release
from services.monitoring.metrics import Trace


def derive_root(sequence: int) -> SpanContext:
    """Make an interaction's trace and span ids from its sequence.

    Neither id is 0.
    """
    digest = blake2b(sequence.to_bytes(8, "big"), digest_size=24, person=b"propagation").digest()
    return SpanContext(
        trace_id=int.from_bytes(digest[:16], "big") | 1,
        span_id=int.from_bytes(digest[16:], "big") | 1,
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


class Traces:
    """Sends a share of all interactions, 0 to 1, to an exporter.

    Attributes:
        by_call: The functions that trace calls of the store, by the call's name.
    """

    def __init__(self, exporter: SpanExporter, share: float, process: str) -> None:
        self._ids = _Ids()
        self._provider = TracerProvider(
            id_generator=self._ids,
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
        self._claim_times: FIFOCache[int, int] = FIFOCache(maxsize=64)
        self.by_call: Mapping[str, Trace] = {
            "record": self._trace_record,
            "commit_learned": self._trace_learned,
            "claim_reason": self._note_claim,
            "commit_reasoned": self._trace_reasoned,
            "commit_packed": self._trace_packed,
        }

    def close(self) -> None:
        """Send all pending spans."""
        self._provider.shutdown()

    def _trace_record(self, args: Sequence[Any], result: RecordResult, start_ns: int) -> None:
        ended = time.time_ns()
        for outcome in result.outcomes:
            if (
                outcome.sequence
                and str(outcome.status) == "accepted"
                and self._is_traced(outcome.sequence)
            ):
                self._ids.for_root = derive_root(outcome.sequence)
                span = self._tracer.start_span(
                    "record",
                    context=trace.set_span_in_context(trace.INVALID_SPAN),
                    start_time=start_ns,
                    attributes={"sequence": outcome.sequence, "batch": len(args[0])},
                )
                self._ids.for_root = None
                span.end(ended)

    def _trace_learned(self, args: Sequence[Any], result: None, start_ns: int) -> None:
        block: LearnedBlock = args[1]
        for sequence in map(int, block.sequence):
            if self._is_traced(sequence):
                self._build_span(
                    "learn",
                    sequence,
                    start_ns,
                    {"sequence": sequence, "block": len(block.sequence)},
                ).end()

    def _note_claim(self, args: Sequence[Any], result: ReasonClaim | None, start_ns: int) -> None:
        if result is not None:
            self._claim_times[result.token] = time.time_ns()

    def _trace_reasoned(self, args: Sequence[Any], result: None, start_ns: int) -> None:
        self._trace_summaries(
            args[0],
            [summarize_reasoned(answer) for answer in args[1] if self._is_traced(answer.sequence)],
            start_ns,
        )

    def _trace_packed(self, args: Sequence[Any], result: None, start_ns: int) -> None:
        self._trace_summaries(
            args[0],
            [done for done in args[1].summaries if self._is_traced(done.sequence)],
            start_ns,
        )

    def _trace_summaries(
        self, claim: ReasonClaim, summaries: Sequence[ReasonedSummary], start_ns: int
    ) -> None:
        claimed, ended = self._claim_times.get(claim.token, start_ns), time.time_ns()
        for summary in summaries:
            span = self._build_span(
                "reason",
                summary.sequence,
                claimed,
                {
                    "sequence": summary.sequence,
                    "user": summary.user,
                    "claim": len(claim.work),
                    "failed": summary.failed,
                    "merged": summary.outcomes.get(MERGED_OUTCOME, 0),
                    "heard": sum(summary.outcomes.values()),
                },
            )
            inside = trace.set_span_in_context(span)
            for ref, version, lines in summary.texts:
                self._tracer.start_span(
                    "profile version",
                    context=inside,
                    start_time=start_ns,
                    attributes={"client": ref, "version": version, "lines": lines},
                ).end(ended)
            span.end(ended)

    def _build_span(
        self, name: str, sequence: int, start_ns: int, attributes: Mapping[str, int | bool]
    ) -> Span:
        return self._tracer.start_span(
            name,
            context=trace.set_span_in_context(NonRecordingSpan(derive_root(sequence))),
            start_time=start_ns,
            attributes=attributes,
        )

    def _is_traced(self, sequence: int) -> bool:
        return (derive_root(sequence).trace_id & ((1 << 64) - 1)) < self._below


class _Ids(RandomIdGenerator):
    """Makes random ids, except for root spans.

    A root span's ids come from the interaction.
    """

    for_root: SpanContext | None = None

    def generate_trace_id(self) -> int:
        return self.for_root.trace_id if self.for_root else super().generate_trace_id()

    def generate_span_id(self) -> int:
        return self.for_root.span_id if self.for_root else super().generate_span_id()
