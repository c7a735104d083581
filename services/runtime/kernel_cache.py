"""Numba's cache of compiled kernels, and its filling: `python -m services.runtime.kernel_cache`."""

import asyncio
import atexit
import fcntl
import hashlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from propagation.forced_exit import create_temporary_folder
from services.runtime.bound_process import build_bound_command
from services.runtime.console import print_error, show_progress

# By what needs them: the packages whose kernels are compiled together.
SERVICE, EVALUATION = "service", "evaluation"
PACKAGES = {
    SERVICE: ("propagation.numbers.",),
    EVALUATION: ("propagation.evaluation.kernels.", "propagation.numbers."),
}


class StartCancelled(Exception):
    """The service was asked to stop before it was ready."""


def use_kernel_cache() -> None:
    """Choose the cache folder; call it before anything imports numba.

    The folder is named after the kernels' sources, because numba notices a change of a kernel, and
    not of another file's kernel that it calls, and after their place, by which numba tells kernels
    apart. NUMBA_CACHE_DIR names its parent folder; in a child process it names the folder itself. A
    folder that cannot be written, as in a container with a read-only file system, is replaced by
    one of links for the life of this process: numba reads no folder that it cannot write, and must
    write there when the processor is not the one that filled it. It replaces files and never writes
    into one, so that links suffice.
    """
    library = Path(__file__).parent.parent.parent / "propagation"
    sources = sorted(
        source
        for package in ("evaluation/kernels", "numbers")
        for source in (library / package).rglob("*.py")
    )
    digest = hashlib.blake2b(
        b"".join([os.fsencode(library), *(source.read_bytes() for source in sources)]),
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

    It depends on the interpreter, numba and the processor.
    """
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return not folder or _mark(Path(folder), needed_by).exists()


def _mark(folder: Path, needed_by: str) -> Path:
    """Return the file that is there once the cache is complete."""
    from llvmlite.binding import get_host_cpu_name

    processor = os.environ.get("NUMBA_CPU_NAME") or get_host_cpu_name()
    compiler = f"{sys.implementation.cache_tag}-numba-{version('numba')}"
    return folder / f"{needed_by}-{compiler}-{processor}.complete"


def compile_kernels(needed_by: str = SERVICE) -> None:
    """Compile the kernels that the cache lacks, and show progress.

    If another process compiles them, this waits for it and compiles nothing.
    """
    if has_compiled_kernels(needed_by):
        return
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    with _hold_lock(folder):
        if not has_compiled_kernels(needed_by):
            print_error("compiling kernels, once")
            with (
                show_progress("kernels", seconds=5.0) as progress,
                _report_compiled(needed_by, progress),
            ):
                _warm_up_of(needed_by)()
            _mark(folder, needed_by).touch()


@contextmanager
def _hold_lock(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which ends with the process at the latest."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print_error("waiting for another process, which compiles kernels")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _warm_up_of(needed_by: str) -> Callable[[], None]:
    if needed_by == EVALUATION:
        from propagation.evaluation.protocols.passes import compile_pass as warm_up
    else:
        from propagation.workflow.warm_up import warm_up
    return warm_up


def _report_compiled(
    needed_by: str, progress: Callable[[int, int | None], None]
) -> AbstractContextManager[None]:
    """Report each compiled kernel, and how many there are in all."""
    from numba.core.dispatcher import Dispatcher
    from numba.core.event import Listener, install_listener

    _warm_up_of(needed_by)  # imports the kernels
    kernels = [
        kernel
        for name, module in list(sys.modules.items())
        if name.startswith(PACKAGES[needed_by])
        for kernel in vars(module).values()
        if isinstance(kernel, Dispatcher)
        and kernel.py_func.__module__ == name
        and kernel.targetoptions.get("inline") != "always"
    ]

    class Count(Listener):
        def on_start(self, event: Any) -> None:
            pass

        def on_end(self, event: Any) -> None:
            progress(sum(bool(kernel.signatures) for kernel in kernels), len(kernels))

    counting: AbstractContextManager[None] = install_listener("numba:compile", Count())
    return counting


async def fill_kernel_cache(
    needed_by: str, stopping: asyncio.Event, report: Callable[[str], object]
) -> None:
    """Compile the kernels, unless the service is told to stop meanwhile.

    A child process compiles, because a thread that compiles cannot be ended. Kernels that it fails
    to compile are compiled when they are first used.

    Args:
        report: Called with each line that the child prints.

    Raises:
        StartCancelled: `stopping` was set before the end.
    """
    from propagation.workflow.concurrency import run_in_background  # not needed by the command line

    child = await asyncio.create_subprocess_exec(
        *build_bound_command("services.runtime.kernel_cache", needed_by),
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
            child.kill()
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
    for one in needed_by or (SERVICE,):
        compile_kernels(one)
    print_error(f"kernels ready after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it ends at once; while it compiles, Python waits
    main(*sys.argv[1:])
