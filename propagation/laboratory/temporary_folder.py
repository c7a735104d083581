"""Temporary folders of methods.

If this process is killed, they stay until a later run removes them.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX, OWNER = "propagation-lab-", "owner.lock"


@contextmanager
def make_temporary_folder() -> Iterator[Path]:
    """Make a folder for the time of the body.

    This process holds a lock in it, which ends with the process, however it ends. So
    `remove_abandoned_folders` knows what nobody uses.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        # The lock is held before it has its name: nobody finds it free.
        beginning = folder / f"{OWNER}.new"
        with beginning.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            beginning.rename(folder / OWNER)
            yield folder


def remove_abandoned_folders() -> None:
    """Remove the folders of this user's processes that were killed.

    What cannot be removed stays: it is no reason to stop a run.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid == os.geteuid() and not _is_used(folder):
                shutil.rmtree(folder)


def _is_used(folder: Path) -> bool:
    """Return whether a process holds the folder's lock.

    Raises:
        OSError: There is no lock yet, or it cannot be read.
    """
    # A file that is no plain one must not make the run wait.
    handle = os.open(folder / OWNER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
