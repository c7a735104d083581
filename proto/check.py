"""Check that generated code is current and the API compatible.

It serves the clients of the last release.

`python -m proto.check` checks; with `--release` it stores the API as the release that later ones
are compared with (proto/descriptors.binpb, without comments).
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from proto.compare import breaks
from proto.generate import ROOT, descriptors, generate

RELEASED = ROOT / "proto" / "descriptors.binpb"


def stale_files() -> Iterator[str]:
    """List generated files that differ from what their proto generates now."""
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        for made in sorted(Path(folder).rglob("*.py*")):
            path = made.relative_to(folder)
            committed = ROOT / path
            if not committed.exists() or committed.read_bytes() != made.read_bytes():
                yield f"{path} is out of date; run `make proto` and commit it"


def current() -> FileDescriptorSet:
    """Describe the API as proto/ defines it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "descriptors.binpb"
        descriptors(out)
        return FileDescriptorSet.FromString(out.read_bytes())


def released() -> FileDescriptorProto:
    """Read the description of the API of the last release."""
    return FileDescriptorSet.FromString(RELEASED.read_bytes()).file[0]


def main(arguments: list[str]) -> int:
    """Run the check, or store a release; return the exit code."""
    if arguments == ["--release"]:
        RELEASED.write_bytes(current().SerializeToString(deterministic=True))
        return 0
    problems = [*stale_files(), *breaks(released(), current().file[0])]
    for problem in problems:
        print(f"proto: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
