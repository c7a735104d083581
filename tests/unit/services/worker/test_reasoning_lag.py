"""How long the oldest event that is not reasoned has waited."""

from services.worker.reason_step import MAX_LAG_SAMPLES, ReasoningLag


class Hand:
    now = 100.0

    def __call__(self):
        return self.now


def test_it_grows_while_nothing_is_reasoned_and_is_gone_when_all_is():
    hand = Hand()
    lag = ReasoningLag(hand)
    assert lag.measure(10, 10) == 0
    assert lag.measure(11, 10) == 0
    hand.now += 7
    assert lag.measure(500, 10) == 7
    assert lag.measure(500, 500) == 0


def test_what_came_later_is_younger():
    hand = Hand()
    lag = ReasoningLag(hand)
    lag.measure(100, 0)
    hand.now += 20
    lag.measure(200, 99)
    hand.now += 30
    assert lag.measure(300, 99) == 50
    assert lag.measure(300, 100) == 30


def test_of_a_lag_of_days_the_beginning_is_kept_and_few_moments():
    hand = Hand()
    lag = ReasoningLag(hand)
    for event in range(1, 5 * MAX_LAG_SAMPLES):
        lag.measure(event, 0)
        hand.now += 10
    assert len(lag._samples) <= MAX_LAG_SAMPLES
    assert lag.measure(5 * MAX_LAG_SAMPLES, 0) == (5 * MAX_LAG_SAMPLES - 1) * 10
