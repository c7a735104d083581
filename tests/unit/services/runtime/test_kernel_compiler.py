"""Two processes fill one cache at once, and what each compiled is loaded by others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.runtime import kernel_compiler
from services.runtime.kernel_compiler import EVALUATION, SERVICE, CompilerFailed, run_compilers

ROOT = Path(__file__).parents[4]
KERNEL = """
import numba
@numba.njit(cache=True)
def turn(x):
    return x[::-1].copy()
"""
CLOSURES = """
import os
import numba
def close_over(factor):
    @numba.njit("int64(int64)")
    def inner(x):  # it calls itself, so that it has a symbol of its own
        return factor if x <= 0 else inner(x - 1) + inner(x - 2) + factor
    return inner
inner_2 = close_over(2) if os.environ.get("FACTOR") == "2" else None
inner_3 = close_over(3) if os.environ.get("FACTOR") == "3" else None
@numba.njit(cache=True)
def call_2(x):
    return inner_2(x)
@numba.njit(cache=True)
def call_3(x):
    return inner_3(x)
"""
CALL = """
os.environ["FACTOR"] = sys.argv[2]
import closures
print(json.dumps([getattr(closures, f"call_{factor}")(3) for factor in sys.argv[2]]))
"""
SHARE = """
from services.runtime.kernel_compiler import share_cache
share_cache()
"""
START = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
"""
FILL = """
import kernels
os.read(0, 1)  # both begin now
for kind in json.loads(sys.argv[2]):
    kernels.turn(np.arange(5).astype(kind))
"""
LOAD = """
import kernels
turned = [kernels.turn(np.arange(5).astype(kind)) for kind in json.loads(sys.argv[2])]
print(json.dumps([
    sum(kernels.turn.stats.cache_misses.values()),
    [[one.dtype.str[1:], one.real.tolist()] for one in turned],
]))
"""
SAVE = """
from numba.core.caching import IndexDataCacheFile
cache = IndexDataCacheFile(cache_path=sys.argv[1], filename_base="kernel", source_stamp=1)
os.read(0, 1)
for number in range(int(sys.argv[2]), {keys}, 2):
    cache.save(number, -number)
"""
SAVE_WITHIN_A_SAVE = """
from numba.core.caching import IndexDataCacheFile
first, second = (
    IndexDataCacheFile(cache_path=sys.argv[1], filename_base="kernel", source_stamp=1)
    for _ in range(2)
)
load = first._load_index
def load_and_let_the_other_save():
    found = load()
    second.save(1, -1)
    return found
first._load_index = load_and_let_the_other_save
first.save(0, 0)
"""
READ = """
from numba.core.caching import IndexDataCacheFile
cache = IndexDataCacheFile(cache_path=sys.argv[1], filename_base="kernel", source_stamp=1)
print(json.dumps([cache.load(number) for number in range({keys})]))
"""
KINDS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "f4", "f8", "c8")
KEYS = 600


def start(program, folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", START + program, str(folder), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT)},
        text=True,
    )


def finish(*processes):
    """Let processes begin at once; return what each printed."""
    for process in processes:
        process.stdin.write(".")
        process.stdin.flush()
    printed = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return printed


def test_entries_that_two_processes_save_at_once_are_all_kept(tmp_path):
    program = SHARE + SAVE.format(keys=KEYS)
    finish(*(start(program, tmp_path, str(first)) for first in range(2)))
    (read,) = finish(start(READ.format(keys=KEYS), tmp_path))
    assert json.loads(read) == [-number for number in range(KEYS)]


def test_numba_alone_loses_an_entry_that_is_saved_while_another_is(tmp_path):
    """If this fails, numba has become safe, and the lock may go."""
    finish(start(SAVE_WITHIN_A_SAVE, tmp_path))
    (read,) = finish(start(READ.format(keys=2), tmp_path))
    assert json.loads(read) != [0, -1]


@pytest.mark.slow
def test_every_signature_that_two_processes_compile_at_once_loads_its_own_code(tmp_path):
    for turn in range(4):
        folder = tmp_path / str(turn)
        folder.mkdir()
        (folder / "kernels.py").write_text(KERNEL)
        finish(*(start(SHARE + FILL, folder, json.dumps(KINDS[half::2])) for half in range(2)))
        misses, turned = json.loads(*finish(start(LOAD, folder, json.dumps(KINDS))))
        assert misses == 0
        assert turned == [[kind, [4, 3, 2, 1, 0]] for kind in KINDS]


def call_closures_of_two_processes(folder, prepare):
    """Compile a closure in each of two processes; return what a third makes of both."""
    (folder / "closures.py").write_text(CLOSURES)
    for factor, expected in (("2", "[18]\n"), ("3", "[27]\n")):
        assert finish(start(prepare + CALL, folder, factor)) == [expected]
    return json.loads(*finish(start(CALL, folder, "23")))


@pytest.mark.slow
def test_closures_of_one_name_from_two_processes_are_told_apart(tmp_path):
    assert call_closures_of_two_processes(tmp_path, SHARE) == [18, 27]


@pytest.mark.slow
def test_numba_alone_mistakes_one_closure_for_another(tmp_path):
    """If this fails, symbols are unique without our numbers."""
    assert call_closures_of_two_processes(tmp_path, "") == [18, 18]


@pytest.mark.slow
def test_a_process_that_fails_is_an_error(monkeypatch, capfd):
    monkeypatch.setitem(kernel_compiler.PARTS, EVALUATION, 2)
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.devnull)  # no folder
    with pytest.raises(CompilerFailed, match="exit code 1"):
        run_compilers((EVALUATION,), lambda done, total: None)
    assert "Error" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("cores", "processes"), [(1, 1), (2, 2), (8, 2)])
def test_processes_are_as_many_as_cores_at_most_two_and_their_kernels_are_counted_once(
    monkeypatch, cores, processes
):
    started, told = [], []

    def start_compiler(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(kernel_compiler, "count_usable_cores", lambda: cores)
    monkeypatch.setattr(kernel_compiler.subprocess, "Popen", start_compiler)
    run_compilers((SERVICE, EVALUATION), lambda done, total: told.append((done, total)))
    assert len(started) == processes
    assert len({total for _, total in told}) == 1
    # Each kernel once; those that only other kernels call are not loaded.
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
