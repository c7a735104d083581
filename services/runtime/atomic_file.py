"""Files that appear under their name only when complete and on disk."""

# The SQLite store has a helper of its own: a fixed temporary name, which it finds after a kill.

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from propagation.forced_exit import clean_up_by


@contextmanager
def write_atomically(path: Path) -> Iterator[TextIO]:
    """Write a UTF-8 file, or replace one, in one step.

    Only this user can read it. It is written under a temporary name in the same folder, and removed
    if the body fails.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with (
        clean_up_by(lambda: partial.unlink(missing_ok=True)),
        open(handle, "w", encoding="utf-8") as file,
    ):
        yield file
        file.flush()
        os.fsync(handle)
        partial.replace(path)
