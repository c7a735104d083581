"""Run a module as a program that ends with its parent.

`python -m services.runtime.bound_process PARENT MODULE ARGUMENTS`. The child itself asks the kernel
to be killed with its parent. A preexec_fn in the parent would make the parent fork, which a process
with open gRPC channels must not do.
"""

import ctypes
import os
import runpy
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
PARENT_CHECK_SECONDS = 0.5


def build_bound_command(module: str, *arguments: str) -> tuple[str, ...]:
    """Return a command that runs a module and ends with this process."""
    parent = str(os.getpid())
    return (sys.executable, "-m", "services.runtime.bound_process", parent, module, *arguments)


def bind_to_parent(parent: int) -> None:
    """Let this process be killed when its parent ends.

    On Linux the kernel kills it; elsewhere a thread keeps checking that the parent still runs.

    Args:
        parent: Process id of the parent.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # the parent ended before the kernel was asked
        os.kill(os.getpid(), signal.SIGKILL)


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _, number, name, *rest = sys.argv
    sys.argv = [name, *rest]
    # These signals reach a whole process group; only the parent or the kernel ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    bind_to_parent(int(number))
    runpy.run_module(name, run_name="__main__", alter_sys=True)
