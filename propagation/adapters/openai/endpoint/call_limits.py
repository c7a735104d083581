"""Limits of calls: the rate limiter, the circuit breaker and the shutdown.

These limits decide when calls may begin and when they must end.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from propagation.adapters.openai.endpoint.call_queue import CallQueue, WaitingCall
from propagation.adapters.openai.endpoint.concurrency_limits import ConcurrencyLimits
from propagation.model import EndpointUnavailable, ReasonerStopping, pluralize
from propagation.ports import ModelWork, current_work

MINUTE = 60.0
FAILURES = 12
OPEN_SECONDS = 3.0
STOPPING = "the service is stopping; this work goes on after the next start"


class RateLimiter:
    """Gives slots to waiting calls, as far as `limits` allow.

    Kinds of work share the slots (ModelWork): a call is of the kind for which its task asks. The
    limiter also bounds calls and tokens a minute. Time-outs lower the number of calls in flight
    (ConcurrencyLimits).

    Turns do not bound time: a router's call may take a thousand times as long as an interaction's.
    So up to half of the slots are kept for interactions, and a call of another kind begins only if
    these stay free of other kinds: one slot for each interaction under way (`keep_for`), or the
    whole half while a question of one waits. A single slot goes by turns.

    A kept slot costs the time in which an interaction commits, and gains that its next question
    waits for no call of another kind (figures: docs/llm.md, benchmarks/llm/kept_slots.py).

    Every attempt of every call takes exactly one slot of its endpoint's limiter.
    """

    def __init__(
        self,
        in_flight: int,
        calls_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = ConcurrencyLimits(in_flight)
        self._interactions = 0
        self._queue = CallQueue()
        self._later: asyncio.TimerHandle | None = None
        self._calls = calls_per_minute
        self._tokens = tokens_per_minute
        self._clock = clock
        self._recent: deque[tuple[float, int]] = deque()
        self._not_before = 0.0
        self._running = Counter[ModelWork]()

    @property
    def running(self) -> int:
        """How many calls hold a slot."""
        return self._running.total()

    def keep_for(self, interactions: int) -> None:
        """Keep slots for interactions under way.

        An interaction asks one question after another, and commits between them. A call of another
        kind would take the slot that it leaves, and hold it for as long as its own answer takes.
        """
        self._interactions = interactions
        self._admit()

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[WaitingCall]:
        """Wait for a slot, and hold it during an attempt.

        Args:
            tokens: About how many tokens the prompt and the answer have.

        Yields:
            The call, for `note_answer` or `note_timeout` while it holds the slot.
        """
        call = WaitingCall(current_work.get(), tokens)
        self._queue.add(call)
        self._admit()
        try:
            await call.begun
        except BaseException:
            if call.begun.cancelled():
                self._queue.remove(call)
                self._admit()  # the next one may need fewer tokens
            else:
                self._release(call.work)
            raise
        try:
            yield call
        finally:
            self._release(call.work)

    def note_answer(self, call: WaitingCall) -> None:
        """Note that a call was answered; its slot is released afterwards."""
        self.limits.note_answer(call)

    def note_timeout(self, call: WaitingCall) -> bool:
        """Note that a call got no answer in time.

        Returns:
            Whether the server seems overloaded.
        """
        return self.limits.note_timeout(call, self._running)

    def pause(self, seconds: float) -> float:
        """Let no call begin for `seconds`.

        Returns:
            By how many seconds this lengthens the pause; about 0 if another call already asked for
            the same pause.
        """
        now = self._clock()
        before = max(self._not_before, now)
        self._not_before = max(before, now + seconds)
        return self._not_before - before

    def _admit(self) -> None:
        """Let waiting calls begin, as far as slots, rates and pauses allow."""
        while self.running < self.limits.total.now:
            call = self._queue.choose(self._find_kinds())
            if call is None:
                return
            if (wait := self._wait(call.tokens)) > 0:
                if self._later is not None:
                    self._later.cancel()
                self._later = asyncio.get_running_loop().call_later(wait, self._admit)
                return
            self._queue.begin(call)
            self.limits.number(call)
            self._running[call.work] += 1
            self._recent.append((self._clock(), call.tokens))

    def _find_kinds(self) -> Collection[ModelWork]:
        """Find the kinds of which a call may begin now."""
        kinds = {work for work in ModelWork if self._running[work] < self.limits.kinds[work].now}
        total = self.limits.total.now
        kept = total - max(total // 2, 1)
        if not self._queue.has(ModelWork.INTERACTION):
            kept = min(kept, self._interactions)
        kept = min(kept, self.limits.kinds[ModelWork.INTERACTION].now)
        others = self.running - self._running[ModelWork.INTERACTION]
        return kinds if others < total - kept else kinds & {ModelWork.INTERACTION}

    def _release(self, work: ModelWork) -> None:
        self._running[work] -= 1
        self._admit()

    def _wait(self, tokens: int) -> float:
        """Return the seconds until the next call may begin; 0: now."""
        now = self._clock()
        while self._recent and self._recent[0][0] <= now - MINUTE:
            self._recent.popleft()
        wait = self._not_before - now
        calls_full = self._calls is not None and len(self._recent) >= self._calls
        tokens_full = (
            self._tokens is not None
            and self._recent
            and sum(spent for _, spent in self._recent) + tokens > self._tokens
        )
        if calls_full or tokens_full:
            wait = max(wait, self._recent[0][0] + MINUTE - now)
        return max(wait, 0.0)


class CircuitBreaker:
    """Opens after FAILURES failures in a row, of whatever calls.

    An open breaker admits one trial call every OPEN_SECONDS. So few calls cost a server nothing,
    and work goes on soon after the server is back.
    """

    def __init__(
        self, failures: int = FAILURES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._clock = clock
        self._failed = 0
        self._until = 0.0
        self._trial: asyncio.Event | None = None
        self._reason = ""

    @property
    def open(self) -> bool:
        return self._failed >= self._most

    async def admit(self) -> bool:
        """Admit a call, after the end of a trial under way.

        Returns:
            Whether the call is the trial.

        Raises:
            EndpointUnavailable: The breaker is open.
        """
        while self.open:
            seconds = self._until - self._clock()
            if seconds > 0:
                raise EndpointUnavailable(
                    f"the endpoint answered none of the last {pluralize(self._failed, 'call')}"
                    f" (last error: {self._reason}); the next call is in {seconds:.0f} s"
                )
            if self._trial is None:
                self._trial = asyncio.Event()
                return True
            await self._trial.wait()
        return False

    def record_answer(self) -> None:
        """Close the breaker."""
        self._failed = 0
        if self._trial is not None:  # a call from before the breaker opened may be answered, too
            self._trial.set()
            self._trial = asyncio.Event()

    def release(self, *, trial: bool) -> None:
        """End an admitted call, whatever came of it.

        `record_answer` or `record_failure` follows if the outcome concerns the endpoint.
        """
        if trial and self._trial is not None:
            self._trial.set()
            self._trial = None

    def record_failure(self, reason: str) -> None:
        """Count a failure; open the breaker at the limit."""
        self._failed += 1
        self._reason = reason
        if self.open:
            self._until = self._clock() + OPEN_SECONDS


class CallShutdown:
    """Ends all calls when the service stops.

    Calls under way get a few more seconds.
    """

    def __init__(self) -> None:
        self._timeouts: set[asyncio.Timeout] = set()
        self._stopping = False

    def begin(self, seconds: float) -> None:
        """Allow no new calls, and end those under way after `seconds`.

        If the shutdown has begun already, the earlier deadline counts.
        """
        self._stopping = True
        deadline = asyncio.get_running_loop().time() + seconds
        for timeout in self._timeouts:
            if not timeout.expired() and (timeout.when() or deadline) >= deadline:
                timeout.reschedule(deadline)

    def check(self) -> None:
        """Raise ReasonerStopping if the service stops."""
        if self._stopping:
            raise ReasonerStopping(STOPPING)

    @asynccontextmanager
    async def allow_call(self) -> AsyncIterator[None]:
        """Surround a call with all its retries, to end it at shutdown.

        Raises:
            ReasonerStopping: The service is stopping, or the call's time is over.
        """
        self.check()
        timeout = asyncio.timeout(None)
        self._timeouts.add(timeout)
        try:
            async with timeout:
                yield
        except TimeoutError as error:
            if timeout.expired():
                raise ReasonerStopping(STOPPING) from error
            raise
        finally:
            self._timeouts.discard(timeout)
