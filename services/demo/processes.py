"""The service, and any other helper of the demo, as processes that never outlive it."""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from services.client.errors import ChildFailed, Refused, Unreachable

OUT = Path("demo-out")
READY = "listening on "
# A first start compiles kernels, which a busy machine takes minutes for; a service that dies is
# noticed at once.
START_SECONDS, STOP_SECONDS, ENDING_SECONDS = 900.0, 10.0, 1.0
LAST_WORDS = 300


@asynccontextmanager
async def demo_service(settings: Sequence[str]) -> AsyncIterator[str]:
    """A service of its own on a free loopback port and a temporary database; its address.
    `settings`: key=value.

    At the end, however it comes, the process is gone and so is the database. Raises ChildFailed
    where it does not start, or ends by itself."""
    with tempfile.TemporaryDirectory(prefix="propagation-demo-") as folder:
        assigned = [part for value in settings for part in ("--set", value)]
        command = ("serve", "--database", str(Path(folder) / "demo.db"), "--port", "0", *assigned)
        log = Path(folder) / "service.log"
        with log.open("w+b") as errors:
            async with child("services.cli.main", command, errors.fileno()) as process:
                address = await _address(process, log)
                try:
                    yield address
                except (Refused, Unreachable) as error:
                    if isinstance(error, Unreachable) and await _has_ended(process):
                        raise ChildFailed(
                            f"the demo's service {ended(process.returncode or 0)}; its log: {kept(log)}"
                        ) from error
                    raise type(error)(f"{error}; the service's log: {kept(log)}") from error


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    """Its callers hear of its end a moment before we do."""
    with suppress(TimeoutError):
        async with asyncio.timeout(ENDING_SECONDS):
            await process.wait()
    return process.returncode is not None


@asynccontextmanager
async def scripted_model() -> AsyncIterator[Sequence[str]]:
    """A scripted language model in a process of its own; the service's settings to use it."""
    async with child(
        "services.cli.main", ("fake-llm", "--port", "0", "--latency", "0.02")
    ) as process:
        line = await _first_line(process)
        if not line.startswith(READY):
            raise ChildFailed("the scripted language model did not start")
        yield [
            "reasoner=openai",
            "openai.model=scripted",
            f"openai.base_url={line.removeprefix(READY).strip()}",
            "openai.in_flight=20",
        ]


@asynccontextmanager
async def no_model() -> AsyncIterator[Sequence[str]]:
    """The offline reasoner: no settings."""
    yield ()


@asynccontextmanager
async def child(
    module: str, arguments: Sequence[str], errors: int | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """`python -m module arguments`, in a session of its own: the terminal's Ctrl-C reaches the demo
    alone, which ends it. Where the demo is killed and can end nothing,
    services/demo/bound_process.py does."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.demo.bound_process",
        str(os.getpid()),
        module,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL if errors is None else errors,
        start_new_session=True,
        env=dict(os.environ),
    )
    try:
        yield process
    finally:
        await _end(process)


def ended(code: int) -> str:
    """How a process ended, in words."""
    return (
        f"was ended by {signal.Signals(-code).name}"
        if code < 0
        else f"ended by itself with exit code {code}"
    )


async def _first_line(process: asyncio.subprocess.Process) -> str:
    """ "" where it ends without one. Raises TimeoutError."""
    assert process.stdout is not None
    async with asyncio.timeout(
        START_SECONDS
    ):  # wait_for gives back a line that came, and swallows a Ctrl-C that came with it
        return (await process.stdout.readline()).decode()


async def _address(process: asyncio.subprocess.Process, log: Path) -> str:
    try:
        line = await _first_line(process)
    except TimeoutError:
        raise ChildFailed(f"the demo's service said nothing for {START_SECONDS:g} s") from None
    if not line.startswith(READY):
        raise ChildFailed(f"the demo's service did not start: {await last_words(log)}")
    return line.removeprefix(READY).strip()


async def last_words(log: Path) -> str:
    said = await asyncio.to_thread(log.read_text, errors="replace")
    return " ".join(said.split())[-LAST_WORDS:] or "it said nothing"


def kept(log: Path) -> Path:
    """A copy that outlives the temporary folder."""
    OUT.mkdir(exist_ok=True)
    return Path(shutil.copy(log, OUT / log.name)).resolve()


async def _end(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, then SIGKILL. A second Ctrl-C does not keep it alive: cancellation only shortens the
    wait."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except (TimeoutError, asyncio.CancelledError):
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
