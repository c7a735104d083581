"""Reports of a folder: which of its files may be read."""

import contextlib
import html
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

SUFFIX = ".html"
MAX_DEPTH = 4
MAX_ENTRIES = 20_000
TITLE_BYTES = 16 << 10
# A report is a document of its own: it runs no script, sends nothing, and cannot reach this page.
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)


class NoSuchReport(Exception):
    """The folder has no report at this path. The text says so."""


@dataclass(frozen=True)
class ReportFile:
    """A report.

    Attributes:
        path: Its path in the folder, with slashes.
        size: Its bytes.
        modified: When it was written.
    """

    path: str
    size: int
    modified: datetime


@dataclass(frozen=True)
class ReportFolder:
    """The HTML files of a folder and of its folders.

    They are at most MAX_DEPTH folders deep. Hidden files, links that lead out of the folder, and
    names that are not UTF-8 are left out.
    """

    folder: Path

    def list_reports(self) -> list[ReportFile]:
        """List the reports, newest first; at most MAX_ENTRIES entries are looked at.

        Raises:
            OSError: The folder cannot be read.
        """
        root = self.folder.resolve(strict=True)
        os.scandir(root).close()
        return sorted(_walk(root), key=lambda report: (report.modified, report.path), reverse=True)

    def find(self, path: str) -> Path:
        """Return the file of a report.

        Raises:
            NoSuchReport: There is none in the folder at this path.
        """
        parts = path.split("/")
        if path.endswith(SUFFIX) and not any(part.startswith(".") or not part for part in parts):
            try:
                root = self.folder.resolve(strict=True)
                # Path.resolve ends a loop of links with RuntimeError on Python 3.11.
                file = Path(os.path.realpath(root.joinpath(*parts), strict=True))
                if file.is_relative_to(root) and file.is_file():
                    return file
            except (OSError, ValueError):
                pass  # no such file, a loop of links, or a name that no file has
        raise NoSuchReport("The folder of reports has no such report now.")

    def read_title(self, path: str) -> str:
        """Read the title of a report; empty if it has none."""
        try:
            with self.find(path).open("rb") as file:
                return find_title(file.read(TITLE_BYTES))
        except (NoSuchReport, OSError):
            return ""


def find_title(document: bytes) -> str:
    """Find the title of an HTML document; empty if it has none.

    Each search goes on where the one before ended, so a hostile document takes no longer.
    """
    tags = document.lower()
    begin = tags.find(b"<title")
    begin = tags.find(b">", begin) if begin >= 0 else -1
    end = tags.find(b"</title>", begin) if begin >= 0 else -1
    if end < 0:
        return ""
    return " ".join(html.unescape(document[begin + 1 : end].decode("utf-8", "replace")).split())


def _is_utf8(name: str) -> bool:
    """Tell whether a file's name can be written as UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _walk(root: Path) -> Iterator[ReportFile]:
    """Yield the reports below a folder; links are not followed."""
    seen = 0
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop(0)
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue  # the folder went away, or may not be read
        for entry in entries:
            seen += 1
            if seen > MAX_ENTRIES:
                return
            if entry.name.startswith(".") or not _is_utf8(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
                waiting.append((Path(entry.path), depth + 1))
            elif entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):  # it went away
                    state = entry.stat(follow_symlinks=False)
                    written = datetime.fromtimestamp(state.st_mtime, UTC)
                    path = Path(entry.path).relative_to(root).as_posix()
                    yield ReportFile(path, state.st_size, written)
