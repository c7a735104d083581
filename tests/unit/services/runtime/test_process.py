"""What this process asks of Python and of the C library."""

import platform
import subprocess
import sys

import pytest

FREED = """
import numpy as np
from services.runtime.process import return_large_arrays

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

return_large_arrays()
np.ones(30 << 17)
below, above = np.ones(20 << 17), np.ones(20 << 17)
before = resident()
del below
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no mallopt")
def test_the_memory_of_a_large_array_is_given_back_wherever_it_lies():
    freed = subprocess.run(
        [sys.executable, "-c", FREED], capture_output=True, check=True, text=True
    ).stdout
    assert int(freed) > 19 << 20
