"""Keeps the history of the gauge and of spending in the graph."""

from propagation.model import (
    HOUR_MS,
    Gauge,
    GaugeMeasurement,
    Measurements,
    PromptCost,
    SpendingMeasurement,
)
from propagation.ports import GraphStore
from propagation.workflow.concurrency import Leases

PLACE = "measurements"
"""Name of the blob, and of the lease under which it is written."""


class MeasurementHistory:
    """The measurements of all processes on a graph.

    Each process adds what its calls cost since it last did so. The gauge is of the whole stream,
    and every process sees the same one.
    """

    def __init__(self, store: GraphStore, leases: Leases) -> None:
        self._store = store
        self._leases = leases
        self._spent = PromptCost()
        self._ranked: int | None = None

    async def read(self) -> Measurements:
        """Read all measurements."""
        blob = await self._store.get_blob(PLACE)
        return Measurements() if blob is None else Measurements.model_validate_json(blob)

    async def note(self, now: int, gauge: Gauge | None, spent: PromptCost) -> bool:
        """Add the gauge and the cost of the present hour.

        Nothing is written if neither has changed since the last time. If another process is writing
        now, everything is added the next time.

        Args:
            now: Milliseconds since 1970.
            gauge: None before the first interaction with a negative.
            spent: What calls cost since this process started.

        Returns:
            Whether something was written.
        """
        if self._ranked is None:  # an earlier process may have noted the same gauge
            noted = (await self.read()).gauge
            self._ranked = noted[-1].interactions if noted else 0
        start = now // HOUR_MS * HOUR_MS
        spending = self._measure_spending(start, spent)
        ranked = gauge.interactions if gauge else 0
        measured = _measure_gauge(start, gauge) if ranked != self._ranked else None
        if measured is None and spending is None:
            return False
        async with self._leases.hold(PLACE) as lease:
            if lease is None:
                return False
            kept = await self.read()
            added = kept.add(now, measured, spending)
            await self._store.put_blob(PLACE, added.model_dump_json().encode(), lease)
            self._spent, self._ranked = spent, ranked
        return True

    def _measure_spending(self, start: int, spent: PromptCost) -> SpendingMeasurement | None:
        """Return what calls cost since the last note; None if nothing."""
        before = self._spent
        if (spent.calls, spent.cached) == (before.calls, before.cached):
            return None
        return SpendingMeasurement(
            start=start,
            length=HOUR_MS,
            calls=spent.calls - before.calls,
            cached=spent.cached - before.cached,
            prompt_tokens=spent.prompt_tokens - before.prompt_tokens,
            completion_tokens=spent.completion_tokens - before.completion_tokens,
            seconds=spent.seconds - before.seconds,
            money=spent.money - before.money,
        )


def _measure_gauge(start: int, gauge: Gauge | None) -> GaugeMeasurement | None:
    if gauge is None:
        return None
    return GaugeMeasurement(
        start=start,
        length=HOUR_MS,
        interactions=gauge.interactions,
        with_propagation=gauge.with_propagation,
        without=gauge.without,
        standard_error=gauge.standard_error,
    )
