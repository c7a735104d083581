"""Which release this is."""

from importlib.metadata import PackageNotFoundError, version

PACKAGE = "preference-propagation"


def release() -> str:
    """The installed package's version; "0+source" where the sources run without being installed."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "0+source"
