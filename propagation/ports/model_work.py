"""Kinds of work that ask a model, with their shares.

Router texts and descriptions come in large numbers at once. Asked in the order of coming, they keep
a slow model busy for many minutes while interactions wait, from which all preferences come.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class ModelWork(Enum):
    """A kind of work that asks a model.

    While questions of several kinds wait, each kind gets calls by its `share`. The share of
    interactions is as large as all others together, so they get at least half of the calls for as
    long as one of their questions waits. A kind of which nothing waits leaves its calls to others.

    Source: RecNet 2.5 and 3.4.5: routers are updated after a batch of interactions, and their calls
    are to be few beside those of interactions (M << N).
    """

    INTERACTION = "interaction"
    """An interaction, and the descriptions for which it waits."""
    READ = "read"
    """A call of the service, or a program that names no other kind."""
    DESCRIPTION = "description"
    ROUTERS = "routers"
    """A round, or an evolution."""

    @property
    def share(self) -> int:
        """Calls of this kind for one of each other kind."""
        return len(ModelWork) - 1 if self is ModelWork.INTERACTION else 1


current_work: ContextVar[ModelWork] = ContextVar("current_work", default=ModelWork.READ)
"""The kind of work for which the current task asks."""


@contextmanager
def asking_for(work: ModelWork) -> Iterator[None]:
    """Mark the questions of the body, and of tasks that it starts."""
    token = current_work.set(work)
    try:
        yield
    finally:
        current_work.reset(token)
