"""Propagation rounds of this process: when they are due, at an interval, and on request."""

import time
from contextlib import suppress

from propagation.model.errors import LeaseHeld
from propagation.model.routers.round import Round
from propagation.workflow.engine import Engine
from services.runtime.measurements import Failures, Timings
from services.runtime.tasks import Progress
from services.worker.call_priority import CallPriority

INTERVAL_JOB = "round_interval"
ROUTER = "router "


class RoundStep:
    """Runs rounds, and shows the routers that a round postponed as failures."""

    def __init__(
        self,
        engine: Engine,
        priority: CallPriority,
        progress: Progress,
        failures: Failures,
        timings: Timings,
    ) -> None:
        self._engine = engine
        self._priority = priority
        self._progress = progress
        self._failures = failures
        self._timings = timings

    async def run(self) -> Round | None:
        """Run a round now, whether due or not."""
        start = time.monotonic()
        done = await self._engine.run_round()
        self._failures.clear(INTERVAL_JOB)
        if done is not None:
            self._timings.add("round", time.monotonic() - start)
            self._show_postponed(done.number)
        self._progress.advance()
        return done

    async def run_if_due(self) -> int:
        """Run a round if enough clients changed; return 0, as nothing more is due after it."""
        if self._engine.settings.propagate and await self._engine.round_is_due():
            start = time.monotonic()
            await self.run_unless_held()
            if self._priority.flooded:
                await self._priority.rest(time.monotonic() - start)
        return 0

    async def run_unless_held(self) -> None:
        """Run a round unless propagation is off or another process runs one."""
        if self._engine.settings.propagate:
            with suppress(LeaseHeld):
                await self.run()

    def _show_postponed(self, number: int) -> None:
        """Show the routers that this round left out; those of earlier rounds are done."""
        for name in [name for name in self._failures.reasons if name.startswith(ROUTER)]:
            self._failures.clear(name)
        for router, reason in self._engine.postponed_routers.items():
            self._failures.show(
                f"{ROUTER}{router}", f"left out of round {number}, due in the next: {reason}"
            )
            self._failures.counters.add("round_routers_skipped_total")
