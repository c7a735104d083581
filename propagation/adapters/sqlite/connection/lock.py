"""The lock that lets one process hold a database.

It is on the lock file beside the database, which names the holder, and on the database file itself,
whatever it is called (a hard link) and whatever became of the lock file.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from propagation.model import StoreBusy

# SQLite locks with fcntl. On Linux flock's locks have nothing to do with those; elsewhere they may
# be the same.
FILE_TOO = sys.platform == "linux"
LOCKS = Path("/proc/locks")


@contextmanager
def hold_database(path: Path) -> Iterator[None]:
    """Hold a database, so that no other process serves it.

    The database need not exist yet. Leave the body when every connection is closed: closing any
    descriptor of a file drops all fcntl locks that the process has on it, SQLite's included. A body
    that fails leaves no lock file where there was none.

    Raises:
        StoreBusy: Another process holds it; the message names it.
    """
    lock_file = _lock_file(path)
    existed = lock_file.exists()
    handles = _take_lock(path)
    try:
        yield
    except BaseException:
        if not existed:
            lock_file.unlink(missing_ok=True)
        raise
    finally:
        for handle in reversed(handles):
            os.close(handle)


def _lock_file(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _take_lock(path: Path) -> list[int]:
    """Return the files that are locked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock_handle = os.open(_lock_file(path), os.O_RDWR | os.O_CREAT, 0o600)
    if not _try_lock(lock_handle):
        holder = os.read(lock_handle, 64).decode()
        os.close(lock_handle)
        raise _busy(path, holder)
    # The last holder failed, and removed the file between its opening and its locking here.
    if not os.fstat(lock_handle).st_nlink:
        os.close(lock_handle)
        return _take_lock(path)
    handles = [lock_handle]
    if FILE_TOO and path.exists():
        handles.append(itself := os.open(path, os.O_RDONLY))
        if not _try_lock(
            itself
        ):  # left open: it may be this process whose locks its closing would drop
            os.close(lock_handle)
            raise _busy(path, _holder_of(itself))
    os.ftruncate(lock_handle, 0)
    os.write(lock_handle, f"process {os.getpid()}".encode())
    return handles


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder_of(handle: int) -> str:
    """Return the process that the kernel names as the holder.

    A line is `7: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF`, with the file's inode last in the
    sixth column. The process is 0 or less if it runs in another container.
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


def _busy(path: Path, holder: str) -> StoreBusy:
    return StoreBusy(
        f"{path} is held by {holder or 'another process'}; stop it, or name another file with "
        "--database"
    )
