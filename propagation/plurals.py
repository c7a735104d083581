"""Numbers in sentences."""


def pluralize(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun: "1 user", "1,000 users".

    Args:
        many: The plural, if it is not `one` with an s.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
