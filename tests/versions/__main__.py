"""Run the fast tests on the oldest and the newest supported Python.

The version of this environment is left out, because `make test` runs on it.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.specifiers import SpecifierSet

from tests.versions.interpreters import ask_interpreter, choose_oldest_and_newest, find_candidates

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run the tests; return the exit code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirement = SpecifierSet(project["requires-python"])
    interpreters = filter(None, map(ask_interpreter, find_candidates(os.environ)))
    chosen = choose_oldest_and_newest(interpreters, requirement)
    if not chosen:
        print(f"no Python {requirement} is found here", file=sys.stderr)
        return 1
    print(f"of Python {requirement}, oldest and newest: {', '.join(map(str, chosen))}", flush=True)
    for interpreter in chosen:
        if interpreter.minor == sys.version_info[:2]:
            print(f"{interpreter}: `make test` runs the fast tests on this version", flush=True)
            continue
        folder = f"build/python{interpreter.version}"
        print(f"{interpreter}: the fast tests, in {folder}", flush=True)
        command = ["make", "test", f"VENV={folder}", f"PYTHON={interpreter.path}"]
        if subprocess.run(command, cwd=ROOT).returncode:
            print(f"{interpreter}: the fast tests failed", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
