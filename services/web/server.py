"""The page's process, between browsers and the service."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog
import uvicorn

from propagation_client import Credentials
from services.runtime.bound_process import build_bound_command
from services.runtime.errors import PortTaken
from services.security.tls import TlsFiles, create_server_context
from services.web.access.sessions import Sessions
from services.web.app import WebOptions, build_app
from services.web.state import get_state_of

NICENESS = 5
MAX_CONNECTIONS = 512
STOP_SECONDS = 1
START_SECONDS = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
LONG_LIFE_SECONDS = 60.0
log = structlog.get_logger()


@dataclass(frozen=True)
class PageOptions:
    """Where the page is served, and which service it shows.

    Attributes:
        host: The address to listen on.
        port: The port; 0 takes a free one.
        service: HOST:PORT of the service, or unix:PATH of its socket.
        tls: Whether calls to the service are encrypted. Any of the next three files says so, too.
        ca: File of the authority of the service's certificate.
        client_certificate: File with the page's own certificate for the service.
        client_key: File with its key.
        certificate: File with the certificate that browsers see; none: no TLS.
        key: File with its key.
        browser_ca: File of certificates; browsers must show one that is signed by them.
        token_needed: Whether visitors must sign in even if the service needs no token.
        reports: Folder whose reports the page shows; none: no reports.
    """

    host: str
    port: int
    service: str
    tls: bool = False
    ca: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    certificate: str | None = None
    key: str | None = None
    browser_ca: str | None = None
    token_needed: bool = False
    reports: str | None = None

    @property
    def scheme(self) -> str:
        """Http or https."""
        return "http" if self.certificate is None else "https"


def run_page(options: PageOptions, announce: Callable[[str], None]) -> None:
    """Serve the page until SIGTERM or SIGINT.

    Args:
        announce: Called with the page's address when it is served.

    Raises:
        PortTaken: Another process listens at the address.
        BrokenTls: A certificate or key cannot be used.
    """
    listening = listen(options.host, options.port)
    server = build_server(options)
    announce(name_address(options, listening))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve([listening]))


def build_server(options: PageOptions) -> uvicorn.Server:
    """Build the HTTP server of the page; it serves what `listen` opened.

    Raises:
        BrokenTls: A certificate or key cannot be used.
    """
    paths = (options.certificate, options.key, options.browser_ca)
    files = TlsFiles(*(Path(path) if path else None for path in paths))
    context = create_server_context(files)
    app = build_app(
        WebOptions(
            options.service,
            Credentials(
                tls=options.tls,
                ca=options.ca,
                certificate=options.client_certificate,
                key=options.client_key,
            ),
            names=[options.host],
            token_needed=options.token_needed,
            reports=Path(options.reports) if options.reports else None,
        )
    )
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # an address may name a user
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    config.load()
    config.ssl = context
    return _PageServer(config, get_state_of(app).sessions)


class _PageServer(uvicorn.Server):
    """An HTTP server that ends live views before it stops.

    They would not end by themselves, and uvicorn would wait for them, then cancel them.
    """

    def __init__(self, config: uvicorn.Config, sessions: Sessions) -> None:
        super().__init__(config)
        self._sessions = sessions

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals; SIGINT stays ignored if it was.

        A terminal's Ctrl-C reaches the child of a service too, and the service ends it.
        """
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with super().capture_signals():
            if ignored:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._sessions.end_streams()
        await super().shutdown(sockets)


def name_address(options: PageOptions, listening: socket.socket) -> str:
    """Return the address of the page for a browser."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{options.scheme}://{shown}:{port}"


def listen(host: str, port: int) -> socket.socket:
    """Open the page's port; raise PortTaken if another process has it."""
    host = host.strip("[]")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(MAX_CONNECTIONS)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise PortTaken(f"{host}:{port}") from error
    return listening


@contextlib.asynccontextmanager
async def serve_page_beside(options: PageOptions) -> AsyncIterator[str]:
    """Serve the page in a child process within the block.

    So the page takes no time of this process. A child that ends is started again. Yields the page's
    address.

    Raises:
        PortTaken: The child did not start; its own words are in the log.
    """
    child, address = await _start_child(options)
    # A page that is started again keeps its address.
    fixed = PageOptions(**asdict(options) | {"port": int(address.rpartition(":")[2])})
    keeper = asyncio.create_task(_keep_running(child, fixed))
    try:
        yield address
    finally:
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)


async def _keep_running(child: Process, options: PageOptions) -> None:
    pause = 0.0
    began = time.monotonic()
    try:
        while True:
            code = await child.wait()
            pause = choose_pause(pause, time.monotonic() - began)
            log.warning("the page's process ended, and is started again", code=code, seconds=pause)
            await asyncio.sleep(pause)
            began = time.monotonic()
            with contextlib.suppress(PortTaken):
                child, _ = await _start_child(options)
    finally:
        await _stop(child)


def choose_pause(last: float, life: float) -> float:
    """Return the seconds to wait before the next start.

    Args:
        last: The last pause, in seconds; 0 before the first.
        life: How many seconds the process ran.
    """
    if life >= LONG_LIFE_SECONDS or not last:
        return FIRST_PAUSE
    return min(2 * last, LONGEST_PAUSE)


async def _start_child(options: PageOptions) -> tuple[Process, str]:
    child = await asyncio.create_subprocess_exec(
        *build_bound_command("services.web.server"), stdin=PIPE, stdout=PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    address = ""
    try:
        child.stdin.write(json.dumps(asdict(options)).encode() + b"\n")
        child.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                address = (await child.stdout.readline()).decode().strip()
    finally:
        if not address:  # also if the service stops during the start
            await _stop(child)
    if not address:
        raise PortTaken(f"{options.host}:{options.port}")
    return child, address


async def _stop(child: Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS + 1):
                await child.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()


def _run_as_child() -> None:
    """Serve the page with the options on stdin; print its address."""
    os.nice(NICENESS)  # ingest and recommendations go first
    run_page(
        PageOptions(**json.loads(sys.stdin.readline())),
        lambda address: print(address, flush=True),
    )


if __name__ == "__main__":
    _run_as_child()
