"""The worker's reasoning, beside the calls: how much at a time, and when somebody waits for its
end."""

import asyncio
import time
from collections.abc import Callable, Coroutine

import structlog

from propagation.ports.graph.graph_store import VersionClash
from propagation.workflow.concurrency.tasks import background_task
from propagation.workflow.engine import Engine
from propagation.workflow.reason.reason_step import CLAIM
from services.worker.call_priority import CallPriority
from services.worker.reasoning_lag import Lag

BUSY_CLAIM, ALONE_CLAIM = 64, 2048
BUSY_LOOK_SECONDS = 0.02
RACES_LOST, RACE_SECONDS = 20, 0.05
log = structlog.get_logger()


class ReasonStep:
    """`waited_for`: whether others than calls wait for what reasoning holds · `moved` is told that
    something was reasoned, and `round_may_be_due` after as much as a usual claim."""

    def __init__(
        self,
        engine: Engine,
        priority: CallPriority,
        waited_for: Callable[[], bool],
        moved: Callable[[], None],
        round_may_be_due: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._priority = priority
        self._waited_for = waited_for
        self._moved = moved
        self._round_may_be_due = round_may_be_due
        self._lag = Lag()
        self._lost = 0

    async def step(self) -> int:
        """One claim, and the rest that calls ask for; how much was reasoned, 1 where other
        processes were first with the same clients: it is looked at again. Raises VersionClash where
        they were time and again."""
        try:
            done = await self._claimed()
        except VersionClash as clash:
            self._lost += 1
            if self._lost > RACES_LOST:
                raise
            log.info(
                "another process was first with a client's text; its interactions are reasoned again",
                client=clash.ref,
            )
            await asyncio.sleep(RACE_SECONDS * self._lost)
            return 1
        self._lost = 0
        return done

    async def _claimed(self) -> int:
        reasoning = self._engine.reasoning
        claim = self._engine.reason(BUSY_CLAIM if self._wanted else ALONE_CLAIM, shown=False)
        done, worked = await self.beside_calls(claim) if reasoning.by_claims else (await claim, 0.0)
        if done:
            self._moved()
            self._round_may_be_due()
            self._priority.behind(
                self._lag.seconds(
                    self._engine.numbers.view.applied_through,
                    await self._engine.progress.reasoned_through(),
                )
            )
            await self._priority.rest(
                worked if reasoning.beside else 0.0
            )  # on the loop it rested between interactions
        return done

    async def beside_calls(self, claim: Coroutine[None, None, int]) -> tuple[int, float]:
        """(How much was reasoned, for how many seconds beside calls.) Much at once while nobody
        calls: what a large claim reads and receives it reads and receives once. When somebody
        waits, the part that is being drafted is its last one. Rounds go on inside of it, as after
        claims of the usual size."""
        reasoning, told, rounds, worked, looked = (
            self._engine.reasoning,
            0,
            0,
            0.0,
            time.monotonic(),
        )
        async with background_task(claim) as claiming:
            while not claiming.done():
                committed = reasoning.committed
                await asyncio.wait([claiming], timeout=BUSY_LOOK_SECONDS)
                before, looked = looked, time.monotonic()
                if committed is None:  # others are waited for
                    continue
                if self._wanted:
                    worked += looked - before
                    reasoning.drafting.enough()
                if committed > told:
                    told = committed
                    self._moved()
                if committed // CLAIM > rounds:
                    rounds = committed // CLAIM
                    self._round_may_be_due()
            return await claiming, worked

    @property
    def _wanted(self) -> bool:
        """Whether somebody waits for what reasoning holds: calls for the cores, others for its end."""
        return self._priority.busy or self._waited_for()
