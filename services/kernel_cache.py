"""Where numba keeps compiled kernels: a folder named by the kernels' own sources, so that no stale one is ever used."""

import hashlib
import os
from pathlib import Path

KERNELS = ("evaluation/kernels", "numbers")


def use_kernel_cache() -> None:
    """Call before anything imports numba. NUMBA_CACHE_DIR, where set, is the parent folder; a child process that finds it
    named by its own parent process keeps it."""
    library = Path(__file__).parent.parent / "propagation"
    sources = sorted(source for package in KERNELS for source in (library / package).glob("*.py"))
    digest = hashlib.blake2b(b"".join(source.read_bytes() for source in sources), digest_size=6).hexdigest()
    parent = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "propagation-kernels")
    if os.path.basename(parent) != digest:
        os.environ["NUMBA_CACHE_DIR"] = os.path.join(parent, digest)
