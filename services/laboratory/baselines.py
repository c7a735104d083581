"""Baselines of other libraries, which run as programs of their environments."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

import orjson

from propagation.laboratory.methods import MethodNotInstalled, Program

ALWAYS = ("numpy", "scipy")
LIST_VERSIONS = """
import json, platform, sys
from importlib.metadata import version
packages = {name: version(name) for name in sys.argv[1:]}
print(json.dumps({"python": platform.python_version(), **packages}))
"""
ANSWER_SECONDS = 60.0
PYTHON_OF = {"recbole": "3.11"}
"""Packages that the locks have for no newer Python than this one."""


@dataclass(frozen=True)
class BaselineEnvironment:
    """An environment with the packages of some baselines.

    Attributes:
        target: Of the Makefile, which installs it; also its folder beside this environment.
        variable: Names another folder, if it is set.
        script: Of propagation.laboratory.baselines.
        methods: The packages that compute the scores of each method; numpy and scipy always do.
    """

    target: str
    variable: str
    script: str
    methods: Mapping[str, Sequence[str]]

    def find_python(self) -> Path:
        """Return the Python of the environment, which may be missing."""
        folder = os.environ.get(self.variable) or Path(sys.prefix) / self.target
        return Path(folder) / "bin" / "python"

    def build(self, name: str) -> Program:
        """Build one of the methods."""
        python = self.find_python()
        script = Path(str(files("propagation.laboratory.baselines") / self.script))
        return Program(
            name,
            [str(python), "-W", "ignore", str(script), name],
            script,
            f"not installed: {python} is missing; `make {self.target}` installs it, or leave the"
            " method out of --methods",
            list_packages=partial(
                read_packages, name, python, (*self.methods[name], *ALWAYS), self.target
            ),
        )


@cache
def read_packages(
    method: str, python: Path, packages: Sequence[str], target: str
) -> Mapping[str, str]:
    """Ask an environment for the versions of its packages.

    Raises:
        MethodNotInstalled: A package is missing, or the Python does not run.
    """
    try:
        found = subprocess.run(
            [str(python), "-W", "ignore", "-c", LIST_VERSIONS, *packages],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_SECONDS,
            check=True,
        )
        versions: Mapping[str, str] = orjson.loads(found.stdout)
    except (OSError, subprocess.SubprocessError, orjson.JSONDecodeError) as error:
        raise MethodNotInstalled(
            f"{method}: {python} does not run, or lacks one of {', '.join(packages)};"
            f" {_explain_installing(python, packages, target)}, or leave the method out of"
            " --methods"
        ) from error
    return versions


def _explain_installing(python: Path, packages: Sequence[str], target: str) -> str:
    for package in packages:
        if package in PYTHON_OF:
            version = PYTHON_OF[package]
            return (
                f"`make {target}` installs them with Python {version} (another Python has no"
                f" {package}: remove {python.parent.parent}, and `make PYTHON=python{version}"
                f" {target}`)"
            )
    return f"`make {target}` installs them"


LIGHT = BaselineEnvironment(
    "baselines",
    "BASELINES_ENVIRONMENT",
    "score.py",
    {
        "bm25": ("implicit",),
        "itemknn": ("implicit",),
        "ease": ("rectools",),
        "als": ("implicit",),
        "bpr": ("cornac",),
    },
)
TORCH = BaselineEnvironment(
    "baselines-torch",
    "BASELINES_TORCH_ENVIRONMENT",
    "sequential.py",
    {
        "sasrec": ("rectools", "torch", "pytorch-lightning"),
        "gru4rec": ("recbole", "torch"),
        "caser": ("recbole", "torch"),
    },
)
ENVIRONMENTS = {name: one for one in (LIGHT, TORCH) for name in one.methods}
"""The environment of each method."""
