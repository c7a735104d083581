"""RecNet's numbers alone, with one of several ways of propagation.

Nothing is written or read as text: an item's text counts only as its vector. So ways that differ in
one feature are compared, with everything else equal.

Source:
    RecNet 3.4.4 (EM is point-to-point); docs/numbers.md.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from propagation.arrays import F64
from propagation.datasets.dataset import Dataset
from propagation.evaluation.kernels.arms import create_evaluation_combiner
from propagation.evaluation.kernels.controls import Controls, create_controls
from propagation.evaluation.kernels.prequential import evaluate_block
from propagation.evaluation.protocols.passes import compile_pass, start_state
from propagation.evaluation.stream import EvaluationSettings, Stream, build_stream
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import Measured
from propagation.laboratory.methods.recnet.numbers_kernel import score_items
from propagation.model import to_seconds
from propagation.numbers import State
from propagation.numbers.rules import Combiner
from propagation.ports import FittableEmbedder

BLOCK = 500
NO_TAKEN = np.empty(0, np.int64)


@dataclass(frozen=True)
class NumbersMethod:
    """Learns the history in one pass, and scores by one arm.

    Attributes:
        features: The columns that the arm sees (docs/numbers.md, rule 3).
        embedder: Fitted anew for each seed.
        settings: Sizes of the router banks, and what else the ranker learns.
    """

    name: str
    version: str
    dataset: Dataset
    features: Sequence[IntEnum]
    embedder: FittableEmbedder
    settings: EvaluationSettings
    _measured: dict[int, Measured] = field(default_factory=dict, init=False)

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        stream = build_stream(self.dataset)
        self.embedder.restore(self.embedder.fit(stream.item_texts, seed))
        content = await self.embedder.embed(stream.item_texts)
        attributes = await self.embedder.embed(stream.attribute_texts)
        compile_pass()
        begun = time.monotonic()
        state = start_state(stream, content, attributes, self.settings, seed)
        combiner = create_evaluation_combiner({self.name: self.features})
        controls = create_controls(state, stream.users, stream.items, seed, self.settings.tau)
        self._learn(stream, history, seed, (state, combiner, controls))
        learned = time.monotonic() - begun
        self._measured[seed] = Measured(
            counts={"learning seconds": learned}, settings=self.settings.model_dump_json()
        )
        near = np.zeros(len(state.adoptions), np.float32)
        scores = np.empty(questions.candidates.shape)
        for row, (user, moment) in enumerate(zip(questions.user, questions.time, strict=True)):
            candidates = np.ascontiguousarray(questions.candidates[row])
            out = np.empty((1, len(candidates)))
            score_items(state, combiner, controls, user, moment / 1_000, candidates, near, out)
            scores[row] = out[0]
        return scores

    def get_measured(self, seed: int) -> Measured:
        return self._measured[seed]

    def _learn(
        self, stream: Stream, history: History, seed: int, learned: tuple[State, Combiner, Controls]
    ) -> None:
        """Learn the history's events in their order, and rank none."""
        count = len(history.user)
        seconds = to_seconds(history.time)
        seeds = np.random.default_rng(seed).integers(0, 2**63, count).astype(np.uint64)
        takes = np.zeros(stream.users + 1, np.int64), NO_TAKEN
        fixed = np.empty((stream.users, 0), np.int64)
        never, always = np.zeros(count, np.bool_), np.ones(count, np.bool_)
        logs, out = np.zeros(1), np.empty((count, 1, 0))
        for start in range(0, count, BLOCK):
            part = slice(start, start + BLOCK)
            evaluate_block(
                *learned,
                history.user[part],
                history.item[part],
                seconds[part],
                seeds[part],
                never[part],
                always[part],
                takes,
                fixed,
                logs,
                out[part],
            )
