"""Places in which tokens are tried.

A flood of wrong tokens delays good ones little, and refuses none.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import grpc

from propagation_client import CallFailed

PLACES = 30
WRONG_SECONDS = 3.0


class SignInPlaces:
    """Places for the tokens of each address, in order of arrival.

    Each address has PLACES. A token that was wrong keeps its place for WRONG_SECONDS more, also if
    its visitor leaves. So an address cannot try more than PLACES / WRONG_SECONDS wrong tokens a
    second for long. It can have no more visitors waiting than it may have connections, so a good
    token waits for seconds at most, beside the time that the service takes to answer wrong ones.
    """

    def __init__(self) -> None:
        self._places: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, address: str) -> AsyncIterator[None]:
        """Wait for a place, then keep it within the block.

        The block tries a token. If it raises, the token was wrong, or the service did not answer.
        """
        places = self._places.setdefault(address, asyncio.Semaphore(PLACES))
        await places.acquire()
        wrong = True
        try:
            yield
            wrong = False
        except CallFailed as error:
            wrong = error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED  # by other wrong tokens
            raise
        finally:
            if wrong:
                asyncio.get_running_loop().call_later(WRONG_SECONDS, places.release)
            else:
                places.release()
