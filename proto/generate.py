"""Generate propagation/v1 from proto/: `python -m proto.generate`."""

import os
import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).parent.parent
SOURCE = "propagation/v1/propagation.proto"


def generate(out: Path) -> None:
    """Write messages, stubs and their types under `out`; exit if protoc fails."""
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
    """Write the description of the API to the file `out`, as a FileDescriptorSet."""
    _run(f"--descriptor_set_out={out}")


def _run(*outputs: str) -> None:
    well_known = files("grpc_tools") / "_proto"
    if protoc.main(["protoc", f"-I{ROOT / 'proto'}", f"-I{well_known}", *outputs, SOURCE]):
        sys.exit(f"protoc cannot compile proto/{SOURCE}")


if __name__ == "__main__":
    generate(ROOT)
