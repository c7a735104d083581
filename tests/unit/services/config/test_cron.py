"""When a cron line is due: daylight saving in both directions, and what is refused."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.config.cron import Calendar

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",
    "UTC",
)


def list_runs(calendar, start, count):
    times = []
    for _ in range(count):
        start = calendar.after(start)
        times.append(start)
    return times


def test_a_time_that_does_not_exist_is_due_at_the_end_of_the_gap():
    """29 March 2026, Berlin: 01:59:59 is followed by 03:00."""
    found = list_runs(Calendar("30 2 * * *", BERLIN), datetime(2026, 3, 27, 12, tzinfo=UTC), 3)
    assert [f"{time.astimezone(BERLIN):%d %H:%M %z}" for time in found] == [
        "28 02:30 +0100",
        "29 03:00 +0200",
        "30 02:30 +0200",
    ]


def test_a_time_that_comes_twice_is_due_the_first_time():
    """25 October 2026, Berlin: 02:59:59 summer time is followed by 02:00 winter time."""
    found = list_runs(Calendar("30 2 * * *", BERLIN), datetime(2026, 10, 24, 12, tzinfo=UTC), 2)
    assert [f"{time.astimezone(BERLIN):%d %H:%M %z}" for time in found] == [
        "25 02:30 +0200",
        "26 02:30 +0100",
    ]


@settings(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    day=st.integers(0, 365),
)
def test_it_is_due_once_each_local_day_of_a_year(zone, minute, hour, day):
    """A day that a zone left out altogether (Samoa, 30 December 2011) is the end of that gap: still
    one run for it."""
    start = datetime(2011, 6, 1, tzinfo=UTC) + timedelta(days=day)
    found = list_runs(Calendar(f"{minute} {hour} * * *", ZoneInfo(zone)), start, 40)
    assert found == sorted(set(found))
    days = [time.astimezone(ZoneInfo(zone)).date() for time in found]
    if zone != "Pacific/Apia":
        assert days == [days[0] + timedelta(days=place) for place in range(40)]


@pytest.mark.parametrize(
    ("cron", "days"),
    [
        ("0 3 * * 0", ["Sun"]),
        ("0 3 * * 7", ["Sun"]),
        ("0 3 * * 1-5", ["Mon", "Tue", "Wed", "Thu", "Fri"]),
        ("0 3 * * sat,0", ["Sun", "Sat"]),
        ("0 3 * * mon-wed", ["Mon", "Tue", "Wed"]),
    ],
)
def test_weekdays_are_numbered_as_in_crontab(cron, days):
    found = list_runs(
        Calendar(cron, ZoneInfo("UTC")), datetime(2026, 3, 7, 12, tzinfo=UTC), len(days)
    )  # a Saturday
    assert [f"{time:%a}" for time in found] == days


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("0 3 * *", "4 fields"),
        ("0 25 * * *", "25"),
        ("0 3 * * 9", "0 to 7"),
        ("0 3 31 2 *", "never due"),
    ],
)
def test_what_is_no_schedule_is_refused(cron, message):
    with pytest.raises(ValueError, match=message):
        Calendar(cron, ZoneInfo("UTC"))
