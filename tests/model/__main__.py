"""Install the model and its server in an environment of their own, and run the tests on them.

`python -m tests.model laboratory` runs those of the laboratory in place of the service's.

Outside of CI, a platform without their packages leaves the tests out.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LOCK = HERE / "requirements.lock"
ENVIRONMENT = Path(os.environ.get("MODEL_ENVIRONMENT") or Path(sys.prefix) / "model")
NO_PACKAGE = "No matching distribution found"


def install() -> str:
    """Install what the lock names, unless this lock is installed.

    Returns:
        The error of pip; "" if all is there.
    """
    installed = ENVIRONMENT / LOCK.name
    if installed.exists() and installed.read_bytes() == LOCK.read_bytes():
        return ""
    subprocess.run(
        [sys.executable, "-m", "venv", "--clear", "--without-pip", ENVIRONMENT], check=True
    )
    command = [sys.executable, "-m", "pip", "--python", ENVIRONMENT / "bin" / "python", "install"]
    command += ["--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps"]
    command += ["--only-binary", ":all:", "--require-hashes", "--requirement", LOCK]
    asked = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if asked.returncode:
        return asked.stderr.strip() or f"pip ended with {asked.returncode}"
    installed.write_bytes(LOCK.read_bytes())
    return ""


def main() -> int:
    """Run the tests; return the exit code."""
    if error := install():
        print(error, file=sys.stderr)
        here = f"{platform.system()} on {platform.machine()}, Python {platform.python_version()}"
        print(f"Left out: the tests with a real model could not be installed ({here}).")
        return int(bool(os.environ.get("CI")) or NO_PACKAGE not in error)
    tested = "test_real_laboratory.py" if sys.argv[1:] == ["laboratory"] else "test_real_model.py"
    command = [sys.executable, "-m", "pytest", "-m", "model", HERE / tested, "--durations", "5"]
    python = str(ENVIRONMENT / "bin" / "python")
    return subprocess.run(command, env=os.environ | {"MODEL_PYTHON": python}).returncode


if __name__ == "__main__":
    sys.exit(main())
