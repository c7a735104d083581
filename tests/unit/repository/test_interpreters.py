"""The search for the oldest and the newest Python of a machine."""

import sys
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.versions.interpreters import (
    Interpreter,
    ask_interpreter,
    choose_oldest_and_newest,
    find_candidates,
)


def write_program(path, answer, status=0):
    """A program that answers like a Python."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
    path.chmod(0o755)
    return path


def choose_interpreters(environment, requirement=">=3.11"):
    interpreters = filter(None, map(ask_interpreter, find_candidates(environment)))
    return [
        str(one.path) for one in choose_oldest_and_newest(interpreters, SpecifierSet(requirement))
    ]


def test_path_and_the_versions_of_pyenv_are_searched(tmp_path):
    first, second, pyenv = tmp_path / "a", tmp_path / "b", tmp_path / "pyenv"
    write_program(first / "python3.12", "cpython 3.12.1 /a/3.12")
    write_program(second / "python3.12", "cpython 3.12.9 /b/3.12")
    write_program(second / "python3", "cpython 3.10.2 /b/3.10")
    write_program(pyenv / "versions/3.13.0/bin/python3", "cpython 3.13.0 /p/3.13")
    path = f"{first}:{second}:{tmp_path / 'absent'}:"
    assert choose_interpreters({"PATH": path}) == ["/a/3.12"], (
        "one version alone is oldest and newest"
    )
    assert choose_interpreters({"PATH": path, "PYENV_ROOT": str(pyenv)}) == ["/a/3.12", "/p/3.13"]
    pyenv.rename(tmp_path / ".pyenv")
    assert choose_interpreters({"PATH": path, "HOME": str(tmp_path)}) == ["/a/3.12", "/p/3.13"]
    assert choose_interpreters({"PATH": path}, ">=3.13") == []


def test_what_cannot_run_the_tests_is_left_out(tmp_path):
    write_program(tmp_path / "python3.11", "cpython 3.11.2 /3.11")
    write_program(tmp_path / "python3.12", "pypy 3.12.1 /pypy")
    write_program(tmp_path / "python3.13", "pyenv: python3.13: command not found", status=127)
    write_program(tmp_path / "python3.14", "cpython 3.14.0rc1 /3.14")
    write_program(tmp_path / "python3.13-config", "cpython 3.13.0 /config")
    assert choose_interpreters({"PATH": str(tmp_path)}) == ["/3.11"]


def test_versions_are_compared_as_numbers():
    found = [
        Interpreter(Version(version), Path(f"/{version}"))
        for version in ("3.9.1", "3.20.0", "3.11.4", "3.100.0")
    ]
    oldest, newest = choose_oldest_and_newest(found, SpecifierSet(">=3.11"))
    assert (str(oldest.version), str(newest.version)) == ("3.11.4", "3.100.0")


def test_this_python_is_one():
    found = ask_interpreter(Path(sys.executable))
    assert found is not None
    assert found.minor == sys.version_info[:2]
