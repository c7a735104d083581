"""Numba's cache of compiled kernels, and its filling: `python -m services.runtime.kernel_cache`."""

import asyncio
import atexit
import hashlib
import os
import shutil
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from propagation.forced_exit import temporary_folder
from services.runtime.bound_process import bound_command

KERNELS = ("evaluation/kernels", "numbers")
COMPILING = "compiling kernels, once: about two minutes, more on a busy machine"


class StartCancelled(Exception):
    """The service was asked to stop before it was ready."""


def use_kernel_cache() -> None:
    """Choose the cache folder; call it before anything imports numba.

    The folder is named after the kernels' sources, because numba notices a change of a kernel, and
    not of another file's kernel that it calls. NUMBA_CACHE_DIR names its parent folder; in a child
    process it names the folder itself. A folder that cannot be written, as in a container with a
    read-only file system, is replaced by one of links for the life of this process: numba reads no
    folder that it cannot write, and must write there when the processor is not the one that filled
    it. It replaces files and never writes into one, so that links suffice.
    """
    library = Path(__file__).parent.parent.parent / "propagation"
    sources = sorted(source for package in KERNELS for source in (library / package).rglob("*.py"))
    digest = hashlib.blake2b(
        b"".join(source.read_bytes() for source in sources), digest_size=6
    ).hexdigest()
    parent = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "propagation-kernels"
    )
    if os.path.basename(parent) == digest:
        return
    folder = os.path.join(parent, digest)
    if os.path.isdir(folder) and not os.access(folder, os.W_OK):
        until_exit = ExitStack()
        atexit.register(until_exit.close)
        temporary = until_exit.enter_context(temporary_folder("kernels-"))
        folder = shutil.copytree(folder, os.path.join(temporary, digest), copy_function=os.symlink)
    os.environ["NUMBA_CACHE_DIR"] = folder


def has_compiled_kernels() -> bool:
    """Return whether the cache has kernels.

    Its folder exists as soon as one is imported.
    """
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return not folder or any(Path(folder).rglob("*.nbi"))


async def fill_kernel_cache(stopping: asyncio.Event) -> None:
    """Compile the kernels, unless the service is told to stop meanwhile.

    A child process compiles, because a thread that compiles cannot be ended. Kernels that it fails
    to compile are compiled when they are first used.

    Raises:
        StartCancelled: `stopping` was set before the end.
    """
    from propagation.workflow.concurrency import background_task  # not needed by the command line

    child = await asyncio.create_subprocess_exec(
        *bound_command("services.runtime.kernel_cache"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C reaches the service alone
    )
    try:
        async with (
            background_task(child.wait()) as compiled,
            background_task(stopping.wait()) as stopped,
        ):
            await asyncio.wait((compiled, stopped), return_when=asyncio.FIRST_COMPLETED)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
    if stopping.is_set():
        raise StartCancelled


def main() -> None:
    """Compile every kernel that the cache lacks, and report the time."""
    use_kernel_cache()
    from propagation.workflow.warm_up import warm_up

    start = time.monotonic()
    sys.stderr.write(
        "looking for kernels that are not compiled yet\n"
        if has_compiled_kernels()
        else f"{COMPILING}\n"
    )
    warm_up()
    sys.stderr.write(f"kernels ready after {time.monotonic() - start:.0f} s\n")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it ends at once; while it compiles, Python waits
    main()
