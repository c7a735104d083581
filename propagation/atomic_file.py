"""Files that get their final names once complete and on disk."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from propagation.errors import PropagationError
from propagation.forced_exit import clean_up_by

PARTIAL = ".partial"
SIDE_FILES = ("-wal", "-shm", "-journal")


@contextmanager
def write_atomically(final: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a path to write to, which becomes `final` on success.

    Only this user can read the partial file. Files that a killed process left there are removed
    first; if the body fails, so is the partial file. If `final` is a link, its target is replaced.

    Raises:
        PropagationError: `final` exists and may not be replaced, or is not a regular file; or its
            folder does not exist.
    """
    final = final.resolve()
    if final.exists() and not final.is_file():
        raise PropagationError(f"{final} is not a regular file; name another one")
    if final.exists() and not replace:
        raise PropagationError(
            f"{final} already exists; name another file, or use --force to replace it"
        )
    if not final.parent.is_dir():
        raise PropagationError(f"{final.parent} is not a folder; create it, or name another file")
    drop_partial_files(final)
    partial = final.with_name(final.name + PARTIAL)
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT, 0o600))
    with clean_up_by(lambda: drop_partial_files(final)):
        yield partial
        _sync_folder(partial)
        os.replace(partial, final)
        _sync_folder(final.parent)


def list_partial_files(final: Path) -> Sequence[Path]:
    """Return the partial files that a killed process left of `final`.

    The caller must keep other processes from writing `final` meanwhile.
    """
    final = final.resolve()
    partial = final.with_name(final.name + PARTIAL)
    return [
        path
        for end in ("", *SIDE_FILES)
        if (path := partial.with_name(partial.name + end)).exists()
    ]


def drop_partial_files(final: Path) -> Sequence[Path]:
    """Remove the partial files that a killed process left; return their paths.

    They must not stay, because they may hold clients that are erased later. The caller must keep
    other processes from writing `final` meanwhile.
    """
    partials = list_partial_files(final)
    for path in partials:
        path.unlink(missing_ok=True)
    return partials


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
