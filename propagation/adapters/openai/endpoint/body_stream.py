"""Bodies as they come over the wire: bounded, and at an end where nothing more comes, whatever was
announced. Whether what came is an answer, its reader judges."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

STILL_SECONDS = 1.0
BODY_BYTES, NUMBER_BYTES, TEXTS_A_CALL = 8_000_000, 32, 64


def most_bytes(dimension: int) -> int:
    """Of a body: that of embeddings holds TEXTS_A_CALL vectors of so many numbers."""
    return max(BODY_BYTES, TEXTS_A_CALL * dimension * NUMBER_BYTES)


def bounded(most: int) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook on responses: their bodies have at most `most` bytes; what is longer breaks off there."""

    async def hook(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = Body(response.stream, most)

    return hook


class Body(httpx2.AsyncByteStream):
    """One body. Some servers close the connection before the length that they told, or never end
    what is whole already."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        came = bytearray()
        coming = aiter(self._stream)
        while (part := await self._next(coming, came)) is not None:
            came += part[: self._most - len(came)]
            yield part
            if len(came) >= self._most:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def _next(self, coming: AsyncIterator[bytes], came: bytearray) -> bytes | None:
        """None at the end: where the connection says so or breaks, and where what came is whole and
        nothing but blanks follows."""
        waiting = asyncio.ensure_future(anext(coming, None))
        try:
            while not (await asyncio.wait({waiting}, timeout=STILL_SECONDS))[0]:
                if _whole(came):
                    return None
            part = waiting.result()
            return None if part is not None and not part.strip() and _whole(came) else part
        except httpx2.TransportError:
            if not came:
                raise
            return None
        finally:
            if not waiting.done():
                waiting.cancel()
                await asyncio.wait({waiting})


def _whole(came: bytes | bytearray) -> bool:
    text = bytes(came).strip()
    if text.endswith(b"[DONE]"):
        return True
    if not text.endswith((b"}", b"]")):
        return False
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True
