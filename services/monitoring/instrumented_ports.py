"""Ports whose calls are timed, counted and traced; the workflow does not know of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from prometheus_client import Histogram

from services.monitoring.commit_counters import COMMIT_COUNTERS
from services.monitoring.metrics import Metrics

if TYPE_CHECKING:
    from services.monitoring.traces import Traces


class InstrumentedPort:
    """Stands in place of a port and has all its attributes; a call's wrapper is made once.

    Args:
        part: "store" or "index", for the metrics.
        seconds: The time of each call, by its name.
    """

    def __init__(
        self, port: object, part: str, seconds: Histogram, metrics: Metrics, traces: "Traces | None"
    ) -> None:
        self._port = port
        self._part = part
        self._seconds = seconds
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
        observe = self._seconds.labels(name).observe
        count = COMMIT_COUNTERS.get(name)
        trace = self._traces.tracer_of(name) if self._traces else None
        metrics, part = self._metrics, self._part

        async def instrumented(*args: Any, **kwargs: Any) -> Any:
            start, start_ns = time.perf_counter(), time.time_ns()
            try:
                result = await call(*args, **kwargs)
            except Exception as error:
                metrics.part_failures.labels(part, type(error).__name__).inc()
                raise
            finally:
                observe(time.perf_counter() - start)
            if count is not None:
                count(metrics, args, result)
            if trace is not None:
                trace(args, result, start_ns)
            return result

        return instrumented
