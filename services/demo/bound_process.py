"""Run a module as a program that ends with its parent.

`python -m services.demo.bound_process PARENT MODULE ARGUMENTS`. The child asks the kernel for this
itself: a preexec_fn would make the parent fork, which a process with open gRPC channels must not
do.
"""

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, module: str) -> None:
    """Run the module; the kernel sends SIGTERM when the parent dies (Linux).

    Args:
        parent: Process id of the parent.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it was gone before it could be asked for
            sys.exit(-signal.SIGTERM)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _, number, name, *rest = sys.argv
    sys.argv = [name, *rest]
    main(int(number), name)
