"""The entry point of `propagation`."""

import sys

from services.runtime.interruption import INTERRUPTED, interruption


def run() -> None:
    """Run the command line and exit with a code of exits.py.

    --debug may stand anywhere.
    """
    try:
        interruption.start()
        from services.runtime.kernel_cache import use_kernel_cache

        use_kernel_cache()
        from services.cli.app import app
        from services.cli.exits import run_command
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)

    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    sys.exit(
        run_command(
            lambda: app(arguments or ["--help"], prog_name="propagation", standalone_mode=False),
            debug,
        )
    )


if __name__ == "__main__":
    run()
