"""A back-up's digest, behind the pages of the database."""

import os
from collections.abc import Callable
from hashlib import blake2b, file_digest
from pathlib import Path

from propagation.model import StoreCorrupt

MARK, END, HEX_CHARS = b"\npropagation back-up, blake2b ", b"\n", 64
SIZE = len(MARK) + HEX_CHARS + len(END)
PAGE_BYTES = 512  # a database's size is a multiple of this, so a back-up's never is
CHUNK_BYTES = 4 << 20


def append_digest(path: Path) -> None:
    """Append the digest of a database file, which makes it a back-up."""
    with path.open("r+b") as file:
        digest = file_digest(file, _create_digest).hexdigest().encode()
        file.seek(0, os.SEEK_END)
        file.write(MARK + digest + END)


def is_backup(path: Path) -> bool:
    """Tell whether a file ends with a digest, right or wrong."""
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
    digest = _create_digest()
    done, size = 0, source.stat().st_size - SIZE
    with source.open("rb") as file, target.open("wb") as copy:
        while data := file.read(min(CHUNK_BYTES, size - done)):
            digest.update(data)
            copy.write(data)
            done += len(data)
            progress(done, size)
        if file.read() != MARK + digest.hexdigest().encode() + END:
            raise StoreCorrupt(
                f"{source} was changed after it was written: its digest does not match; fetch"
                " this back-up again, or restore an earlier one: nothing was replaced"
            )


def _create_digest() -> blake2b:
    return blake2b(digest_size=HEX_CHARS // 2)
