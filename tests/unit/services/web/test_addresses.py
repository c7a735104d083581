"""Numbers and times of addresses: what is read, and what is refused in words."""

from datetime import UTC, datetime

import pytest

from services.web.problems import BadAddress
from services.web.views.addresses import (
    LARGEST_SEQUENCE,
    read_as_of,
    read_number,
    read_router_number,
    read_time,
    write_field_moment,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("000", 0), ("7", 7), ("0" * 5_000 + "12", 12), (str(LARGEST_SEQUENCE),) * 2],
)
def test_a_number_may_have_leading_zeros(text, number):
    assert read_number(text, "It", 0, LARGEST_SEQUENCE) == int(number)


@pytest.mark.parametrize(
    "text",
    ["", " ", "+1", "-1", "1 ", "1_0", "1.0", "1e3", "0x1", "٣", "²", "0٣", "１", "x",
     "0" * 9 + "101", "0000000000019999999999", "9" * 400, "9" * 5_000, "1\n"],
)  # fmt: skip
def test_what_is_no_number_up_to_the_most_is_refused(text):
    with pytest.raises(BadAddress, match=r"^It is a whole number from 0 to 100\.$"):
        read_number(text, "It", 0, 100)


def test_both_bounds_belong_to_the_numbers():
    assert [read_number(text, "It", 1, 100) for text in ("1", "100")] == [1, 100]
    for text in ("0", "101"):
        with pytest.raises(BadAddress, match="from 1 to 100"):
            read_number(text, "It", 1, 100)


def test_the_number_of_a_router_has_31_bits():
    assert read_router_number("2147483647") == 2_147_483_647
    for text in ("2147483648", "0000000000019999999999"):
        with pytest.raises(BadAddress, match="The number of a router"):
            read_router_number(text)


@pytest.mark.parametrize(
    "text",
    ["2026-11-30 14:00", "2026-11-30T14:00Z", "2026-11-30 14:00 UTC", "2026-11-30T15:00+01:00"],
)
def test_a_time_without_a_zone_is_in_utc(text):
    assert read_time(text, "It") == datetime(2026, 11, 30, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "0001-01-01T00:00+23:00", "9999-12-31T23:59:59-23:00", "1970-12-31",
     "9999-01-01", "2026-11-31", "２０２６-11-30", "9" * 400],
)  # fmt: skip
def test_what_is_no_time_is_refused(text):
    with pytest.raises(BadAddress, match=r"^It is written as 2026-11-30 14:00, in UTC\.$"):
        read_time(text, "It")


def test_a_point_in_the_past_is_a_sequence_or_a_time():
    assert read_as_of({}) is None
    assert read_as_of({"at": " 12 "}).sequence == 12
    moment = datetime(2026, 11, 30, 2, 53, 28)
    for text, microsecond in (
        ("2026-11-30 02:53:28", 999_999),
        ("2026-11-30 02:53:28.415", 415_000),
    ):
        found = read_as_of({"at": text}).commit_time.ToDatetime()
        assert found == moment.replace(microsecond=microsecond), "a second is meant to its end"
    for text in ("0", str(LARGEST_SEQUENCE + 1), "9" * 400, "٣"):
        with pytest.raises(BadAddress, match="A sequence is a whole number from 1"):
            read_as_of({"at": text})
    with pytest.raises(BadAddress, match="neither a sequence"):
        read_as_of({"at": "yesterday"})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("1200", "1200"),
        ("2026-11-30", "2026-11-30T00:00"),
        ("2026-11-30T14:00Z", "2026-11-30T14:00"),
        ("2026-11-30 15:00+01:00", "2026-11-30T14:00"),
        ("2026-11-30T14:00:30Z", "2026-11-30T14:00:30"),
    ],
)
def test_a_field_shows_a_time_in_utc_without_its_zone(text, shown):
    assert write_field_moment(text) == shown


def test_a_field_shows_no_nonsense():
    with pytest.raises(BadAddress):
        write_field_moment("yesterday")
