"""A file has its name once everything is in it, and is on disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def whole(handle: int, beside: Path, final: Path) -> Iterator[TextIO]:
    """To write UTF-8 to: `beside`, which is open as `handle`. It becomes `final` when the body ends
    well, and goes when it fails."""
    with open(handle, "w", encoding="utf-8") as file:
        try:
            yield file
            file.flush()
            os.fsync(handle)
            beside.replace(final)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
