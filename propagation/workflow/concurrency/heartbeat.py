"""A process shows that it lives, and ends what others hold open that show it no more: a frozen one
may hold locks that everybody waits for."""

import asyncio
import contextlib
import logging
import time

from propagation.model.errors import PropagationError
from propagation.ports.graph.leases import LeaseStore

LIFE, LOOKS_A_LIFE = 2 / 3, 4
"""Of the time that a lease stands, for how long a process lives that shows no life; how often in
that time it looks. What a silent one holds open is ended before its leases are over."""
AGAIN_SECONDS = 0.1
"""The pause after a look that failed."""
LEAST_SECONDS = 2.0
"""No attempt is given up earlier: a server that just started answers late."""
log = logging.getLogger(__name__)


class Life:
    """Of the process `holder`; a lease stands for `seconds`. Who is silent is looked at twice, a
    pause apart: after the store itself stood still nobody has shown life for a moment."""

    def __init__(self, store: LeaseStore, holder: str, seconds: float) -> None:
        self._store = store
        self._holder = holder
        self._seconds = seconds * LIFE
        self._pause = self._seconds / LOOKS_A_LIFE
        self._due: dict[str, float] = {}
        self._showing: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Life is shown, from now until `end`."""
        await self._show()
        self._showing = asyncio.create_task(self._go_on())

    async def end(self) -> None:
        """What this process holds expires."""
        tasks = [task for task in (self._showing, self._ending) if task is not None]
        if self._showing is not None:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._showing = self._ending = None
            with contextlib.suppress(
                PropagationError
            ):  # else the others look for what it has open, for a day
                await self._store.renew_heartbeat(self._holder, 0, self._within)

    @property
    def _within(self) -> float:
        """Seconds of an attempt: of those of a life, so that one that hangs costs none."""
        return max(self._pause, LEAST_SECONDS)

    @property
    def _ttl_ms(self) -> int:
        return int(self._seconds * 1_000)

    async def _go_on(self) -> None:
        pause, told = self._pause, False
        while True:
            await asyncio.sleep(pause)
            pause = self._pause
            try:
                await self._show()
                told = False
            except (
                Exception
            ) as error:  # it must not end: others would end what this process has open
                self._due = {}  # a server that stands still now is looked at anew
                if not told:
                    log.warning("life is not shown, until the graph answers: %s", error)
                pause, told = AGAIN_SECONDS, True

    async def _show(self) -> None:
        silent = await self._store.renew_heartbeat(self._holder, self._ttl_ms, self._within)
        now = time.monotonic()
        self._due = {holder: self._due.get(holder, now + self._pause * 0.9) for holder in silent}
        due = sorted(holder for holder, at in self._due.items() if at <= now)
        if due and (self._ending is None or self._ending.done()):
            self._due |= dict.fromkeys(
                due, now + self._seconds
            )  # who is dead has nothing open, and is asked for seldom
            self._ending = asyncio.create_task(self._end_stalled(due))

    async def _end_stalled(self, holders: list[str]) -> None:
        try:
            ended = await self._store.end_stalled(holders, self._ttl_ms, self._within)
        except Exception as error:
            log.warning(
                "what silent processes hold open is not ended, until it is looked for again: %s",
                error,
            )
        else:
            if ended:
                log.warning("ended %d transactions of processes that show no life any more", ended)
