"""Exit codes, and how an error becomes a line and a code."""

import sys
import traceback
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

from propagation.errors import (
    DamagedNumbers,
    NotFound,
    NotReached,
    PropagationError,
    StoreBusy,
    StoreUnreachable,
)
from services.client.errors import Refused, Unreachable, UsageProblem
from services.runtime.console import print_error
from services.runtime.interruption import interruption


class ExitCode(IntEnum):
    """Exit codes of the command line.

    0 done; 1 the command found a problem; 2 wrong use; 3 bad data or settings; 4 the service or the
    graph's server is unreachable; 5 another process holds the database; 6 the service refused; 70 a
    fault of this program; 130 interrupted.
    """

    DONE = 0
    WRONG = 1
    USAGE = 2
    DATA = 3
    UNREACHABLE = 4
    BUSY = 5
    REFUSED = 6
    FAULT = 70
    INTERRUPTED = 130


CODES: tuple[tuple[type[Exception], ExitCode], ...] = (
    (UsageProblem, ExitCode.USAGE),
    (Unreachable, ExitCode.UNREACHABLE),
    (StoreUnreachable, ExitCode.UNREACHABLE),
    (StoreBusy, ExitCode.BUSY),
    (Refused, ExitCode.REFUSED),
    (NotFound, ExitCode.REFUSED),
    (NotReached, ExitCode.REFUSED),
    (DamagedNumbers, ExitCode.WRONG),
    (PropagationError, ExitCode.DATA),
)


def run_command(command: Callable[[], int | None], debug: bool) -> int:
    """Run a command, and return its exit code.

    An error becomes one line on stderr and an exit code.
    """
    try:
        interruption.start()
        try:
            return command() or ExitCode.DONE
        finally:
            sys.stdout.flush()
    except TyperException as error:
        return _report_error(_describe_usage(error), ExitCode.USAGE, debug)
    except PropagationError as error:
        return _report_error(
            str(error), next(code for kind, code in CODES if isinstance(error, kind)), debug
        )
    except BrokenPipeError:
        return ExitCode.DONE  # `| head` closed the pipe
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _report_error(f"{where}{error.strerror or error}", ExitCode.DATA, debug)
    except Exception as error:
        if interruption.explains_errors():
            return ExitCode.INTERRUPTED
        return _report_error(
            (
                f"a fault of this program: {type(error).__name__}: {error}; run it again with "
                "--debug and report it"
            ),
            ExitCode.FAULT,
            debug,
        )


class Command(TyperCommand):
    """A command whose help is named in every usage error.

    typer alone would not name it if an option lacks its value.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; give the parser's errors the command's context."""
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            error.ctx = getattr(error, "ctx", None) or ctx  # type: ignore[attr-defined]
            raise


def _describe_usage(error: TyperException) -> str:
    """Return the problem, and where to read about the command."""
    problem = getattr(error, "format_message", error.__str__)().replace("Value error, ", "")
    context = getattr(error, "ctx", None)
    return (
        f"{problem.rstrip('.')}; see `{context.command_path if context else 'propagation'} --help`"
    )


def _report_error(message: str, code: ExitCode, debug: bool) -> ExitCode:
    if debug:
        print_error(*traceback.format_exc().splitlines())
    print_error(f"propagation: {' '.join(message.split())}")
    return code
