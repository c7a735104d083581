"""Context of questions about texts: the last withdrawal before these were read.

An answer is kept for equal questions only if no withdrawal came since.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

read_after: ContextVar[int | None] = ContextVar("read_after", default=None)
"""The last withdrawal before the task under way read its texts; None: it does not say."""


@contextmanager
def texts_read_after(withdrawal: int) -> Iterator[None]:
    """Ask about texts that were read after a withdrawal.

    An answer is kept only if there was no other one until then. A context, and no argument of each
    question: another process may withdraw between any two questions about the same texts.
    """
    token = read_after.set(withdrawal)
    try:
        yield
    finally:
        read_after.reset(token)
