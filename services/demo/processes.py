"""The demo's processes: a service and helpers that never outlive it."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from propagation.forced_exit import clean_up_by, temporary_folder
from services.client.errors import ChildFailed, Refused, Unreachable
from services.runtime.bound_process import bound_command

OUT = Path("demo-out")
READY = "listening on "
# A first start compiles kernels, which a busy machine takes minutes for; a service that dies is
# noticed at once.
START_SECONDS, ENDING_SECONDS = 900.0, 1.0
LAST_WORDS = 300


@asynccontextmanager
async def demo_service(settings: Sequence[str]) -> AsyncIterator[str]:
    """Run a service on a free loopback port and a temporary database.

    Yields its address. However the demo ends, the process and the database are removed.

    Args:
        settings: key=value.

    Raises:
        ChildFailed: It did not start, or ended by itself.
    """
    with temporary_folder("propagation-demo-") as folder:
        assigned = [part for value in settings for part in ("--set", value)]
        command = ("serve", "--database", str(folder / "demo.db"), "--port", "0", *assigned)
        log = folder / "service.log"
        with log.open("w+b") as errors:
            async with child("services.cli.main", command, errors.fileno()) as process:
                address = await _address(process, log)
                try:
                    yield address
                except (Refused, Unreachable) as error:
                    if isinstance(error, Unreachable) and await _has_ended(process):
                        raise ChildFailed(
                            f"the demo's service {exit_in_words(process.returncode or 0)}; its "
                            f"log: {keep_log(log)}"
                        ) from error
                    raise type(error)(f"{error}; the service's log: {keep_log(log)}") from error


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    """Return whether the process has ended; its callers notice a moment earlier."""
    with suppress(TimeoutError):
        async with asyncio.timeout(ENDING_SECONDS):
            await process.wait()
    return process.returncode is not None


@asynccontextmanager
async def scripted_model() -> AsyncIterator[Sequence[str]]:
    """Run a scripted language model; yields the service's settings for it."""
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
async def child(
    module: str, arguments: Sequence[str], errors: int | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `python -m module arguments` in a session of its own.

    The terminal's Ctrl-C reaches only the demo. The child is killed at the end of the block, since
    it has nothing to keep, and when the demo is killed.
    """
    process = await asyncio.create_subprocess_exec(
        *bound_command(module, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL if errors is None else errors,
        start_new_session=True,
        env=dict(os.environ),
    )
    try:
        with clean_up_by(lambda: _kill(process)):
            yield process
    finally:
        await process.wait()


def exit_in_words(code: int) -> str:
    """Return how a process ended."""
    return (
        f"was ended by {signal.Signals(-code).name}"
        if code < 0
        else f"ended by itself with exit code {code}"
    )


async def _first_line(process: asyncio.subprocess.Process) -> str:
    """Return the process' first line; "" if it ends without one.

    Raises:
        TimeoutError: It printed none in time.
    """
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
        raise ChildFailed(f"the demo's service did not start: {await last_lines(log)}")
    return line.removeprefix(READY).strip()


async def last_lines(log: Path) -> str:
    """Return the last lines of a log."""
    said = await asyncio.to_thread(log.read_text, errors="replace")
    return " ".join(said.split())[-LAST_WORDS:] or "it said nothing"


def keep_log(log: Path) -> Path:
    """Copy the log out of the temporary folder."""
    OUT.mkdir(exist_ok=True)
    return Path(shutil.copy(log, OUT / log.name)).resolve()


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the process and those that it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
