"""Slots in which new tokens are tried.

A flood of wrong tokens from an address delays good ones from there by seconds, and refuses none.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import grpc

from propagation_client import CallFailed

SLOTS = 30
WRONG_SECONDS = 3.0


class SignInSlots:
    """Slots for the tokens of each address, in order of arrival.

    Each address has SLOTS. A token that was wrong keeps its slot for WRONG_SECONDS more, also if
    its visitor leaves. So an address cannot try more than SLOTS / WRONG_SECONDS wrong tokens a
    second for long. It can have no more visitors waiting than it may have connections, so a good
    token waits for seconds at most, beside the time that the service takes to answer wrong ones.
    """

    def __init__(self) -> None:
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, address: str) -> AsyncIterator[None]:
        """Wait for a slot; the block tries a token in it.

        A block that raises keeps its slot for WRONG_SECONDS, unless the service failed to judge the
        token.
        """
        slots = self._slots.setdefault(address, asyncio.Semaphore(SLOTS))
        await slots.acquire()
        hold = True
        try:
            yield
            hold = False
        except CallFailed as error:
            # The service slows down an address that sent it wrong tokens.
            hold = error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            raise
        finally:
            if hold:
                asyncio.get_running_loop().call_later(WRONG_SECONDS, slots.release)
            else:
                slots.release()
