"""The entry point of `propagation`."""

import os
import signal
import sys


def run() -> None:
    """Run the command line and exit with a code of exits.py.

    --debug may stand anywhere.
    """
    # A signal within the imports ends the process at once. As an exception it would print a stack
    # trace, or a callback of an import would swallow it. 130 is also the exit code in
    # interruption.py. It is not imported from there: that takes 8 ms, in which a signal would print
    # a stack trace, too.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(130))
    from services.runtime.kernel_cache import use_kernel_cache

    use_kernel_cache()
    from propagation.forced_exit import clean_up_now
    from services.cli.app import app
    from services.cli.exits import run_command

    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    code = run_command(
        lambda: app(arguments or ["--help"], prog_name="propagation", standalone_mode=False),
        debug="--debug" in sys.argv,
    )
    # Python's own shutdown takes two seconds on a busy machine, stops the thread that limits the
    # time after a signal, and turns a signal into a stack trace.
    clean_up_now()
    os._exit(code)


if __name__ == "__main__":
    run()
