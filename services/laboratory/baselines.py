"""Baselines of other libraries, which run as programs of their environments."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from propagation.laboratory.experiments.recnet import LIGHT_BASELINES, TORCH_BASELINES
from propagation.laboratory.methods import Program


@dataclass(frozen=True)
class BaselineEnvironment:
    """An environment with the packages of some baselines.

    Attributes:
        target: Of the Makefile, which installs it; also its folder beside this environment.
        variable: Names another folder, if it is set.
        script: Of propagation.laboratory.baselines.
    """

    target: str
    variable: str
    script: str
    methods: Sequence[str]

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
        )


LIGHT = BaselineEnvironment("baselines", "BASELINES_ENVIRONMENT", "score.py", LIGHT_BASELINES)
TORCH = BaselineEnvironment(
    "baselines-torch", "BASELINES_TORCH_ENVIRONMENT", "sequential.py", TORCH_BASELINES
)
ENVIRONMENTS = {name: one for one in (LIGHT, TORCH) for name in one.methods}
"""The environment of each method."""
