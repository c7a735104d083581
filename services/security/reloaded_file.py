"""A file that is read again when it changes."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from propagation.model.errors import PropagationError

LOOK_SECONDS = 1.0
T = TypeVar("T")
Stamp = tuple[int, int, int]
log = structlog.get_logger()


class Watched(Generic[T]):
    """What `read` makes of files, looked at again at most once a second. Where they cannot be read
    again, what was read before stays in force, and the log says so: a half-written file locks
    nobody out."""

    def __init__(self, paths: tuple[Path, ...], read: Callable[[], T]) -> None:
        self._paths = paths
        self._read = read
        self._stamps = self._look()
        self._value = read()
        self._looked = time.monotonic()

    def now(self) -> T:
        """Is called once a call: looks at most once a second."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self.look_again()
        return self._value

    def look_again(self) -> None:
        """Now, whenever it was looked at last."""
        self._looked = time.monotonic()
        try:
            stamps = self._look()
            if stamps != self._stamps:
                self._value = self._read()
                self._stamps = stamps
                log.info("read again", files=[str(path) for path in self._paths])
        except (OSError, PropagationError) as error:
            log.error(
                "a changed file cannot be used; what it said before stays in force",
                error=str(error),
            )

    def _look(self) -> list[Stamp]:
        found = [path.stat() for path in self._paths]
        return [(status.st_mtime_ns, status.st_size, status.st_ino) for status in found]
