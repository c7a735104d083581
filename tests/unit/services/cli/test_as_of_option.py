"""`--as-of`: what a person may type."""

import pytest

from services.cli.access import parse_as_of
from services.client.errors import UsageProblem


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("2026-11-22T03:00:00Z", 1_795_316_400),
        ("2026-11-22T04:00:00+01:00", 1_795_316_400),
        ("2026-11-22 03:00", 1_795_316_400),
        ("2026-11-22", 1_795_305_600),
    ],
)
def test_a_time_is_of_its_zone_or_of_utc(typed, seconds):
    assert parse_as_of(typed).commit_time.ToSeconds() == seconds


def test_digits_are_a_sequence():
    assert parse_as_of("4711").sequence == 4711


@pytest.mark.parametrize("typed", ["", "yesterday", "-3", "12:00", "2026-13-01", "٣", "9" * 30])
def test_anything_else_is_refused_with_what_to_give(typed):
    with pytest.raises(UsageProblem, match="sequence"):
        parse_as_of(typed)
