"""The version of this program."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

NAME = "preference-propagation"


@cache  # reading the installed metadata takes milliseconds
def release() -> str:
    """Return the installed package's version; "0+source" when run from the sources."""
    try:
        return version(NAME)
    except PackageNotFoundError:
        return "0+source"
