"""Previews: calls that change nothing, and take the service seconds or longer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")


class PreviewRuns(Exception):
    """Another preview runs. The text says so."""


class Previews:
    """Runs one preview at a time; it ends when its visitor leaves."""

    def __init__(self) -> None:
        self._runs = False

    async def run(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        """Run the call, and return its answer.

        The request's form was read already.

        Raises:
            PreviewRuns: Another preview runs.
            ClientDisconnect: The browser left, so the call was cancelled.
        """
        if self._runs:
            raise PreviewRuns("A preview is running already: try again when it has ended.")
        self._runs = True
        try:
            return await run_until_left(request, call)
        finally:
            self._runs = False


async def run_until_left(request: Request, call: Callable[[], Awaitable[T]]) -> T:
    """Run a call while the browser waits for it.

    The request's form was read already.

    Raises:
        ClientDisconnect: The browser left, so the call was cancelled.
    """
    calling = asyncio.ensure_future(call())
    leaving = asyncio.create_task(_wait_until_left(request))
    try:
        await asyncio.wait((calling, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not calling.done():
            raise ClientDisconnect
        return calling.result()
    finally:
        calling.cancel()
        leaving.cancel()
        await asyncio.gather(calling, leaving, return_exceptions=True)


async def _wait_until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
