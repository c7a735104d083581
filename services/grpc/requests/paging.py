"""Opaque page tokens: where the next page starts, and for what it was given out."""

import base64
import contextlib

from propagation.model.errors import InvalidInput

PAGE, PAGE_MAX = 100, 1_000


def page_size_of(given: int | None) -> int:
    """Raises InvalidInput."""
    size = PAGE if given is None else given
    if not 1 <= size <= PAGE_MAX:
        raise InvalidInput("page_size", f"is {size}; give 1 to {PAGE_MAX}")
    return size


def token_for(question: str, start: int) -> str:
    return base64.urlsafe_b64encode(f"{question}|{start}".encode()).decode()


def start_of(token: str, question: str) -> int:
    """0 without a token. Raises InvalidInput for one that was not given out for this question."""
    if not token:
        return 0
    with contextlib.suppress(ValueError):
        asked, _, start = base64.urlsafe_b64decode(token.encode()).decode().rpartition("|")
        if asked == question:
            return int(start)
    raise InvalidInput(
        "page_token",
        "is not one of this question; give next_page_token of the answer before, or nothing",
    )
