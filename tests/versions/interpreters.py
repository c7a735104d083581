"""A search for the Pythons of this machine."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

# Modules that an environment and the tests need; some builds of Python lack one of them.
QUESTION = (
    "import ensurepip, sqlite3, ssl, venv, platform, sys;"
    "print(sys.implementation.name, platform.python_version(), sys.executable)"
)
ANSWER_SECONDS = 60
NAME = re.compile(r"python3(\.\d+)?")


@dataclass(frozen=True)
class Interpreter:
    """A Python that can make an environment."""

    version: Version
    path: Path

    @property
    def minor(self) -> tuple[int, int]:
        """Major and minor version; the last number makes no difference."""
        return self.version.major, self.version.minor

    def __str__(self) -> str:
        return f"Python {self.version} ({self.path})"


def find_candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Find programs on PATH and in pyenv that may be Python 3."""
    for folder in environment.get("PATH", "").split(os.pathsep):
        programs = sorted(Path(folder).glob("python3*")) if folder else ()
        yield from (path for path in programs if NAME.fullmatch(path.name))
    root = environment.get("PYENV_ROOT") or Path(environment.get("HOME", "/")) / ".pyenv"
    yield from sorted(Path(root).glob("versions/*/bin/python3"))


def ask_interpreter(path: Path) -> Interpreter | None:
    """Ask a program which Python it is.

    Returns:
        None if the program does not answer, or is no CPython. A command of pyenv may exist without
        a version behind it; Debian's Python may lack the modules that make environments.
    """
    try:
        asked = subprocess.run(
            [path, "-I", "-c", QUESTION],
            capture_output=True,
            text=True,
            check=True,
            timeout=ANSWER_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    name, _, rest = asked.stdout.strip().partition(" ")
    version, _, executable = rest.partition(" ")
    return Interpreter(Version(version), Path(executable)) if name == "cpython" else None


def choose_oldest_and_newest(
    interpreters: Iterable[Interpreter], requirement: SpecifierSet
) -> list[Interpreter]:
    """Return an interpreter of the oldest and of the newest supported version.

    Of each version the first one found is taken.

    Returns:
        Two interpreters, or one or none if there are no more versions.
    """
    by_minor: dict[tuple[int, int], Interpreter] = {}
    for interpreter in interpreters:
        if interpreter.version in requirement and not interpreter.version.is_prerelease:
            by_minor.setdefault(interpreter.minor, interpreter)
    ordered = [by_minor[minor] for minor in sorted(by_minor)]
    return ordered[:1] + ordered[1:][-1:]
