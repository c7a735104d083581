"""Asks the questions of a check, several at a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.openai.paper_reasoner import create_openai_reasoner
from propagation.adapters.openai.reasoner import OpenAIReasoner
from propagation.forced_exit import create_temporary_folder
from propagation.model import (
    Client,
    PropagationError,
    ReasonerFailed,
    ReasonerUnavailable,
    Usage,
)
from services.assembly import ModelPorts, build_graph_store
from services.config.settings import Settings
from services.model_check.observed_asker import AskedQuestion, ObservedAsker
from services.model_check.sample import CALL_SIZES, Pair, Sample

ALONE, MOST_ALONE, ALONE_SECONDS = 3, 9, 3.0
"""How many choices are asked while no other call runs.

At least ALONE, and up to MOST_ALONE if the server answers them within ALONE_SECONDS: of few fast
answers the times say little. MOST_ALONE is less than FIRST_ANSWERS, which see other questions, too.
"""
FIRST_ANSWERS = 12
CountProgress = Callable[[int, int | None], None]


class NothingUsable(PropagationError):
    """A model's answers are never usable."""


@dataclass(frozen=True)
class ChoiceAnswer:
    """The answer to a choice.

    Attributes:
        pair: The number of the pair.
        chosen_first: Whether the item that the user chose was shown first.
        picked_first: Whether the model picked the first one; None: no usable answer.
    """

    pair: int
    chosen_first: bool
    picked_first: bool | None
    usage: Usage

    @property
    def is_right(self) -> bool:
        """Whether the model picked the item that the user chose."""
        return self.picked_first == self.chosen_first


@dataclass
class Measured:
    """What a check saw.

    Attributes:
        alone: Usage of the choices that were asked one at a time.
        interactions: Usage of each whole interaction.
        busy_seconds: Sum of the calls' times while several were in flight.
        wall_seconds: How long that took.
    """

    choices: list[ChoiceAnswer] = field(default_factory=list)
    alone: list[Usage] = field(default_factory=list)
    interactions: list[Usage] = field(default_factory=list)
    questions: Sequence[AskedQuestion] = ()
    busy_seconds: float = 0.0
    wall_seconds: float = 0.0


async def ask_sample(
    settings: Settings, sample: Sample, seed: int, count_progress: CountProgress
) -> Measured:
    """Ask a model everything in a sample; nothing is kept afterwards.

    Raises:
        ReasonerUnavailable: The endpoint answers no call now.
        NothingUsable: None of the first answers has a usable part.
    """
    with create_temporary_folder("propagation-model-check-") as folder:
        check = ModelCheck(_use_folder(settings, folder), sample, seed, count_progress)
        return await check.run()


def _use_folder(settings: Settings, folder: Path) -> Settings:
    """Return settings for a graph of the check's own, without cached answers.

    The model predicts, and calls have every size, whatever the service would ask of it.
    """
    options = settings.openai
    openai = options.model_copy(
        update={
            "cached_answers": 0,
            "predict": "model",
            "clients_a_call": max(options.clients_a_call, *CALL_SIZES),
        }
    )
    return settings.model_copy(
        update={"store": "sqlite", "database": folder / "check.db", "openai": openai}
    )


class ModelCheck:
    """One run of a check."""

    def __init__(
        self, settings: Settings, sample: Sample, seed: int, count_progress: CountProgress
    ) -> None:
        self._settings = settings
        self._sample = sample
        self._random = Random(seed)
        self._count_progress = count_progress
        self._measured = Measured()
        self._done = self._total = 0

    async def run(self) -> Measured:
        """Ask everything, and return what was seen."""
        store = build_graph_store(self._settings)
        await store.open()
        try:
            endpoint = ModelPorts(self._settings, store).endpoint
            self._asker = ObservedAsker(endpoint, store)
            self._reasoner: OpenAIReasoner = create_openai_reasoner(
                endpoint, store, extract_lines, self._asker
            )
            try:
                await self._ask_everything()
            finally:
                await self._reasoner.close()
        finally:
            await store.close()
        self._measured.questions = self._asker.observations.questions
        return self._measured

    async def _ask_everything(self) -> None:
        choices: list[Callable[[], Awaitable[Usage]]] = [
            partial(self._choose, number, pair, chosen_first=chosen_first)
            for number, pair in enumerate(self._sample.pairs)
            for chosen_first in (True, False)
        ]
        others: list[Callable[[], Awaitable[Usage]]] = [
            partial(self._interact, pair, chosen_first=number % 2 == 0)
            for number, pair in enumerate(self._sample.interactions)
        ]
        calls = sorted(self._sample.descriptions, key=len, reverse=True)
        others += [partial(self._describe, call) for call in calls if len(call) == 1]
        # The longest answers first: at the end they would run alone, and the pace would look slow.
        longest: list[Callable[[], Awaitable[Usage]]] = [
            partial(self._describe, call) for call in calls if len(call) > 1
        ]
        self._total = len(choices) + len(others) + len(longest)
        self._count_progress(0, self._total)
        self._random.shuffle(choices)
        mixed = choices[await self._ask_alone(choices) :] + others
        self._random.shuffle(mixed)
        rest = [*longest, *mixed]
        started = time.monotonic()
        waiting = iter(rest)

        async def work() -> None:
            for ask in waiting:
                usage = await ask()
                self._measured.busy_seconds += usage.total.seconds
                self._note_progress()

        workers = [asyncio.ensure_future(work()) for _ in range(self._settings.openai.in_flight)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        self._measured.wall_seconds = time.monotonic() - started

    async def _ask_alone(self, choices: Sequence[Callable[[], Awaitable[Usage]]]) -> int:
        """Ask the first choices one after the other; return how many."""
        began = time.monotonic()
        for asked, ask in enumerate(choices[:MOST_ALONE]):
            if asked >= ALONE and time.monotonic() - began > ALONE_SECONDS:
                return asked
            self._measured.alone.append(await ask())
            self._note_progress()
        return len(self._measured.alone)

    def _note_progress(self) -> None:
        """Count an answer.

        Raises:
            NothingUsable: None of the first answers has a usable part.
        """
        self._done += 1
        self._count_progress(self._done, self._total)
        seen = self._asker.observations
        if self._done == min(FIRST_ANSWERS, self._total) and not any(
            reading
            for asked in seen.questions
            for readings in asked.readings.values()
            for reading in readings
            if not reading.failed
        ):
            raise NothingUsable(
                f"none of the first {self._done} answers of {self._settings.openai.model} has a"
                f" usable part (the last: {seen.last_failure}): use another model, or the offline"
                " reasoner"
            )

    async def _choose(self, number: int, pair: Pair, *, chosen_first: bool) -> Usage:
        picked_first, usage = await self._predict(pair, chosen_first=chosen_first)
        self._measured.choices.append(ChoiceAnswer(number, chosen_first, picked_first, usage))
        return usage

    async def _predict(self, pair: Pair, *, chosen_first: bool) -> tuple[bool | None, Usage]:
        """Ask eq. 6, and eq. 5 if the user heard something."""
        candidates = (pair.chosen, pair.passed) if chosen_first else (pair.passed, pair.chosen)
        try:
            answer = await self._reasoner.forward(pair.work, pair.user, candidates, None)
        except ReasonerUnavailable:
            raise
        except ReasonerFailed as error:
            return None, error.usage
        lost = answer.prediction is None or isinstance(answer.prediction, ReasonerFailed)
        return None if lost else bool(answer.prediction), answer.usage

    async def _interact(self, pair: Pair, *, chosen_first: bool) -> Usage:
        """Ask everything about one interaction (Algorithm 1, lines 6 to 10)."""
        picked_first, usage = await self._predict(pair, chosen_first=chosen_first)
        try:
            answer = await self._reasoner.backward(
                pair.work, int(picked_first == chosen_first), pair.user, pair.chosen, pair.passed
            )
            usage += answer.usage
        except ReasonerUnavailable:
            raise
        except ReasonerFailed as error:
            usage += error.usage
        self._measured.interactions.append(usage)
        return usage

    async def _describe(self, clients: Sequence[Client]) -> Usage:
        return (await self._reasoner.extract(clients)).usage
