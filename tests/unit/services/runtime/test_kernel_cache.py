"""Kernels that were compiled into an image are used from there, though nothing can be written to
it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
LOOK = """
import os, sys
from services.runtime.kernel_cache import use_kernel_cache
use_kernel_cache()
folder = os.environ["NUMBA_CACHE_DIR"]
sys.path.insert(0, sys.argv[1])
import kernel
kernel.twice(4)
print(folder, os.access(folder, os.W_OK), sum(kernel.twice.stats.cache_hits.values()))
"""
KERNEL = """
import numba
@numba.njit(cache=True)
def twice(x):
    return 2 * x
"""
READ_ONLY = [
    "unshare",
    "--mount",
    "--map-root-user",
    "sh",
    "-ec",
    'mount --bind "$0" "$0"; mount -o remount,ro,bind "$0"; exec "$@"',
]


def looked(folder, around=()):
    environment = {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "PYTHONPATH": str(ROOT),
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [*around, sys.executable, "-c", LOOK, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    where, writable, hits = done.stdout.split()
    return Path(where), writable == "True", int(hits)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_copied_for_as_long_as_the_process_lives(tmp_path):
    if subprocess.run(
        [*READ_ONLY, str(tmp_path), "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("this machine lets nobody mount a folder read-only")
    (tmp_path / "kernel.py").write_text(KERNEL)
    kept, writable, hits = looked(tmp_path)
    assert (kept.parent, writable, hits) == (tmp_path / "kernels", True, 0)
    copied, writable, hits = looked(tmp_path, [*READ_ONLY, str(tmp_path)])
    assert (copied.name, writable, hits) == (kept.name, True, 1)
    assert copied.parent != kept.parent
    assert not copied.parent.exists()
