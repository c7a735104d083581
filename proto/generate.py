"""Generates propagation/v1 from proto/: `python -m proto.generate`."""

import os
import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).parent.parent
SOURCE = "propagation/v1/propagation.proto"


def generate(out: Path) -> None:
    """Messages, stubs and their types under `out`. Exits when protoc refuses."""
    os.environ["PATH"] = os.pathsep.join(
        (str(Path(sys.executable).parent), os.environ.get("PATH", ""))
    )
    _run(
        f"--python_out={out}",
        f"--grpc_python_out={out}",
        f"--mypy_out={out}",
        f"--mypy_grpc_out={out}",
    )


def descriptors(out: Path) -> None:
    """The API as a FileDescriptorSet, in the file `out`."""
    _run(f"--descriptor_set_out={out}")


def _run(*outputs: str) -> None:
    well_known = files("grpc_tools") / "_proto"
    if protoc.main(["protoc", f"-I{ROOT / 'proto'}", f"-I{well_known}", *outputs, SOURCE]):
        sys.exit(f"protoc refused {SOURCE}")


if __name__ == "__main__":
    generate(ROOT)
