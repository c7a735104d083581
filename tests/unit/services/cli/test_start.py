"""The command line starts without what only some commands need."""

import subprocess
import sys

HEAVY = ("grpc", "numba", "numpy", "pydantic", "structlog")


def test_the_commands_load_nothing_heavy():
    """An import of one of these makes every command two to three times slower."""
    program = f"import sys, services.cli.app; print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
