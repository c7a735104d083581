"""A service that stops: nothing more is asked, and what is under way has some seconds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from propagation.model.errors import ReasonerStopping

STOPPING = "the service stops; it goes on after its next start"


class CallShutdown:
    """Of one endpoint."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()
        self._left = False

    def leave(self, seconds: float) -> None:
        """From now on; said again, the shorter time counts."""
        self._left = True
        until = asyncio.get_running_loop().time() + seconds
        for scope in self._scopes:
            if not scope.expired() and (scope.when() or until) >= until:
                scope.reschedule(until)

    def check(self) -> None:
        """Raises ReasonerStopping."""
        if self._left:
            raise ReasonerStopping(STOPPING)

    @asynccontextmanager
    async def staying(self) -> AsyncIterator[None]:
        """Around everything that a question waits for. Raises ReasonerStopping where the service
        leaves and the time is over."""
        self.check()
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes.add(scope)
                try:
                    yield
                finally:
                    self._scopes.discard(scope)
        except TimeoutError as error:
            if scope.expired():
                raise ReasonerStopping(STOPPING) from error
            raise
