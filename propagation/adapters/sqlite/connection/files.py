"""Files that get their final names once complete and on disk, and back-ups.

A back-up is a database file with a digest at its end, behind the pages.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b, file_digest
from pathlib import Path

from propagation.forced_exit import clean_up_by
from propagation.model import PropagationError, StoreCorrupt

PARTIAL = ".partial"
SIDE_FILES = ("-wal", "-shm", "-journal")
MARK, END, HEX_CHARS = b"\npropagation back-up, blake2b ", b"\n", 64
SIZE = len(MARK) + HEX_CHARS + len(END)
PAGE_BYTES = 512  # a database has a multiple of this, and so never the size of a back-up
CHUNK_BYTES = 4 << 20


@contextmanager
def write_atomically(final: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a path to write to, which becomes `final` on success.

    It is removed when the body fails. What a killed process left there is removed first. If `final`
    is a link, its target is replaced.

    Raises:
        PropagationError: `final` exists and may not be replaced, is no file, or is in no folder.
    """
    final = final.resolve()
    if final.exists() and not final.is_file():
        raise PropagationError(f"{final} is no file and is left alone; name a file")
    if final.exists() and not replace:
        raise PropagationError(
            f"{final} is there already and would be overwritten; name another file, or say --force"
        )
    if not final.parent.is_dir():
        raise PropagationError(f"{final.parent} is no folder; make it, or name another file")
    drop_partial_files(final)
    partial = final.with_name(final.name + PARTIAL)
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT, 0o600))
    with clean_up_by(lambda: drop_partial_files(final)):
        yield partial
        _sync(partial)
        os.replace(partial, final)
        _sync(final.parent)


def partial_files_of(final: Path) -> Sequence[Path]:
    """Return what a killed process left of this file.

    The caller keeps others from making it.
    """
    final = final.resolve()
    partial = final.with_name(final.name + PARTIAL)
    return [
        path
        for end in ("", *SIDE_FILES)
        if (path := partial.with_name(partial.name + end)).exists()
    ]


def drop_partial_files(final: Path) -> Sequence[Path]:
    """Remove what a killed process left, and return it.

    It may hold what is erased later. The caller keeps others from making the file.
    """
    left = partial_files_of(final)
    for path in left:
        path.unlink(missing_ok=True)
    return left


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append_digest(path: Path) -> None:
    """Append the digest of a database file, which makes it a back-up."""
    with path.open("r+b") as file:
        digest = file_digest(file, _new_digest).hexdigest().encode()
        file.seek(0, os.SEEK_END)
        file.write(MARK + digest + END)


def is_backup(path: Path) -> bool:
    """Check whether a file ends with a digest, right or wrong."""
    size = path.stat().st_size
    if size % PAGE_BYTES != SIZE:
        return False
    with path.open("rb") as file:
        file.seek(size - SIZE)
        end = file.read()
    return end.startswith(MARK) and end.endswith(END)


def copy_checked(source: Path, target: Path, progress: Callable[[int, int], None]) -> None:
    """Copy the database out of a back-up.

    Args:
        progress: Called with (bytes done, all bytes).

    Raises:
        StoreCorrupt: The digest does not match: bytes were lost or changed.
    """
    digest, done, size = _new_digest(), 0, source.stat().st_size - SIZE
    with source.open("rb") as file, target.open("wb") as copy:
        while data := file.read(min(CHUNK_BYTES, size - done)):
            digest.update(data)
            copy.write(data)
            done += len(data)
            progress(done, size)
        if file.read() != MARK + digest.hexdigest().encode() + END:
            raise StoreCorrupt(
                f"{source} was changed after it was written: its digest is another; fetch this"
                " back-up again, or restore an earlier one: nothing was replaced"
            )


def _new_digest() -> blake2b:
    return blake2b(digest_size=HEX_CHARS // 2)
