"""Measure what each feature is worth: `python -m benchmarks.quality FOLDER [EVENTS]`."""

import importlib
import sys

from services.runtime.kernel_cache import use_kernel_cache

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    use_kernel_cache()  # before anything imports numba
    importlib.import_module("benchmarks.quality.left_out").main(*sys.argv[1:])
