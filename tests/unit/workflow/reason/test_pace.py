"""The pace counts the time with work, and falls while nothing gets done."""

import pytest

from propagation.model import PromptCost, Usage
from propagation.workflow.reason.pace import RECENT, Pace

USAGE = Usage((("forward@4", PromptCost(seconds=2.0, completion_tokens=30)),)) + Usage(
    (("backward@4", PromptCost(seconds=4.0, completion_tokens=70)),)
)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_two_at_a_time_are_twice_as_fast_as_one_lasts(clock):
    pace = Pace(2, clock)
    pace.resume()
    clock.now += 6
    pace.add(USAGE)
    assert pace.read().per_second is None, "the second one is under way for as long"
    pace.add(USAGE)
    reading = pace.read()
    assert (reading.interactions, reading.seconds, reading.completion_tokens) == (2, 6.0, 100.0)
    assert reading.per_second == pytest.approx(2 / 6)


def test_hours_without_work_do_not_count_and_a_standstill_does(clock):
    pace = Pace(1, clock)
    for _ in range(3):
        pace.resume()
        clock.now += 10
        pace.add(USAGE)
        pace.pause()
        clock.now += 3_600
    assert pace.read().per_second == pytest.approx(0.1)
    pace.resume()
    pace.resume()
    clock.now += 30
    assert pace.read().per_second == pytest.approx(3 / 60)


def test_only_the_last_ones_count(clock):
    pace = Pace(1, clock)
    pace.resume()
    for seconds in [100] * RECENT + [1] * RECENT:
        clock.now += seconds
        pace.add(USAGE)
    assert pace.read().interactions == RECENT
    assert pace.read().per_second == pytest.approx(1.0)


def test_before_the_first_nothing_is_known():
    assert Pace(1).read().interactions == 0
    assert Pace(1).read().per_second is None
