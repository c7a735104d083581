"""Parts of addresses: a point in the past, a choice, a number."""

from collections.abc import Mapping
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.v1 import propagation_pb2 as pb
from services.web.problems import BadAddress

LARGEST_SEQUENCE = (1 << 63) - 1
LARGEST_NUMBER = (1 << 31) - 1


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
    if text.isascii() and text.isdecimal():
        sequence = int(text[:20])
        if not 1 <= sequence <= LARGEST_SEQUENCE:
            raise BadAddress("A sequence is a number from 1; the newest is shown on the page Now.")
        return pb.AsOf(sequence=sequence)
    try:
        time = datetime.fromisoformat(text.removesuffix("UTC").strip())
        moment = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadAddress(
            "The point in the past is neither a sequence, such as 1200, nor a time, such as"
            " 2026-11-30 14:00."
        ) from error
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return pb.AsOf(commit_time=stamp)


def read_number(text: str, what: str) -> int:
    """Read a number of an address.

    Args:
        what: What the number names, such as "router".

    Raises:
        BadAddress: The text is no number from 0 to LARGEST_NUMBER.
    """
    if not (text.isascii() and text.isdecimal()) or int(text[:11]) > LARGEST_NUMBER:
        raise BadAddress(f"The address names no {what}: its number is missing or too large.")
    return int(text)


def read_choice(query: Mapping[str, str], field: str, choices: Mapping[str, object]) -> str:
    """Read one of several names; without one, the first of them.

    Raises:
        BadAddress: It is another name.
    """
    text = query.get(field) or next(iter(choices))
    if text not in choices:
        raise BadAddress(f"{field} is none of {', '.join(choices)}.")
    return text
