"""Versions of the programs behind a run's report."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from services.runtime.process import release

PACKAGES = ("numpy", "numba")


def list_versions() -> Mapping[str, str]:
    """Return the versions of this service, of Python and of what computes."""
    found = {"preference-propagation": release(), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
