"""Kernels that were compiled into an image are used from there, though nothing can be written to
it."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from services.runtime import kernel_cache
from services.runtime.kernel_compiler import EVALUATION

ROOT = Path(__file__).parents[4]
LOOK = """
import os, sys
from services.runtime.kernel_cache import use_kernel_cache
use_kernel_cache()
folder = os.environ["NUMBA_CACHE_DIR"]
sys.path.insert(0, sys.argv[1])
if len(sys.argv) > 2:  # another processor than the one that compiled
    import llvmlite.binding
    llvmlite.binding.get_host_cpu_name = lambda: sys.argv[2]
import kernel
kernel.twice(4)
compiled = [name for parent, _, names in os.walk(folder) for name in names
            if not os.path.islink(os.path.join(parent, name))]
hits = sum(kernel.twice.stats.cache_hits.values())
print(folder, os.access(folder, os.W_OK), len(compiled), hits)
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


def read_image_variables():
    line = re.search(r"^ENV (.*)$", (ROOT / "Dockerfile").read_text(), re.M)[1]
    return dict(variable.split("=", 1) for variable in line.split())


def run_look(folder, around=(), processor=(), **variables):
    environment = {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "PYTHONPATH": str(ROOT),
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [*around, sys.executable, "-c", LOOK, str(folder), *processor],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    where, writable, compiled, hits = done.stdout.split()
    return Path(where), writable == "True", int(compiled), int(hits)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_linked_for_as_long_as_the_process_lives(tmp_path):
    if subprocess.run(
        [*READ_ONLY, str(tmp_path), "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("this machine lets nobody mount a folder read-only")
    (tmp_path / "kernel.py").write_text(KERNEL)
    kept, writable, compiled, hits = run_look(tmp_path)
    assert (kept.parent, writable, hits) == (tmp_path / "kernels", True, 0)
    assert compiled > 0
    linked, writable, compiled, hits = run_look(tmp_path, [*READ_ONLY, str(tmp_path)])
    assert (linked.name, writable, compiled, hits) == (kept.name, True, 0, 1)
    assert linked.parent != kept.parent
    assert not linked.parent.exists()


@pytest.mark.slow
def test_kernels_of_the_image_are_used_on_another_processor(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    generic = {"NUMBA_CPU_NAME": read_image_variables()["NUMBA_CPU_NAME"]}
    run_look(tmp_path, **generic)
    *_, compiled, hits = run_look(tmp_path, processor=["znver4"], **generic)
    assert (compiled, hits) == (2, 1), "an index and one kernel: those that were there"


@pytest.mark.slow
def test_kernels_of_one_processor_are_compiled_again_on_another(tmp_path):
    """Why the image names a processor, and that the other test sees the difference."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    run_look(tmp_path)
    *_, compiled, hits = run_look(tmp_path, processor=["x86-64-v2"])
    assert (compiled, hits) == (3, 0)


def start_filling(folder, *needed_by):
    return subprocess.Popen(
        [sys.executable, "-m", "services.runtime.kernel_cache", *needed_by],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )


def test_some_kernels_are_not_all(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (tmp_path / "learn.learn_block-1.py311.nbi").touch()
    assert not kernel_cache.has_compiled_kernels()


@pytest.fixture
def half_full(tmp_path):
    """Yield a cache that has the service's kernels, and not yet those of evaluations."""
    filled = Path(os.environ["NUMBA_CACHE_DIR"])
    leave_out = shutil.ignore_patterns("kernels_*", f"{EVALUATION}-*")
    return Path(shutil.copytree(filled, tmp_path / filled.name, ignore=leave_out))


@pytest.mark.slow
def test_two_commands_compile_once_after_one_was_killed_and_say_how_far_they_are(half_full):
    killed = start_filling(half_full, "evaluation")
    while not any(half_full.glob("kernels_*/*.nbi")):
        assert killed.poll() is None
        time.sleep(0.1)
    killed.kill()
    killed.communicate(timeout=60)
    assert not list(half_full.glob(f"{EVALUATION}-*.complete"))
    one = start_filling(half_full, "evaluation")
    assert one.stderr.readline() == "compiling kernels, once\n"
    other = start_filling(half_full, "evaluation")
    first, second = (process.communicate(timeout=600)[1] for process in (one, other))
    assert (one.returncode, other.returncode) == (0, 0), first + second
    lines = first.splitlines()
    told = r"kernels: .* passed; \d+ of \d+ done; about \d+ (s|min) left"
    assert any(re.fullmatch(told, line) for line in lines)
    assert second.splitlines()[:-1] == ["waiting for another process that is compiling kernels"]
    compiled = {path: path.stat().st_mtime_ns for path in half_full.rglob("*.nb*")}
    again = start_filling(half_full, "evaluation")
    assert again.communicate(timeout=60)[1] == "kernels ready after 0 s\n"
    assert compiled == {path: path.stat().st_mtime_ns for path in half_full.rglob("*.nb*")}
