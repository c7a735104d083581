"""Compilation of kernels by several processes at once.

`python -m services.runtime.kernel_compiler service` is one of these processes. It takes the numbers
of parts of the warm-up from stdin, a byte each, and prints what is compiled.
"""

import fcntl
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from propagation.errors import PropagationError
from propagation.usable_cores import count_usable_cores
from services.runtime.bound_process import build_bound_command

SERVICE, EVALUATION = "service", "evaluation"
# The packages whose kernels are counted, by the program that needs them.
PACKAGES = {
    SERVICE: ("propagation.numbers.",),
    EVALUATION: ("propagation.evaluation.kernels.", "propagation.numbers."),
}
# How many parts each of them has; to list the parts, a process must import numba.
PARTS = {SERVICE: 5, EVALUATION: 1}
# A third process would compile again what the first two are compiling.
MOST_COMPILERS = 2
ID_BYTES = 5


class CompilerFailed(PropagationError):
    """A process that compiles kernels ended before its work was done."""


def run_compilers(needed_by: tuple[str, ...], progress: Callable[[int, int | None], None]) -> None:
    """Compile what the cache lacks, on two cores if there are two.

    All processes read one pipe of part numbers, so that each part is compiled by one of them. What
    is compiled is in the cache even if this call fails.

    Args:
        progress: Called with the number of compiled kernels, and of all.

    Raises:
        CompilerFailed: A process failed; it has printed why.
    """
    parts = sum(PARTS[one] for one in needed_by)
    numbers, queue = os.pipe()
    os.write(queue, bytes(range(parts)))
    os.close(queue)
    reports, report = os.pipe()
    compilers: list[subprocess.Popen[bytes]] = []
    try:
        with open(reports, encoding="utf-8") as lines:
            try:
                for _ in range(min(MOST_COMPILERS, parts, count_usable_cores())):
                    command = build_bound_command("services.runtime.kernel_compiler", *needed_by)
                    compilers.append(subprocess.Popen(command, stdin=numbers, stdout=report))
            finally:
                os.close(numbers)
                os.close(report)
            compiled: set[str] = set()
            for line in lines:  # ends when the last process does
                total, kernel = line.split()
                if kernel not in compiled:
                    compiled.add(kernel)
                    progress(len(compiled), int(total))
        codes = [compiler.wait() for compiler in compilers]
        if any(codes):
            raise CompilerFailed(
                f"a process that compiles kernels ended with exit code {max(codes, key=abs)}"
            )
    finally:
        for compiler in compilers:
            compiler.kill()
            compiler.wait()


def share_cache() -> None:
    """Let this process and others fill numba's cache at once.

    Call it before the first kernel is compiled or loaded. It protects the warm-up alone: kernels
    that a program compiles later, because the warm-up failed, are compiled without it. Numba was
    not made for several processes that fill one cache, in two respects:

    - `IndexDataCacheFile.save` reads the index of a kernel, adds an entry and writes the index. Of
      two processes one may lose the other's entry, or give both entries one file, so that a
      signature gets the machine code of another. A lock around it is enough, because it reads the
      index first. Readers need no lock: files are replaced as wholes, and an entry whose file is
      not there yet counts as missing.
    - The symbol of a function is its qualified name, its types and a number that each process
      counts from one. Closures of one name that two processes compiled may so have one symbol, and
      a process that loads both calls one of them in place of the other. Each process therefore
      counts from a number of its own.
    """
    from numba.core.bytecode import FunctionIdentity
    from numba.core.caching import IndexDataCacheFile

    if not hasattr(FunctionIdentity, "_unique_ids"):
        raise RuntimeError("this numba numbers functions in another way; see share_cache")
    save: Callable[[Any, object, object], None] = IndexDataCacheFile.save

    def save_alone(self: Any, key: object, data: object) -> None:
        with hold_lock(self._cache_path):
            save(self, key, data)

    IndexDataCacheFile.save = save_alone  # type: ignore[method-assign]
    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(ID_BYTES)) + 1)


@contextmanager
def hold_lock(folder: str | Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a folder's lock; the system frees it if the process dies.

    Args:
        on_wait: Called if another process holds it.
    """
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _list_parts(needed_by: tuple[str, ...]) -> list[Callable[[], None]]:
    """Return the parts of the warm-up, the first to begin first."""
    parts: list[Callable[[], None]] = []
    if SERVICE in needed_by:
        from propagation.workflow import warm_up

        parts += warm_up.PARTS
    if EVALUATION in needed_by:
        from propagation.evaluation.protocols.passes import compile_pass

        parts.append(compile_pass)
    if len(parts) != sum(PARTS[one] for one in needed_by):
        raise RuntimeError(f"PARTS must say that {' and '.join(needed_by)} have {len(parts)} parts")
    return parts


@contextmanager
def _report_compiled(needed_by: tuple[str, ...]) -> Iterator[Callable[[], None]]:
    """Within the block, print each kernel once, when it is ready.

    Yields a function that prints those that were loaded since.
    """
    from numba.core.dispatcher import Dispatcher
    from numba.core.event import Listener, install_listener

    packages = tuple({package for one in needed_by for package in PACKAGES[one]})
    kernels = {
        f"{name}.{kernel.py_func.__name__}": kernel
        for name, module in list(sys.modules.items())
        if name.startswith(packages)
        for kernel in vars(module).values()
        if isinstance(kernel, Dispatcher)
        and kernel.py_func.__module__ == name
        and kernel.targetoptions.get("inline") != "always"
    }
    total, printed = len(kernels), set[str]()

    def report() -> None:
        ready = {name for name, kernel in kernels.items() if kernel.signatures} - printed
        printed.update(ready)
        # One write, so that lines of two processes do not mix.
        os.write(1, "".join(f"{total} {name}\n" for name in ready).encode())

    class OnCompiled(Listener):
        def on_start(self, event: Any) -> None:
            pass

        def on_end(self, event: Any) -> None:
            report()

    with install_listener("numba:compile", OnCompiled()):
        yield report


def main(*needed_by: str) -> None:
    """Compile parts until none is left."""
    share_cache()
    parts = _list_parts(needed_by)
    with _report_compiled(needed_by) as report:
        while number := os.read(0, 1):
            parts[number[0]]()
            report()


if __name__ == "__main__":
    main(*sys.argv[1:])
