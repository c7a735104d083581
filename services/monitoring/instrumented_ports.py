"""The store and the index as they are, each call timed and counted on its way: nothing in the
workflow knows of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from prometheus_client import Histogram

from services.monitoring.commit_counters import COUNTED
from services.monitoring.metrics import Metrics

if TYPE_CHECKING:
    from services.monitoring.traces import Traces


class Observed:
    """In place of `inner`, whose every attribute it has. A call's wrapper is made once."""

    def __init__(
        self,
        inner: object,
        part: str,
        seconds: Histogram,
        metrics: Metrics,
        traces: "Traces | None",
    ) -> None:
        self._inner = inner
        self._part = part
        self._seconds = seconds
        self._metrics = metrics
        self._traces = traces

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not asyncio.iscoroutinefunction(value):
            return value
        self.__dict__[name] = self._watched(name, value)
        return self.__dict__[name]

    def _watched(
        self, name: str, call: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        observe = self._seconds.labels(name).observe
        count, trace = COUNTED.get(name), self._traces.of(name) if self._traces else None
        metrics, part = self._metrics, self._part

        async def watched(*args: Any, **kwargs: Any) -> Any:
            began, began_at = time.perf_counter(), time.time_ns()
            try:
                result = await call(*args, **kwargs)
            except Exception as error:
                metrics.part_failures.labels(part, type(error).__name__).inc()
                raise
            finally:
                observe(time.perf_counter() - began)
            if count is not None:
                count(metrics, args, result)
            if trace is not None:
                trace(args, result, began_at)
            return result

        return watched
