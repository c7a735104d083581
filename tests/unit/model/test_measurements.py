"""Measurements by hour: joined to days, and bounded however long the service runs."""

from propagation.model import (
    DAY_MS,
    HOUR_MS,
    GaugeMeasurement,
    Measurements,
    SpendingMeasurement,
    measurements,
)

START = 20_000 * DAY_MS


def gauge(start, interactions):
    return GaugeMeasurement(
        start=start,
        length=HOUR_MS,
        interactions=interactions,
        with_propagation=0.5,
        without=0.4,
        standard_error=0.01,
    )


def spending(start, calls):
    return SpendingMeasurement(
        start=start,
        length=HOUR_MS,
        calls=calls,
        cached=1,
        prompt_tokens=10,
        completion_tokens=2,
        seconds=0.5,
        money=0.25,
    )


def test_within_an_hour_the_gauge_is_replaced_and_spending_added():
    kept = Measurements().add(START + 5, gauge(START, 7), spending(START, 2))
    kept = kept.add(START + 9, gauge(START, 9), spending(START, 3))
    assert [one.interactions for one in kept.gauge] == [9]
    [spent] = kept.spending
    assert (spent.calls, spent.cached, spent.prompt_tokens, spent.completion_tokens) == (
        5,
        2,
        20,
        4,
    )
    assert (spent.seconds, spent.money) == (1.0, 0.5)


def test_hours_become_days_and_days_end(monkeypatch):
    hours_kept, days_kept = 5 * 24, 100
    monkeypatch.setattr(measurements, "HOURS_KEPT", hours_kept)
    monkeypatch.setattr(measurements, "DAYS_KEPT", days_kept)
    kept = Measurements()
    days = days_kept + 60
    for hour in range(0, days * 24, 6):
        now = START + hour * HOUR_MS
        kept = kept.add(now, gauge(now, hour), spending(now, 1))
    first_hour = min(one.start for one in kept.spending if one.length == HOUR_MS)
    assert first_hour <= now - hours_kept * HOUR_MS
    assert len(kept.spending) == len(kept.gauge) <= hours_kept + days_kept + 24
    day = next(one for one in kept.spending if one.length == DAY_MS and one.start > START)
    assert day.calls == 4, "a day has four of these hours"
    last = next(one for one in kept.gauge if one.start == day.start)
    assert last.interactions % 24 == 18, "the last gauge of the day"
    assert kept.gauge[0].start == START + (days - 1 - days_kept) * DAY_MS
    assert sorted(kept.gauge, key=lambda one: one.start) == list(kept.gauge)
    assert Measurements.model_validate_json(kept.model_dump_json()) == kept


def test_hours_are_joined_to_days_on_request_and_a_range_is_selected():
    kept = Measurements()
    for hour in range(48):
        now = START + hour * HOUR_MS
        kept = kept.add(now, gauge(now, hour), spending(now, 1))
    days = kept.join_to_days()
    assert [(one.start, one.length, one.calls) for one in days.spending] == [
        (START, DAY_MS, 24),
        (START + DAY_MS, DAY_MS, 24),
    ]
    assert [one.interactions for one in days.gauge] == [23, 47]
    part = kept.select(START + HOUR_MS, START + 3 * HOUR_MS)
    assert [one.interactions for one in part.gauge] == [1, 2]
