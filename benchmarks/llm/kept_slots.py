"""Kept slots: what they cost routers' calls, and bring interactions.

`python -m benchmarks.llm.kept_slots` prints a line for each latency, number of users and length of
routers' answers, without kept slots and with them. The limiter is the service's own. A call is a
wait, on a clock that only waiting advances, so the load of the machine changes nothing. Routers
always ask. An interaction asks two questions, and pauses between them and behind the second.
"""

import asyncio
import selectors
from typing import Any

from propagation.adapters.openai.endpoint.call_limits import RateLimiter
from propagation.ports import ModelWork, asking_for

IN_FLIGHT, INTERACTIONS = 4, 200
LATENCIES, USERS, ROUTER_FACTORS = (0.02, 0.2, 2.0), (1, 20), (1, 10)
PAUSE_WITHIN, PAUSE_BEHIND = 0.005, 0.015


class WaitingClock(selectors.SelectSelector):
    """A clock that adds up the seconds asked for, without waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """Return what is ready now."""
        self.now += timeout or 0.0
        return super().select(0)


class WaitingLoop(asyncio.SelectorEventLoop):
    """An event loop on such a clock."""

    def __init__(self) -> None:
        self._clock = WaitingClock()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the seconds that were waited."""
        return self._clock.now


class Workload:
    """Interactions beside routers, on one limiter.

    Args:
        latency: Seconds of an interaction's answer.
        router_factor: How many times as long a router's answer takes.
    """

    def __init__(self, users: int, latency: float, router_factor: int, *, kept: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._limiter = RateLimiter(IN_FLIGHT, clock=self._loop.time)
        self._under_way = min(users, IN_FLIGHT)
        self._latency = latency
        self._router_seconds = router_factor * latency
        self._limiter.keep_for(self._under_way if kept else 0)
        self._left = INTERACTIONS
        self._routers = 0
        self._used = 0.0

    async def run(self) -> str:
        """Run all interactions; return paces and the share of slots used."""
        asking = [asyncio.ensure_future(self._ask_for_routers()) for _ in range(2 * IN_FLIGHT)]
        await asyncio.sleep(self._router_seconds / 3)
        began, routers, used = self._loop.time(), self._routers, self._used
        await asyncio.gather(*(self._interact() for _ in range(self._under_way)))
        seconds = self._loop.time() - began
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        return (
            f"{60 * INTERACTIONS / seconds:.1f} interactions and"
            f" {60 * (self._routers - routers) / seconds:.1f} routers' calls a minute,"
            f" {(self._used - used) / seconds / IN_FLIGHT:.0%} of the slots in use"
        )

    async def _call(self, work: ModelWork, seconds: float) -> None:
        with asking_for(work):
            async with self._limiter.slot(1):
                await asyncio.sleep(seconds)
                self._used += seconds

    async def _ask_for_routers(self) -> None:
        while True:
            await self._call(ModelWork.ROUTERS, self._router_seconds)
            self._routers += 1

    async def _interact(self) -> None:
        while self._left > 0:
            self._left -= 1
            await self._call(ModelWork.INTERACTION, self._latency)
            await asyncio.sleep(PAUSE_WITHIN)
            await self._call(ModelWork.INTERACTION, self._latency)
            await asyncio.sleep(PAUSE_BEHIND)


async def measure() -> None:
    """Print all figures."""
    for latency in LATENCIES:
        for users in USERS:
            for factor in ROUTER_FACTORS:
                for kept in (False, True):
                    found = await Workload(users, latency, factor, kept=kept).run()
                    rule = "kept" if kept else "none kept"
                    print(f"{latency:g} s, users {users}, routers x {factor}, {rule}: {found}")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=WaitingLoop) as runner:
        runner.run(measure())
