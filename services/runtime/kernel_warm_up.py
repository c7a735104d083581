"""Compile the kernels before several processes want them at once: `python -m
services.runtime.kernel_warm_up`.

Where none is kept yet, `python -m services.runtime.kernel_warm_up reading` compiles the half that
reads beside the half that learns, into a folder of its own: two processes that write to one at the
same moment may take each other's entries in its lists."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from services.runtime.kernel_cache import use_kernel_cache

READING, INTERRUPTED = "reading", 130
LIST, CODE = ".nbi", ".nbc"


def main(half: str | None) -> None:
    """Say how long it may take, and how long it took."""
    use_kernel_cache()
    kept = Path(os.environ["NUMBA_CACHE_DIR"])
    if half == READING:
        from propagation.workflow.warm_up import warm_reading

        warm_reading()
        return
    start = time.monotonic()
    if kept.exists():
        sys.stderr.write("looking for kernels that are not compiled yet\n")
        from propagation.workflow.warm_up import warm_up

        warm_up()
    else:
        sys.stderr.write(
            "compiling kernels, once: over a minute on two idle cores, two on one, more on a busy machine\n"
        )
        _both_halves(kept)
    sys.stderr.write(f"kernels ready after {time.monotonic() - start:.0f} s\n")


def _both_halves(kept: Path) -> None:
    """Side by side. Where the other process fails, its half is compiled when it is first wanted."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix="half-") as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        with subprocess.Popen(
            [sys.executable, "-m", "services.runtime.kernel_warm_up", READING], env=environment
        ) as other:
            try:
                from propagation.workflow.warm_up import warm_learning

                warm_learning()
                other.wait()
            finally:
                other.terminate()
        take_in(Path(folder) / kept.name, kept)


def take_in(found: Path, kept: Path) -> None:
    """What is `found` and not `kept`; of a kernel that is in both, the one that is kept stays."""
    for listed in found.rglob(f"*{LIST}"):
        home = kept / listed.parent.relative_to(found)
        if (home / listed.name).exists():
            continue
        home.mkdir(parents=True, exist_ok=True)
        for code in listed.parent.glob(f"{listed.stem}.*{CODE}"):
            code.replace(home / code.name)
        listed.replace(home / listed.name)


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
