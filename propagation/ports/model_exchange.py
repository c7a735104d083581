"""The last question to a language model and its answer, for failures."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from propagation.model import NO_EXCHANGE, ModelExchange


class Exchanges:
    """Keeps the last exchange of some work.

    Attributes:
        last: The last exchange; empty before the first.
    """

    def __init__(self) -> None:
        self.last: ModelExchange = NO_EXCHANGE


_noted: ContextVar[Exchanges | None] = ContextVar("noted", default=None)


@contextmanager
def noting_exchanges(exchanges: Exchanges) -> Iterator[None]:
    """Note the exchanges of the body, and of tasks that it starts."""
    token = _noted.set(exchanges)
    try:
        yield
    finally:
        _noted.reset(token)


def note_exchange(asked: str, answered: str) -> None:
    """Note an exchange, if the running work wants to know.

    Args:
        asked: The messages to the model.
        answered: Its answer; empty if there is none yet.
    """
    noted = _noted.get()
    if noted is not None:
        noted.last = ModelExchange(asked, answered)
