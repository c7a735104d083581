"""Rounds that only retry postponed routers wait longer each time; others do not wait."""

from types import SimpleNamespace

from services.worker.postponed_retries import LONGEST_PAUSE_SECONDS, PostponedRetries
from services.worker.steps import WorkerContext, run_interval_round


class Rounds:
    """An engine whose routers fail in each round, with or without changed clients."""

    propagates = True

    def __init__(self):
        self.ran = 0
        self.changed = False
        self.postponed_routers = {3: "the language model gave no usable answer"}

    async def has_changes_for_round(self):
        return self.changed

    async def run_round(self):
        self.ran += 1
        return SimpleNamespace(number=self.ran)


async def run_until(clock, engine, seconds):
    """Run the interval's job each minute; return in which minutes it ran a round."""
    context = WorkerContext(engine, None)
    retries = PostponedRetries(60.0, lambda: clock[0])
    minutes = []
    while clock[0] < seconds:
        before = engine.ran
        await run_interval_round(context, retries)
        if engine.ran > before:
            minutes.append(int(clock[0] // 60))
        clock[0] += 60
    return minutes


async def test_routers_that_fail_again_and_again_are_asked_ever_more_rarely():
    minutes = await run_until([0.0], Rounds(), 3 * 3_600)
    assert minutes == [0, 1, 3, 7, 15, 31, 63, 123], "at most an hour between two"
    assert LONGEST_PAUSE_SECONDS == 3_600


async def test_changed_clients_do_not_wait_for_postponed_routers():
    engine = Rounds()
    engine.changed = True
    assert await run_until([0.0], engine, 600) == [*range(10)]


async def test_without_postponed_routers_there_is_no_pause():
    engine = Rounds()
    engine.postponed_routers = {}
    assert await run_until([0.0], engine, 600) == [*range(10)]
    engine.propagates = False
    assert await run_until([0.0], engine, 600) == []
