"""Files that appear under their name only when complete and on disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def write_atomically(handle: int, partial: Path, final: Path) -> Iterator[TextIO]:
    """Write a UTF-8 file under a temporary name, then rename it.

    Args:
        handle: The open descriptor of `partial`.
        partial: The temporary name, in the folder of `final`; removed if the body fails.
        final: The name once the body has ended.
    """
    with open(handle, "w", encoding="utf-8") as file:
        try:
            yield file
            file.flush()
            os.fsync(handle)
            partial.replace(final)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
