"""How many calls may be in flight, by answers and time-outs."""

from collections.abc import Mapping

from propagation.adapters.openai.endpoint.call_queue import WaitingCall
from propagation.ports import ModelWork


class ConcurrencyLimit:
    """A number of calls in flight, which time-outs halve and answers raise.

    Attributes:
        now: At least 1, and at most what it was at first.
    """

    def __init__(self, most: int) -> None:
        self.now = self._most = most
        self._answers = 0
        self._halved_before = 0

    def halve(self, call: WaitingCall, next_number: int) -> None:
        """Halve the limit after a call's time-out.

        The other calls that were in flight at that time may time out, too. They began under the
        higher limit and say nothing about the new one, so they do not count.

        Args:
            next_number: The number of the next call that begins.
        """
        if call.number >= self._halved_before:
            self.now = max(self.now // 2, 1)
            self._halved_before = next_number
            self._answers = 0

    def count_answer(self) -> None:
        """Allow one more call after as many answers as calls are allowed."""
        if self.now < self._most:
            self._answers += 1
            if self._answers >= self.now:
                self._answers = 0
                self.now += 1


class ConcurrencyLimits:
    """Limits of all calls together, and of each kind of work.

    A time-out has one of two causes. Either the server is overloaded: it answers all calls slowly,
    and goes on with those that nobody waits for any more, so all kinds must ask less at once. Or
    the question is long: then fewer interactions at once make it no shorter. So a time-out halves

    - the limit of its own kind, if a call that began later was answered meanwhile, because then the
      server keeps up with what it is asked; or if only this kind has calls in flight, because then
      this limit bounds all that the server has to do;
    - the common limit otherwise: several kinds wait, and nothing that began later was answered. An
      overloaded server with a queue shows this, since it answers later calls later.

    Only calls that began later count as a sign, because a queue answers the earlier ones first,
    however long it is.

    A long question lowers its kind's limit, too: a server that works on all calls at the same time
    answers the long ones sooner if fewer of them share it.

    Attributes:
        total: The limit of all calls.
        kinds: The limit of each kind.
    """

    def __init__(self, in_flight: int) -> None:
        self.total = ConcurrencyLimit(in_flight)
        self.kinds = {work: ConcurrencyLimit(in_flight) for work in ModelWork}
        self._next_number = 0
        self._newest_answered = -1

    def number(self, call: WaitingCall) -> None:
        """Give a call that begins the next number."""
        call.number = self._next_number
        self._next_number += 1

    def note_answer(self, call: WaitingCall) -> None:
        """Note that a call was answered."""
        self._newest_answered = max(self._newest_answered, call.number)
        self.total.count_answer()
        self.kinds[call.work].count_answer()

    def note_timeout(self, call: WaitingCall, running: Mapping[ModelWork, int]) -> bool:
        """Note that a call got no answer in time.

        Args:
            running: How many calls of each kind are in flight, this one included.

        Returns:
            Whether the server seems overloaded: it answered no call that began later.
        """
        keeps_up = self._newest_answered > call.number
        is_alone = sum(running.values()) == running[call.work]
        limit = self.kinds[call.work] if keeps_up or is_alone else self.total
        limit.halve(call, self._next_number)
        return not keeps_up
