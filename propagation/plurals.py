"""Numbers and lists in sentences."""

from collections.abc import Sequence


def pluralize(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun: "1 user", "1,000 users".

    Args:
        many: The plural, if it is not `one` with an s.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence: a, b and c."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
