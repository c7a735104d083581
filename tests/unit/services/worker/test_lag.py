"""How long the oldest event that is not reasoned has waited."""

from services.worker.reasoning_lag import MOMENTS, Lag


class Hand:
    now = 100.0

    def __call__(self):
        return self.now


def test_it_grows_while_nothing_is_reasoned_and_is_gone_when_all_is():
    hand = Hand()
    lag = Lag(hand)
    assert lag.seconds(10, 10) == 0
    assert lag.seconds(11, 10) == 0
    hand.now += 7
    assert lag.seconds(500, 10) == 7
    assert lag.seconds(500, 500) == 0


def test_what_came_later_is_younger():
    hand = Hand()
    lag = Lag(hand)
    lag.seconds(100, 0)
    hand.now += 20
    lag.seconds(200, 99)
    hand.now += 30
    assert lag.seconds(300, 99) == 50
    assert lag.seconds(300, 100) == 30


def test_of_a_lag_of_days_the_beginning_is_kept_and_few_moments():
    hand = Hand()
    lag = Lag(hand)
    for event in range(1, 5 * MOMENTS):
        lag.seconds(event, 0)
        hand.now += 10
    assert len(lag._seen) <= MOMENTS
    assert lag.seconds(5 * MOMENTS, 0) == (5 * MOMENTS - 1) * 10
