"""RecNet's numbers alone, with one of several ways of propagation.

Nothing is written or read as text: an item's text counts only as its vector. So ways that differ in
one feature are compared, with everything else equal.

Source:
    RecNet 3.4.4 (EM is point-to-point); docs/numbers.md.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from propagation.arrays import F64, I64, U64
from propagation.datasets.dataset import Dataset
from propagation.evaluation.kernels.arms import create_evaluation_combiner
from propagation.evaluation.kernels.controls import Controls, create_controls
from propagation.evaluation.kernels.prequential import evaluate_block
from propagation.evaluation.protocols.passes import compile_pass, start_state
from propagation.evaluation.stream import EvaluationSettings, Stream, build_stream
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import Dependencies, LiveScores, Measured
from propagation.laboratory.methods.recnet.numbers_kernel import score_items
from propagation.model import to_seconds
from propagation.numbers import State
from propagation.numbers.rules import Combiner
from propagation.ports import FittableEmbedder

BLOCK = 500
NO_TAKEN = np.empty(0, np.int64)


class Learned(NamedTuple):
    """What a pass learns."""

    state: State
    combiner: Combiner
    controls: Controls


@dataclass(frozen=True)
class NumbersMethod:
    """Learns the history in one pass, and scores by one arm.

    Attributes:
        features: The columns that the arm sees (docs/numbers.md, rule 3).
        embedder: Fitted anew for each seed.
        settings: Sizes of the router banks, and what else the ranker learns.
    """

    name: str
    depends_on: Dependencies
    dataset: Dataset
    features: Sequence[IntEnum]
    embedder: FittableEmbedder
    settings: EvaluationSettings
    _measured: dict[int, Measured] = field(default_factory=dict, init=False)

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        stream = build_stream(self.dataset)
        learned = await self._start(stream, seed)
        begun = time.monotonic()
        self._learn(history, learned, draw_event_seeds(history, seed), slice(None))
        self._measure(seed, time.monotonic() - begun)
        asked = zip(questions.user, questions.time, questions.candidates, strict=True)
        scores = [self._score(learned, *one) for one in asked]
        return np.array(scores).reshape(questions.candidates.shape)

    async def follow(
        self, history: History, questions: Questions, known: I64, seed: int
    ) -> LiveScores:
        """Answer live, with the scores of `propagation evaluate` for this seed.

        Users and items have the rows that it draws: draws by a hash depend on the row.
        """
        plain = build_stream(self.dataset)
        users, items = plain.draw_rows(np.random.default_rng(seed))
        stream = plain.rearrange(users, items, np.arange(len(plain.user)))
        learned = await self._start(stream, seed)
        moved = replace(history, user=users[history.user], item=items[history.item])
        seeds = draw_event_seeds(history, seed)
        spent = 0.0
        for user, moment, candidates, part in zip(*questions, history.walk(known), strict=True):
            begun = time.monotonic()
            self._learn(moved, learned, seeds, part)
            spent += time.monotonic() - begun
            yield self._score(learned, users[user], moment, items[candidates])
        self._measure(seed, spent)

    def get_measured(self, seed: int) -> Measured:
        return self._measured[seed]

    async def _start(self, stream: Stream, seed: int) -> Learned:
        """Fit the embedder, and return what has learned nothing yet."""
        self.embedder.restore(self.embedder.fit(stream.item_texts, seed))
        content = await self.embedder.embed(stream.item_texts)
        attributes = await self.embedder.embed(stream.attribute_texts)
        compile_pass()
        state = start_state(stream, content, attributes, self.settings, seed)
        return Learned(
            state,
            create_evaluation_combiner({self.name: self.features}),
            create_controls(state, stream.users, stream.items, seed, self.settings.tau),
        )

    def _learn(self, history: History, learned: Learned, seeds: U64, part: slice) -> None:
        """Learn a part of the history in its order, and rank nothing."""
        user, item, seconds = history.user[part], history.item[part], to_seconds(history.time[part])
        count = len(user)
        users = len(learned.state.history_length)
        takes = np.zeros(users + 1, np.int64), NO_TAKEN
        fixed = np.empty((users, 0), np.int64)
        never, always = np.zeros(count, np.bool_), np.ones(count, np.bool_)
        logs, out = np.zeros(1), np.empty((count, 1, 0))
        for start in range(0, count, BLOCK):
            block = slice(start, start + BLOCK)
            evaluate_block(
                *learned,
                user[block],
                item[block],
                seconds[block],
                seeds[part][block],
                never[block],
                always[block],
                takes,
                fixed,
                logs,
                out[block],
            )

    def _score(self, learned: Learned, user: int, moment: int, candidates: I64) -> F64:
        """Score the candidates of one question, [C]."""
        near = np.zeros(len(learned.state.adoptions), np.float32)
        out = np.empty((1, len(candidates)))
        rows = np.ascontiguousarray(candidates)
        score_items(*learned, user, moment / 1_000, rows, near, out)
        scores: F64 = out[0]
        return scores

    def _measure(self, seed: int, seconds: float) -> None:
        self._measured[seed] = Measured(
            counts={"learning seconds": seconds}, settings=self.settings.model_dump_json()
        )


def draw_event_seeds(history: History, seed: int) -> U64:
    """Draw the seed with which each interaction draws its negatives, [E]."""
    return np.random.default_rng(seed).integers(0, 2**63, len(history.user)).astype(np.uint64)
