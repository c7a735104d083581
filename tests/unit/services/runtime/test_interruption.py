"""What ends with another error because of a signal was interrupted."""

import signal
import subprocess
import sys

import pytest

from services.cli.exits import ExitCode

IN_AN_IMPORT = """
class Interrupted:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), number)

def fail():
    type("Loaded", (), {"field": Interrupted()})
"""
IN_A_FUNCTION_OF_A_QUERY = """
def fail():
    connection = sqlite3.connect(":memory:")
    connection.create_function("interrupted", 0, lambda: os.kill(os.getpid(), number))
    connection.execute("SELECT interrupted()")
"""
WITHOUT_A_SIGNAL = """
def fail():
    raise sqlite3.OperationalError("user-defined function raised exception")
"""


def run_and_fail(defined, number=0):
    begin = "import os, sqlite3, sys\nfrom services.cli.exits import run_command"
    end = "sys.exit(run_command(fail, debug=False))"
    return subprocess.run(
        [sys.executable, "-c", "\n".join([begin, f"number = {number}", defined, end])],
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("defined", [IN_AN_IMPORT, IN_A_FUNCTION_OF_A_QUERY])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_error_after_a_signal_is_an_interruption(defined, number):
    ended = run_and_fail(defined, int(number))
    assert (ended.returncode, ended.stderr) == (ExitCode.INTERRUPTED, "")


def test_the_same_error_without_a_signal_is_a_fault():
    ended = run_and_fail(WITHOUT_A_SIGNAL)
    assert ended.returncode == ExitCode.FAULT
    assert "user-defined function raised exception" in ended.stderr
