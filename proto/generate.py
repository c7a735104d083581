"""Generate propagation/v1 from proto/, and the client's details of failures.

Run `python -m proto.generate`.
"""

import os
import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).parent.parent
PROTO = ROOT / "proto"
API, FAILURES = "propagation/v1/propagation.proto", "propagation_client/status.proto"


def generate(out: Path) -> None:
    """Write messages, stubs and their types under `out`; exit if protoc fails."""
    os.environ["PATH"] = os.pathsep.join(
        (str(Path(sys.executable).parent), os.environ.get("PATH", ""))
    )
    _run(
        PROTO,
        API,
        f"--python_out={out}",
        f"--grpc_python_out={out}",
        f"--mypy_out={out}",
        f"--mypy_grpc_out={out}",
    )
    _run(ROOT, FAILURES, f"--python_out={out}", f"--mypy_out={out}")


def descriptors(out: Path) -> None:
    """Write the API's description to `out`, as a FileDescriptorSet."""
    _run(PROTO, API, f"--descriptor_set_out={out}")


def _run(folder: Path, source: str, *outputs: str) -> None:
    well_known = files("grpc_tools") / "_proto"
    if protoc.main(["protoc", f"-I{folder}", f"-I{well_known}", *outputs, source]):
        sys.exit(f"protoc cannot compile {folder / source}")


if __name__ == "__main__":
    generate(ROOT)
