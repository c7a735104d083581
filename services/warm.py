"""Compile the kernels before several processes want them at once: `python -m services.warm`."""

import sys
import time

from services.kernel_cache import use_kernel_cache


def main() -> None:
    use_kernel_cache()
    from propagation.workflow.warm_up import warm_up

    start = time.monotonic()
    sys.stderr.write("compiling kernels where they are not kept yet (once, about half a minute)\n")
    warm_up()
    sys.stderr.write(f"kernels ready after {time.monotonic() - start:.0f} s\n")


if __name__ == "__main__":
    main()
