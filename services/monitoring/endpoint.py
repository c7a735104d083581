"""GET /metrics, for Prometheus: plain HTTP/1.1, or TLS with the service's certificate."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from services.config.settings import ServerSettings
from services.runtime.errors import NotAllowed, PortTaken
from services.security.admission import Admission, NotAuthenticated, RateLimited
from services.security.tls import server_context

MAX_HEAD_BYTES = 16 << 10
REQUEST_SECONDS = 10.0
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHOD = "/metrics"
REFUSALS: Mapping[type[Exception], str] = {
    NotAuthenticated: "401 Unauthorized",
    NotAllowed: "403 Forbidden",
    RateLimited: "429 Too Many Requests",
}
Text = Callable[[], Awaitable[bytes]]


@contextlib.asynccontextmanager
async def metrics_endpoint(
    host: str, port: int, server: ServerSettings, admission: Admission, text: Text
) -> AsyncIterator[str]:
    """Listen within the block; yields HOST:PORT.

    If the service asks for tokens, so does this endpoint; any token will do.

    Args:
        text: Renders the metrics.

    Raises:
        PortTaken: Another process listens at the address.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(REQUEST_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                status, body = await _answer(
                    head, str(writer.get_extra_info("peername")), admission, text
                )
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()

    try:
        listening = await asyncio.start_server(
            answer, host, port, limit=MAX_HEAD_BYTES, ssl=server_context(server.tls)
        )
    except OSError as error:
        raise PortTaken(f"{host}:{port}") from error
    async with listening:
        yield f"{host}:{listening.sockets[0].getsockname()[1]}"


async def _answer(
    head: list[str], peer: str, admission: Admission, text: Text
) -> tuple[str, bytes]:
    """Return the status and the body."""
    words = head[0].split(" ")
    if len(words) != 3 or words[0] not in ("GET", "HEAD"):
        return "405 Method Not Allowed", b"GET only\n"
    if words[1].partition("?")[0] != METHOD:
        return "404 Not Found", b"only /metrics is here\n"
    headers = [
        (name.strip().lower(), value.strip())
        for name, _, value in (line.partition(":") for line in head[1:] if line)
    ]
    try:
        admission.admit(METHOD, headers, peer)
    except tuple(REFUSALS) as error:
        return REFUSALS[type(error)], f"{error}\n".encode()
    return "200 OK", await text() if words[0] == "GET" else b""
