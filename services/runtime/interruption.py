"""The end of a process after a signal, within a time limit."""

import os
import signal
import sys
import threading
import time
from types import FrameType

from propagation.forced_exit import clean_up_now

FORCED_SECONDS = 1.5
# An error may come before the thread that waits for the signal has its turn.
NOTICE_SECONDS = 0.1
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interruption:
    """Ends the process some time after its first SIGTERM or SIGINT.

    Python's own handlers unwind the stack, but only between two Python instructions in the main
    thread, and asyncio waits for its threads afterwards. So another thread counts the seconds. A
    pipe tells that thread of a signal at once.

    Attributes:
        exit_code: The exit code of a process that is ended by force.
    """

    exit_code = 130  # as after Ctrl-C
    _drain_seconds = 0.0

    def __init__(self) -> None:
        self._came = threading.Event()

    def start(self) -> None:
        """Let SIGTERM and SIGHUP do what Ctrl-C does.

        The process then ends within FORCED_SECONDS. A terminal that is closed sends SIGHUP. Call
        this in the main thread.
        """
        read, write = os.pipe()
        os.set_blocking(write, False)
        # If a callback of an import swallows Ctrl-C, Python would print a stack trace.
        sys.unraisablehook = lambda failed: (
            None if failed.exc_type is KeyboardInterrupt else sys.__unraisablehook__(failed)
        )
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, _handle_as_ctrl_c)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=self._watch, args=(read,), daemon=True).start()

    def drain(self, seconds: float) -> None:
        """Give the process more seconds after a signal, to drain.

        If the process still runs after them, it is ended with exit code 1.
        """
        self._drain_seconds, self.exit_code = seconds, 1

    def explains_errors(self) -> bool:
        """Whether a signal came that can end what runs with any error.

        C code that calls Python may turn Ctrl-C into an error of its own: SQLite does in a query
        that calls our functions, and pydantic while it builds a model. While the process drains,
        signals raise nothing.
        """
        return not self._drain_seconds and self._came.wait(NOTICE_SECONDS)

    def _watch(self, pipe: int) -> None:
        while os.read(pipe, 1)[0] not in STOP_SIGNALS:
            pass
        self._came.set()
        time.sleep(FORCED_SECONDS)
        if self._drain_seconds:
            time.sleep(self._drain_seconds)
            os.write(
                sys.stderr.fileno(),
                b"propagation: not stopped in time: cut off; what was acknowledged is stored\n",
            )
        clean_up_now()
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), b"\x1b[?25h")  # show the cursor: a progress bar hides it
        os._exit(self.exit_code)


def _handle_as_ctrl_c(_: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does, even in a background job that ignores Ctrl-C."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


interruption = Interruption()
