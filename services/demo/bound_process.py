"""A module run as a program that ends with the process that started it: `python -m
services.demo.bound_process PARENT MODULE ARGUMENTS`.

The child asks for this itself: a preexec_fn would make its parent fork, which a process with open
gRPC channels must not."""

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, module: str) -> None:
    """`parent`: the process id that started this one. SIGTERM comes where it is killed and can end
    nothing itself (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it was gone before it could be asked for
            sys.exit(-signal.SIGTERM)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _, number, name, *rest = sys.argv
    sys.argv = [name, *rest]
    main(int(number), name)
