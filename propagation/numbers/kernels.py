"""How kernels are compiled.

Both decorators keep machine code on disk, and leave out wrappers that nobody uses: wrappers take a
fifth of the time of compilation, because each unpacks every array of its arguments.
"""

from functools import partial
from typing import Any

from numba import njit

kernel: Any = partial(njit, cache=True, no_cfunc_wrapper=True)
# Other kernels alone may call it: a call from Python would end the process.
inner_kernel: Any = partial(kernel, no_cpython_wrapper=True)
