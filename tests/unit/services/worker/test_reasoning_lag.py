"""The age of the oldest event that is not yet reasoned."""

from services.worker.call_priority import MAX_LAG_SECONDS
from services.worker.reason_step import MAX_LAG_SAMPLES, ReasoningLag


class ManualClock:
    now = 100.0

    def __call__(self):
        return self.now


def test_the_lag_grows_until_everything_is_reasoned():
    clock = ManualClock()
    lag = ReasoningLag(clock)
    assert lag.measure(10, 10) == 0
    assert lag.measure(11, 10) == 0
    clock.now += 7
    assert lag.measure(500, 10) == 7
    assert lag.measure(500, 500) == 0


def test_the_lag_shrinks_when_older_events_are_reasoned():
    clock = ManualClock()
    lag = ReasoningLag(clock)
    lag.measure(100, 0)
    clock.now += 20
    lag.measure(200, 99)
    clock.now += 30
    assert lag.measure(300, 99) == 50
    assert lag.measure(300, 100) == 30


def test_a_lag_of_days_takes_few_samples_and_stays_long():
    clock = ManualClock()
    lag = ReasoningLag(clock)
    for event in range(1, 5 * MAX_LAG_SAMPLES):
        lag.measure(event, 0)
        clock.now += 10
    assert len(lag._samples) == MAX_LAG_SAMPLES
    assert lag.measure(5 * MAX_LAG_SAMPLES, 0) > MAX_LAG_SECONDS, "as long as makes a difference"
