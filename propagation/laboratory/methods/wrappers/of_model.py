"""One of several methods that differ in the model that they ask."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from propagation.arrays import F64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.asking import AskingMethod, Calls
from propagation.laboratory.methods.method import Dependencies, Measured, MeasuringMethod


@dataclass(frozen=True)
class OfModel:
    """A method whose name says which model it asks.

    Attributes:
        model: The model's name.
    """

    method: AskingMethod
    model: str

    @property
    def name(self) -> str:
        """METHOD@MODEL.

        It names a file, so signs that names of files may lack become `_`.
        """
        return f"{self.method.name}@{re.sub(r'[^A-Za-z0-9_.+:-]', '_', self.model)}"

    @property
    def depends_on(self) -> Dependencies:
        return self.method.depends_on

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        return await self.method.score(history, questions, seed)

    def estimate(self, history: History, questions: Questions) -> Sequence[Calls]:
        return self.method.estimate(history, questions)

    def get_measured(self, seed: int) -> Measured:
        method = self.method
        return method.get_measured(seed) if isinstance(method, MeasuringMethod) else Measured()
