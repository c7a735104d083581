"""Install Chromium where it is missing, and run the tests in it.

Outside of CI, a machine on which it cannot be installed leaves the tests out.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.browser.programs import install

HERE = Path(__file__).parent
FRAME = "*" * 78


def main() -> int:
    """Run the tests; return the exit code."""
    if problem := install():
        print(
            FRAME, f"Left out: all tests of the web page in a browser: {problem}.", FRAME, sep="\n"
        )
        return int(bool(os.environ.get("CI")))
    command = [sys.executable, "-m", "pytest", "-m", "browser", str(HERE), "--durations", "15"]
    return subprocess.run([*command, *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
