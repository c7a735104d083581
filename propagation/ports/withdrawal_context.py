"""Context of questions about texts: the last withdrawal before the read.

A cache keeps an answer only if no withdrawal came after its texts were read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

read_after: ContextVar[int | None] = ContextVar("read_after", default=None)
"""Sequence of the last withdrawal before the current task read its texts.

None if the task does not say.
"""


@contextmanager
def texts_read_after(withdrawal: int) -> Iterator[None]:
    """Mark the body's questions as about texts read after a withdrawal.

    A cache keeps an answer only if no other withdrawal came before it stores the answer. All
    questions of the body share one value, because another process may withdraw between any two
    questions about the same texts.

    Args:
        withdrawal: Result of `get_last_withdrawal` before the texts were read.
    """
    token = read_after.set(withdrawal)
    try:
        yield
    finally:
        read_after.reset(token)
