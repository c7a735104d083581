"""Numba's cache of compiled kernels.

`python -m services.runtime.kernel_cache` fills the cache.
"""

import asyncio
import atexit
import hashlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib.metadata import version
from pathlib import Path

from propagation.forced_exit import create_temporary_folder
from services.runtime.bound_process import build_bound_command
from services.runtime.console import print_error, show_progress
from services.runtime.kernel_compiler import SERVICE, hold_lock, run_compilers


class StartCancelled(Exception):
    """The service was asked to stop before it was ready."""


def use_kernel_cache() -> None:
    """Choose the cache folder; call it before anything imports numba.

    The folder's name is a digest of three things. One is the kernels' sources: numba notices that a
    kernel has changed, but not that a kernel of another file, which it calls, has changed. Another
    is the sources' place, by which numba tells kernels apart. The third is numba's version: another
    version would use the file names of this one again, and one moment's index may name a file that
    it has not replaced yet.

    NUMBA_CACHE_DIR names the parent folder; in a child process it names the folder itself.

    A container with a read-only file system may have a folder that cannot be written. Until this
    process ends, a folder of links then stands in for it: numba reads no folder that it cannot
    write, and must write there if another type of processor filled it. Links suffice, because numba
    replaces files and never writes into one.
    """
    library = Path(__file__).parent.parent.parent / "propagation"
    sources = sorted(
        source
        for package in ("evaluation/kernels", "numbers")
        for source in (library / package).rglob("*.py")
    )
    digest = hashlib.blake2b(
        b"".join(
            [
                os.fsencode(library),
                version("numba").encode(),
                *(source.read_bytes() for source in sources),
            ]
        ),
        digest_size=6,
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
        temporary = until_exit.enter_context(create_temporary_folder("kernels-"))
        folder = shutil.copytree(folder, os.path.join(temporary, digest), copy_function=os.symlink)
    os.environ["NUMBA_CACHE_DIR"] = folder


def has_compiled_kernels(needed_by: str = SERVICE) -> bool:
    """Return whether the cache has all kernels for this machine.

    Kernels are compiled for one interpreter, numba release and processor. If no cache was chosen,
    the result is True: there is none to fill.
    """
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return not folder or _mark(Path(folder), needed_by).exists()


def _mark(folder: Path, needed_by: str) -> Path:
    """Return the path of the file that marks a complete cache."""
    from llvmlite.binding import get_host_cpu_name

    processor = os.environ.get("NUMBA_CPU_NAME") or get_host_cpu_name()
    compiler = f"{sys.implementation.cache_tag}-numba-{version('numba')}"
    return folder / f"{needed_by}-{compiler}-{processor}.complete"


def compile_kernels(*needed_by: str) -> None:
    """Compile the kernels that the cache lacks, and show progress.

    If another process compiles them, this waits for it and compiles nothing.

    Args:
        needed_by: SERVICE by default.

    Raises:
        CompilerFailed: A process that compiles kernels ended before its work was done.
    """
    needed_by = needed_by or (SERVICE,)
    if all(map(has_compiled_kernels, needed_by)):
        return
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(
        folder, lambda: print_error("waiting for another process that is compiling kernels")
    ):
        lacking = tuple(one for one in needed_by if not has_compiled_kernels(one))
        if lacking:
            print_error("compiling kernels, once")
            with show_progress("kernels", seconds=5.0) as progress:
                run_compilers(lacking, progress)
            for one in lacking:
                _mark(folder, one).touch()


async def fill_kernel_cache(stopping: asyncio.Event, report: Callable[[str], object]) -> None:
    """Compile the service's kernels in a child process, unless the service stops.

    A thread that compiles cannot be ended, but a process can. Kernels that the child fails to
    compile are compiled when they are first used.

    Args:
        report: Called with each line that the child prints.

    Raises:
        StartCancelled: `stopping` was set before the end.
    """
    from propagation.workflow.concurrency import run_in_background  # not needed by the command line

    child = await asyncio.create_subprocess_exec(
        *build_bound_command("services.runtime.kernel_cache", SERVICE),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches the service alone
    )
    assert child.stderr is not None
    try:
        async with (
            run_in_background(_report_lines(child.stderr, report)) as compiled,
            run_in_background(stopping.wait()) as stopped,
        ):
            await asyncio.wait((compiled, stopped), return_when=asyncio.FIRST_COMPLETED)
    finally:
        if child.returncode is None:
            # Its session is its own: this reaches the processes that it started, too.
            with suppress(ProcessLookupError):  # it has just ended
                os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
    if stopping.is_set():
        raise StartCancelled


async def _report_lines(lines: asyncio.StreamReader, report: Callable[[str], object]) -> None:
    async for line in lines:
        report(line.decode(errors="replace").rstrip())


def main(*needed_by: str) -> None:
    """Compile every kernel that the cache lacks, and report the time."""
    use_kernel_cache()
    start = time.monotonic()
    compile_kernels(*needed_by)
    print_error(f"kernels ready after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at once; Python's handler would wait
    main(*sys.argv[1:])
