"""Versions of the programs that write a run's report."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from propagation.laboratory.code_version import digest_code, find_commit
from propagation.laboratory.methods.dependencies import CODE
from propagation.release import NAME, release

PACKAGES = ("numpy", "numba")


def list_versions() -> Mapping[str, str]:
    """List the versions of this program, of Python and of what computes."""
    found = {NAME: release(), CODE: digest_code()}
    if commit := find_commit():
        found["commit"] = commit
    found["python"] = platform.python_version()
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
