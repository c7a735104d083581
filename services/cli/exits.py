"""Exit codes, and the one place where an error becomes a line and a code."""

import os
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum

import typer
from typer.exceptions import TyperException

from propagation.model.errors import (
    NotFound,
    NotReached,
    PropagationError,
    StoreBusy,
    StoreUnreachable,
)
from services.client.errors import ChildFailed, Refused, Unreachable, UsageProblem


class ExitCode(IntEnum):
    """0 done · 1 something is wrong with what was looked at · 2 wrong use · 3 bad data or settings
    · 4 service, or the graph's server, unreachable · 5 database held by another process · 6 refused
    by the service · 70 a fault of this program · 130 interrupted."""

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
    (ChildFailed, ExitCode.FAULT),
    (StoreUnreachable, ExitCode.UNREACHABLE),
    (StoreBusy, ExitCode.BUSY),
    (Refused, ExitCode.REFUSED),
    (NotFound, ExitCode.REFUSED),
    (NotReached, ExitCode.REFUSED),
    (PropagationError, ExitCode.DATA),
)


def code_of(error: PropagationError) -> ExitCode:
    return next(code for kind, code in CODES if isinstance(error, kind))


def guarded(command: Callable[[], int | None], debug: bool) -> int:
    """Run a command; what it raises becomes one line on stderr and an exit code."""
    try:
        return command() or ExitCode.DONE
    except TyperException as error:
        return _said(_usage(error), ExitCode.USAGE, debug)
    except PropagationError as error:
        return _said(str(error), code_of(error), debug)
    except BrokenPipeError:
        return _reader_left()
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _said(f"{where}{error.strerror or error}", ExitCode.DATA, debug)
    except Exception as error:
        return _said(
            f"a fault of this program: {type(error).__name__}: {error}; run it again with --debug and report it",
            ExitCode.FAULT,
            debug,
        )


def _usage(error: TyperException) -> str:
    """The problem, and where to read what the command takes."""
    problem = getattr(error, "format_message", error.__str__)()
    context = getattr(error, "ctx", None)
    return (
        f"{problem.rstrip('.')}; see `{context.command_path if context else 'propagation'} --help`"
    )


def _reader_left() -> ExitCode:
    """`| head` closed the pipe: nothing more is to be written, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.DONE


def _said(message: str, code: ExitCode, debug: bool) -> ExitCode:
    if debug:
        traceback.print_exc()
    print("propagation:", " ".join(message.split()), file=sys.stderr)
    return code
