"""Runs a method's program, and ends it when the run ends.

`python supervisor.py COMMAND...`, in a session of its own. Its input is a pipe that the run holds
open and writes nothing to. The kernel closes it however the run ends, also by kill -9. It needs
nothing but the standard library.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

NOT_STARTED = 127


def supervise(command: Sequence[str]) -> int:
    """Run a command until it ends, or until the input is closed.

    If the input is closed first, this process group is killed, this process included: the command
    with all that it started.

    Returns:
        The command's exit code, negative if a signal ended it.
    """
    try:
        program = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        print(f"{command[0]} cannot be started: {error.strerror}", file=sys.stderr)
        return NOT_STARTED
    threading.Thread(target=_end_with_input, daemon=True).start()
    return program.wait()


def _end_with_input() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    code = supervise(sys.argv[1:])
    if code < 0:  # end as the program did, so that the run says it
        with suppress(OSError):  # SIGKILL has no handler that could be reset
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
