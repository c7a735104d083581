"""The kernels of a machine's first run, compiled by processes of their own: a service that is told
to stop meanwhile does."""

import asyncio
import os
import signal
import sys
from contextlib import suppress

from services.runtime.readiness import StartCancelled

COMMAND = (sys.executable, "-m", "services.runtime.kernel_warm_up")
ENDING_SECONDS = 5.0


async def compiled(stopping: asyncio.Event) -> None:
    """Back when the kernels are kept; what could not be compiled there is compiled when it is
    wanted. Raises StartCancelled where `stopping` is set before."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    waits = [asyncio.ensure_future(process.wait()), asyncio.ensure_future(stopping.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waits[1].cancel()
        await _ended(process)
    if stopping.is_set():
        raise StartCancelled


async def _ended(process: asyncio.subprocess.Process) -> None:
    """It, and the process that it started: as by Ctrl-C, so that nothing half made is left, then
    without asking."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDING_SECONDS):
                await process.wait()
