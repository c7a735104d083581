"""Parts of addresses and forms: numbers, times, choices."""

from collections.abc import Mapping
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.v1 import propagation_pb2 as pb
from services.web.problems import BadAddress

LARGEST_SEQUENCE = (1 << 63) - 1
LARGEST_NUMBER = (1 << 31) - 1
YEARS = range(1971, 9999)
"""Years of times; one before and after them still has a time."""


def read_number(text: str, what: str, least: int, most: int) -> int:
    """Read a whole number, written in decimal digits of ASCII.

    Zeros may lead; a sign or a space may not.

    Args:
        what: Names the number at the beginning of a sentence.

    Raises:
        BadAddress: The text is no number from least to most.
    """
    digits = text.lstrip("0") or text[-1:]
    # Python refuses to convert thousands of digits, so their number is compared first.
    if digits.isascii() and digits.isdecimal() and len(digits) <= len(str(most)):
        number = int(digits)
        if least <= number <= most:
            return number
    raise BadAddress(f"{what} is a whole number from {least:,} to {most:,}.")


def read_page_token(query: Mapping[str, str]) -> str:
    """Return the token of a list's page, empty for the first."""
    return query.get("page", "")


def read_router_number(text: str) -> int:
    """Read the number of a router.

    Raises:
        BadAddress: The text is no such number.
    """
    return read_number(text, "The number of a router", 0, LARGEST_NUMBER)


def read_time(text: str, what: str) -> datetime:
    """Read a time; without a zone it is in UTC.

    Args:
        what: Names the time at the beginning of a sentence.

    Returns:
        The time in UTC.

    Raises:
        BadAddress: The text is no time, or its year is none of YEARS.
    """
    try:
        time = datetime.fromisoformat(text.removesuffix("UTC").strip())
        moment = time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or moment.year not in YEARS:
        raise BadAddress(f"{what} is written as 2026-11-30 14:00, in UTC.")
    return moment


def read_past_moment(text: str, what: str) -> datetime:
    """Read a time of the past, as the end of its second.

    The page shows whole seconds, so a time that is typed as it is shown includes what was written
    in that second.

    Args:
        what: Names the time at the beginning of a sentence.

    Raises:
        BadAddress: The text is no time.
    """
    moment = read_time(text, what)
    return moment if moment.microsecond else moment.replace(microsecond=999_999)


def write_field_moment(text: str) -> str:
    """Write a sequence or a time for a field of a form.

    A time is in UTC, without its zone; the page's script shows it in the visitor's zone, and sends
    it back with Z.

    Raises:
        BadAddress: The text is none of both.
    """
    if not text or text.isdecimal():
        return text
    moment = read_time(text, "A time").replace(tzinfo=None)
    whole_minute = not (moment.second or moment.microsecond)
    return moment.isoformat(timespec="minutes" if whole_minute else "auto")


def build_timestamp(moment: datetime) -> Timestamp:
    """Return a time as calls take it."""
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def read_as_of(query: Mapping[str, str], field: str = "at") -> pb.AsOf | None:
    """Read a sequence or a time in UTC of the past.

    Returns:
        None if the address names none.

    Raises:
        BadAddress: The text is neither.
    """
    text = query.get(field, "").strip()
    if not text:
        return None
    if text.isdecimal():
        return pb.AsOf(sequence=read_number(text, "A sequence", 1, LARGEST_SEQUENCE))
    try:
        moment = read_past_moment(text, "A time")
    except BadAddress as error:
        raise BadAddress(
            "The point in the past is neither a sequence, such as 1200, nor a time, such as"
            " 2026-11-30 14:00."
        ) from error
    return pb.AsOf(commit_time=build_timestamp(moment))


def read_choice(query: Mapping[str, str], field: str, choices: Mapping[str, object]) -> str:
    """Read one of several names; without one, the first of them.

    Raises:
        BadAddress: It is another name.
    """
    text = query.get(field) or next(iter(choices))
    if text not in choices:
        raise BadAddress(f"{field} is none of {', '.join(choices)}.")
    return text
