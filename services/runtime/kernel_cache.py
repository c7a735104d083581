"""Where numba keeps compiled kernels: a folder named by the kernels' own sources, so that no stale
one is ever used."""

import atexit
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

KERNELS = ("evaluation/kernels", "numbers")


def kernels_are_kept() -> bool:
    """Whether an earlier process compiled some. (The folder itself is there as soon as one is
    imported.)"""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return not folder or any(Path(folder).rglob("*.nbi"))


def use_kernel_cache() -> None:
    """Call before anything imports numba. NUMBA_CACHE_DIR, where set, is the parent folder; a child
    process that finds it named by its own parent process keeps it. Kernels in a folder that cannot
    be written (a container's image) are copied to one that goes with this process: numba does not
    read what it could not write."""
    library = Path(__file__).parent.parent.parent / "propagation"
    sources = sorted(source for package in KERNELS for source in (library / package).rglob("*.py"))
    digest = hashlib.blake2b(
        b"".join(source.read_bytes() for source in sources), digest_size=6
    ).hexdigest()
    parent = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "propagation-kernels"
    )
    if os.path.basename(parent) != digest:
        kept = os.path.join(parent, digest)
        os.environ["NUMBA_CACHE_DIR"] = (
            _copied(kept, digest) if os.path.isdir(kept) and not os.access(kept, os.W_OK) else kept
        )


def _copied(kept: str, digest: str) -> str:
    folder = tempfile.mkdtemp(prefix="kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return shutil.copytree(kept, os.path.join(folder, digest))
