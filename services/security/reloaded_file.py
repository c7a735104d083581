"""Files that are read again when they change."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from propagation.errors import PropagationError

CHECK_SECONDS = 1.0
T = TypeVar("T")
log = structlog.get_logger()


class ReloadedFiles(Generic[T]):
    """The parsed content of files, read again when a file changes.

    The files are checked at most once a second. If a changed file cannot be read, the content from
    before stays in force and the log says so, so that a half-written file locks no caller out.
    """

    def __init__(self, paths: tuple[Path, ...], read: Callable[[], T]) -> None:
        self._paths = paths
        self._read = read
        self._stamps = self._read_stat()
        self._content = read()
        self._checked_at = time.monotonic()
        self._problem = ""

    def current(self) -> T:
        """Return the content.

        The files are checked first, if the last check is a second old.
        """
        if time.monotonic() - self._checked_at >= CHECK_SECONDS:
            self.reload(if_changed=True)
        return self._content

    def reload(self, *, if_changed: bool = False) -> None:
        """Read the files now; with `if_changed` only if they have changed.

        An error is logged, with `if_changed` only if it is a new one; the content from before
        stays.
        """
        self._checked_at = time.monotonic()
        try:
            stamps = self._read_stat()
            if if_changed and stamps == self._stamps:
                return
            self._content = self._read()
            self._stamps, self._problem = stamps, ""
            log.info("files read again", files=[str(path) for path in self._paths])
        except (OSError, PropagationError) as error:
            if not if_changed or str(error) != self._problem:
                log.error(
                    "a changed file cannot be used; its earlier content stays", error=str(error)
                )
            self._problem = str(error)

    def _read_stat(self) -> list[tuple[int, ...]]:
        # A program can set a file's mtime back, as `cp -p` does, but not its ctime.
        return [
            (status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino)
            for status in (path.stat() for path in self._paths)
        ]
