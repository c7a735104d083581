"""Chromium and its driver: where they are, and how they are installed."""

import os
import shutil
import subprocess

PACKAGES = ("chromium", "chromium-driver")
PROGRAMS = ("chromium", "chromedriver")


def find_missing_programs() -> list[str]:
    """List the programs that are not found."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def install() -> str:
    """Install what is missing by apt-get, which works for root only.

    Returns:
        Why it could not be installed; "" if all is there.
    """
    missing = find_missing_programs()
    if not missing:
        return ""
    names = " and ".join(missing)
    by_hand = f"run apt-get install {' '.join(PACKAGES)}"
    if shutil.which("apt-get") is None:
        return f"{names} not found, and there is no apt-get here"
    if os.geteuid() != 0:
        return f"{names} not found, and only root may install them: {by_hand}"
    print(f"{names} not found: apt-get installs {' '.join(PACKAGES)}.", flush=True)
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(
            ["apt-get", "--quiet", "--quiet", *command], env=quiet, capture_output=True, text=True
        )
    if find_missing_programs():
        return f"{names} could not be installed: {done.stderr.strip() or done.stdout.strip()}"
    return ""
