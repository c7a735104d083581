"""The server's parts in a cache folder, copied once by Maven."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
VERSION = "5.26.25"
CACHE = (
    Path(os.environ.get("NEO4J_SERVER_CACHE") or HERE.parents[1] / ".cache")
    / f"neo4j-server-{VERSION}"
)
NEEDED = ("java", "mvn")


def describe_missing_programs() -> str:
    """Say which programs are missing to run a Neo4j; "" if none."""
    absent = [name for name in NEEDED if shutil.which(name) is None]
    return f"{' and '.join(absent)} not found (Java 17 and Maven are needed)" if absent else ""


def prepare_jars() -> Path:
    """Return the folder of the server's jars.

    The first call on a machine downloads 118 MB, while other processes wait for it.
    """
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with CACHE.with_name(f"{CACHE.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not CACHE.exists():
            half = CACHE.with_name(f"{CACHE.name}.{os.getpid()}")
            subprocess.run(
                [
                    "mvn",
                    "--batch-mode",
                    "--quiet",
                    "--file",
                    str(HERE / "pom.xml"),
                    "dependency:copy-dependencies",
                    f"-DoutputDirectory={half}",
                ],
                check=True,
            )
            half.rename(CACHE)
    return CACHE


if __name__ == "__main__":
    lacking = describe_missing_programs()
    print(
        f"Left out: the tests of the Neo4j graph store: {lacking}."
        if lacking
        else "Not run here: the tests of the Neo4j graph store; `make test-neo4j` runs them."
    )
