"""Pages of a list, and the opaque tokens that lead from one to the next."""

import base64
import contextlib
from dataclasses import dataclass
from typing import Any

from propagation.model import InvalidInput
from services.grpc.requests.validation import parse_limit

PAGE_SIZE = 100


@dataclass(frozen=True)
class Page:
    """One page: `size` entries from `start` on, of the list that answers `question`."""

    question: str
    start: int
    size: int

    @property
    def end(self) -> int:
        """The place after the last entry."""
        return self.start + self.size

    def next_token(self, start: int) -> str:
        """Make the token of a page of the same list that starts at another place."""
        return base64.urlsafe_b64encode(f"{self.question}|{start}".encode()).decode()


def parse_page(request: Any, question: str) -> Page:
    """Read page_size and page_token; without a token the page starts at 0.

    Args:
        request: The request.
        question: Names the list with all that determines its order; a token of another is refused.

    Raises:
        InvalidInput: The size is out of range, or the token belongs to another question.
    """
    size = parse_limit(request, "page_size", PAGE_SIZE)
    if not request.page_token:
        return Page(question, 0, size)
    with contextlib.suppress(ValueError):
        token = base64.urlsafe_b64decode(request.page_token.encode()).decode()
        token_question, _, start = token.rpartition("|")
        if token_question == question:
            return Page(question, int(start), size)
    raise InvalidInput(
        "page_token",
        "does not belong to this question; give next_page_token of the last answer, or nothing",
    )
