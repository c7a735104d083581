"""Files that a process removes when it ends without unwinding its stack."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_cleanups: dict[object, Callable[[], object]] = {}


@contextmanager
def clean_up_by(remove: Callable[[], object]) -> Iterator[None]:
    """Call `remove` at the block's end, or at a forced exit.

    At a forced exit another thread calls it.
    """
    key = object()
    _cleanups[key] = remove
    try:
        yield
    finally:
        try:
            remove()
        finally:
            del _cleanups[key]


def clean_up_now() -> None:
    """Call the functions that `clean_up_by` has not called yet, newest first."""
    for remove in reversed(list(_cleanups.values())):
        with suppress(Exception):  # the next one may still be removed
            remove()


@contextmanager
def create_temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a temporary folder, which is removed however the block ends."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    with clean_up_by(lambda: shutil.rmtree(folder, ignore_errors=True)):
        yield folder
