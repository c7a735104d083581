"""The lock that lets one process hold a database.

Two files are locked: the lock file beside the database, which names the holder, and the database
file itself. The second lock works even if the database has another name (a hard link) or the lock
file was removed.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from propagation.model import StoreBusy

LOCKS = Path("/proc/locks")


@contextmanager
def hold_database(path: Path) -> Iterator[None]:
    """Hold a database, so that no other process serves it.

    The database need not exist yet. Close every connection before the body ends: closing any
    descriptor of a file drops all fcntl locks that the process has on the file, including SQLite's.
    If the body fails, a new lock file is removed again.

    Raises:
        StoreBusy: Another process holds the database; the message names the process.
    """
    lock_file = path.with_name(path.name + ".lock")
    existed = lock_file.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as handles:
        _take_lock(path, lock_file, handles)
        try:
            yield
        except BaseException:
            if not existed:
                lock_file.unlink(missing_ok=True)
            raise


def _take_lock(path: Path, lock_file: Path, handles: ExitStack) -> None:
    """Lock the database and its lock file; `handles` closes both."""
    lock_handle = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o600)
    handles.callback(os.close, lock_handle)
    if not _try_lock(lock_handle):
        raise _build_busy_error(path, os.read(lock_handle, 64).decode())
    # The last holder failed, and removed the lock file after it was opened and before it was locked
    # here.
    if not os.fstat(lock_handle).st_nlink:
        return _take_lock(path, lock_file, handles)
    # SQLite locks with fcntl. On Linux these locks are independent of flock's; elsewhere they may
    # be the same.
    if sys.platform == "linux" and path.exists():
        itself = os.open(path, os.O_RDONLY)
        if not _try_lock(itself):
            # Keep the handle open: if this process holds the database, closing drops its locks.
            raise _build_busy_error(path, _read_holder(itself))
        handles.callback(os.close, itself)
    os.ftruncate(lock_handle, 0)
    os.write(lock_handle, f"process {os.getpid()}".encode())


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read_holder(handle: int) -> str:
    """Return the process that the kernel names as the holder, or "".

    A line of /proc/locks is `7: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF`, with the file's inode
    last in the sixth column. The process is 0 or less if it runs in another container.
    """
    inode = str(os.fstat(handle).st_ino)
    for line in LOCKS.read_text().splitlines() if LOCKS.exists() else ():
        fields = line.split()
        if (
            len(fields) > 5
            and fields[1] == "FLOCK"
            and fields[5].rpartition(":")[2] == inode
            and fields[4].isdecimal()
        ):
            return f"process {fields[4]}" if fields[4] != "0" else ""
    return ""


def _build_busy_error(path: Path, holder: str) -> StoreBusy:
    return StoreBusy(
        f"{path} is held by {holder or 'another process'}; stop it, or name another file with "
        "--database"
    )
