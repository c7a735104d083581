"""What the gauge tells of one event to who reads it before and after (docs/erasure.md)."""

import numpy as np
import pytest

from propagation.numbers.gauge import FADE, compute_gain, create_gauge, note_gains

PLACES = 5


def list_gains():
    """List the gain of each outcome: how many of at most five score higher, how many tie."""
    return [compute_gain(above, ties) for above in range(PLACES) for ties in range(PLACES - above)]


def test_a_gain_is_one_of_15_values():
    gains = list_gains()
    assert len(gains) == 15
    assert len({round(gain, 6) for gain in gains}) <= 15


@pytest.mark.parametrize("events", [1, 3, 900])
def test_two_readings_give_the_gains_of_the_event_between_them(events):
    draw = np.random.default_rng(events)
    gains = draw.choice(list_gains(), (events, 2))
    gauge = create_gauge(2)
    for one in gains[:-1]:
        note_gains(gauge, one)
    before, weight = gauge.recent[:, 0].copy(), gauge.weight[0]
    note_gains(gauge, gains[-1])
    # The means are what is shown; the number of events gives the weights.
    means_before = before / weight if weight else np.zeros(2)
    means = gauge.recent[:, 0] / gauge.weight[0]
    found = means * gauge.weight[0] - FADE * means_before * weight
    assert found == pytest.approx(gains[-1])
