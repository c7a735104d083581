"""Queue of waiting calls, shared by kinds of work."""

import asyncio
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from propagation.ports import ModelWork


@dataclass(eq=False)
class WaitingCall:
    """A call that waits for its turn.

    Attributes:
        tokens: About how many tokens the prompt and the answer have.
        number: How many calls began before this one.
        begun: Done once the call may begin.
    """

    work: ModelWork
    tokens: int
    number: int = -1
    begun: "asyncio.Future[None]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class CallQueue:
    """Queues calls, and gives each kind of work turns by its share.

    Calls of one kind begin in the order of asking. Of several kinds that wait, the one with the
    fewest turns for its share is next; kinds that are equal come in the order of ModelWork. A kind
    of which nothing waited, or none was allowed to begin, gets no turns afterwards for that time.

    Source: start-time fair queueing (Goyal, Vin and Cheng, 1996), with calls of equal length.
    """

    def __init__(self) -> None:
        self._waiting: dict[ModelWork, deque[WaitingCall]] = {work: deque() for work in ModelWork}
        # Turns for its share that each kind has had, as a time that only runs forward.
        self._times = dict.fromkeys(ModelWork, Fraction())
        self._now = Fraction()

    def __iter__(self) -> Iterator[WaitingCall]:
        """Yield all waiting calls, kind by kind."""
        return (call for calls in self._waiting.values() for call in calls)

    def choose(self, may_begin: Collection[ModelWork] = tuple(ModelWork)) -> WaitingCall | None:
        """Return the next call of some kinds, if one waits.

        A call whose task was cancelled is dropped: it stays queued until that task runs.
        """
        for calls in self._waiting.values():
            while calls and calls[0].begun.done():
                calls.popleft()
        waiting = [work for work, calls in self._waiting.items() if calls]
        for work in waiting:
            if work not in may_begin:
                self._times[work] = max(self._times[work], self._now)
        kinds = [work for work in waiting if work in may_begin]
        return self._waiting[min(kinds, key=self._times.__getitem__)][0] if kinds else None

    def has(self, work: ModelWork) -> bool:
        """Tell whether a call of this kind waits."""
        return any(not call.begun.done() for call in self._waiting[work])

    def add(self, call: WaitingCall) -> None:
        """Add a call at the end of its kind."""
        if not self._waiting[call.work]:
            self._times[call.work] = max(self._times[call.work], self._now)
        self._waiting[call.work].append(call)

    def begin(self, call: WaitingCall) -> None:
        """Let the call begin, which must be the chosen one."""
        self._waiting[call.work].popleft()
        self._now = self._times[call.work]
        self._times[call.work] += Fraction(1, call.work.share)
        call.begun.set_result(None)

    def remove(self, call: WaitingCall) -> None:
        """Remove a call, unless `choose` dropped it already."""
        if call in self._waiting[call.work]:
            self._waiting[call.work].remove(call)
