"""The language model of a run, with answers in the run's folder.

A stopped run asks no answered question again: each answer is on disk before the method goes on. So
of a run that is killed, only answers that arrived in that moment are lost.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from propagation.adapters.openai.answers.questions import Answered, QuestionTooLong
from propagation.adapters.openai.endpoint.budget import PLACE
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.prompting import Question
from propagation.laboratory.methods import Measured, Method, MethodFailed, get_measured
from propagation.laboratory.methods.asking import Ask, asks_model
from propagation.laboratory.methods.asking.run_part import RunPart
from propagation.laboratory.runs.run import KEPT_ANSWERS
from propagation.model import (
    NO_USAGE,
    PropagationError,
    ReasonerFailed,
    ReasonerUnavailable,
    StoreCorrupt,
    StoreFull,
    Usage,
)
from propagation.ports import GraphStore, Reasoner
from services.assembly import ModelPorts, build_graph_store, build_openai_reasoner
from services.config.settings import Settings
from services.laboratory.answers.answer_counts import AnswerCounts
from services.laboratory.answers.kept_replies import ANSWERS, MOVE, KeepingAsker, KeptReplies

PATIENCE_SECONDS = 30.0
# What decides the answers to a reasoner's questions, beside the model.
OF_THE_REASONER = (
    "fused",
    "clients_a_call",
    "edits",
    "items",
    "attributes",
    "fallback",
    "predict",
)


class ModelFailed(MethodFailed):
    """The model cannot be used now, by any method."""


class LabModel:
    """A model that methods of one run ask.

    Args:
        settings: Name the model, with limits, prices and budgets as for the service.
        patience: For how many seconds an endpoint that is down is asked again.
    """

    def __init__(self, settings: Settings, patience: float = PATIENCE_SECONDS) -> None:
        options = settings.openai.model_copy(update={"cached_answers": 0})  # replies are kept
        self._settings = settings.model_copy(update={"store": "sqlite", "openai": options})
        self._patience = patience
        self._ports: ModelPorts | None = None
        self._spent: defaultdict[str, Usage] = defaultdict(lambda: NO_USAGE)
        self.note_answer: Callable[[str], None] = lambda name: None
        """Called with the method's name when one of its questions is answered or given up."""

    @property
    def name(self) -> str:
        """The model's name."""
        return self._settings.openai.model

    @property
    def identity(self) -> str:
        """The model's name, and the settings that decide its answers."""
        options = self._settings.openai
        return f"{options.model} {options.temperature} {options.context_tokens}"

    @property
    def reasoner_identity(self) -> str:
        """The same with the settings that decide what a reasoner asks."""
        decides = self._settings.openai.model_dump(mode="json", include={*OF_THE_REASONER})
        return f"{self.identity} {orjson.dumps(decides, option=orjson.OPT_SORT_KEYS).decode()}"

    @property
    def options(self) -> OpenAIOptions:
        """How the model is asked."""
        return self._settings.openai

    @property
    def in_flight(self) -> int:
        """The most calls that run at a time."""
        return self._settings.openai.in_flight

    @property
    def calls_per_minute(self) -> int | None:
        """The most calls in a minute; None: no limit."""
        return self._settings.openai.calls_per_minute

    def price(self, prompt_tokens: int, answer_tokens: int) -> float:
        """Return the price of so many tokens; 0 without prices."""
        options = self._settings.openai
        return (
            prompt_tokens * options.price_prompt + answer_tokens * options.price_completion
        ) / 1_000_000

    @property
    def spent(self) -> float:
        """The money that this process spent."""
        return self._ports.endpoint.ledger.this_run.total.money if self._ports else 0.0

    def ask_for(self, method: str) -> Ask:
        """Return how a method asks; it works while the model is open."""

        async def ask(question: Question) -> Answered:
            try:
                answered = await self._ask(question)
            except ReasonerFailed as error:
                self._spent[method] += error.usage
                raise
            finally:
                self.note_answer(method)
            self._spent[method] += answered.usage
            return answered

        return ask

    def ask_uncounted(self, method: str) -> Ask:
        """Return how a method asks that counts its questions itself.

        It works while the model is open.
        """

        async def ask(question: Question) -> Answered:
            try:
                return await self._ask(question)
            finally:
                self.note_answer(method)

        return ask

    def measure(self, method: Method, seed: int) -> Measured:
        """Return what a method measured, and what it asked.

        What it asked is counted since this was called last. Seeds of one method that run at the
        same time are counted together.
        """
        own = get_measured(method, seed)
        total = self._spent.pop(method.name, NO_USAGE).total
        if not asks_model(method):
            return own
        asked = {
            "calls": total.calls,
            KEPT_ANSWERS: total.cached,
            "tokens sent": total.prompt_tokens,
            "tokens answered": total.completion_tokens,
            "money": total.money,
        }
        counts = {name: value for name, value in asked.items() if value}
        settings = f"{own.settings} model {self.identity}".strip()
        return own.model_copy(update={"counts": {**own.counts, **counts}, "settings": settings})

    def build_reasoner(self, method: str) -> Reasoner:
        """Build a reasoner that asks this model for a method.

        It works while the model is open. Closing it would close the model for others.
        """
        if self._ports is None:
            raise RuntimeError("the model is not open")
        asker = self._build_asker(self._ports, lambda: self.note_answer(method))
        return build_openai_reasoner(self._ports, asker)

    def check_usable(self) -> None:
        """Check that no call has failed for good.

        Raises:
            ModelFailed: The model answers no call now, or none of its answers is usable.
        """
        if self._replies.failure:
            raise ModelFailed(self._replies.failure)

    @asynccontextmanager
    async def open(self, folder: Path) -> AsyncIterator[None]:
        """Open the answers in a run's folder, and the endpoint.

        Raises:
            PropagationError: The file of answers is damaged, or cannot be written.
        """
        store = await self._open_store(folder)
        try:
            ports = self._ports = ModelPorts(self._settings, store)
            self._replies = KeptReplies(store, self.name, self.in_flight)
            self._asker = self._build_asker(ports)
            try:
                yield
                await self._replies.finish()
            finally:
                await self._replies.cancel()
                await ports.endpoint.client.close()
                try:
                    await self._replies.save_counts()
                    await ports.endpoint.ledger.save(closing=True)
                except (StoreFull, StoreCorrupt):
                    if not self._replies.failure:  # else it was said, and results matter more
                        raise
        finally:
            self._ports = None
            await store.close()

    def _build_asker(
        self, ports: ModelPorts, note_answer: Callable[[], None] = lambda: None
    ) -> KeepingAsker:
        return KeepingAsker(ports.endpoint, ports.store, self._replies, self._patience, note_answer)

    async def read_pace(self, folder: Path) -> float | None:
        """Return the seconds of a call in earlier runs, if any.

        Raises:
            PropagationError: The file of answers is damaged.
        """
        if not (folder / ANSWERS).exists():
            return None
        store = await self._open_store(folder)
        try:
            blob = await store.get_blob(PLACE)
        finally:
            await store.close()
        costs = orjson.loads(blob)["prompts"].values() if blob else []
        calls = sum(cost["calls"] for cost in costs)
        return sum(cost["seconds"] for cost in costs) / calls if calls else None

    async def read_answered(
        self, folder: Path, parts: Collection[RunPart]
    ) -> Mapping[RunPart, Mapping[str, int]]:
        """Return how many questions of parts are answered, by prompt.

        Raises:
            PropagationError: The file of answers is damaged.
        """
        if not (folder / ANSWERS).exists():
            return {}
        store = await self._open_store(folder)
        try:
            counts = AnswerCounts(store)
            return {part: await counts.read(part) for part in parts}
        finally:
            await store.close()

    async def _open_store(self, folder: Path) -> GraphStore:
        path = folder / ANSWERS
        store = build_graph_store(self._settings.model_copy(update={"database": path}))
        try:
            await store.open()
        except StoreCorrupt as error:
            raise PropagationError(f"{path} {MOVE}") from error
        return store

    async def _ask(self, question: Question) -> Answered:
        """Ask a question.

        Raises:
            ModelFailed: The model answers no call now, or none of its answers is usable.
            ReasonerFailed: The answer to this question is not usable.
        """
        if self._ports is None:
            raise RuntimeError("the model is not open")
        self.check_usable()
        try:
            answers = [await self._asker.ask(piece) for piece in self._asker.split(question)]
        except QuestionTooLong as error:
            raise ModelFailed(self._replies.fail(str(error))) from error
        except ReasonerUnavailable as error:
            raise ModelFailed(str(error)) from error
        parts = {name: part for answer in answers for name, part in answer.parts.items()}
        return Answered(parts, sum((answer.usage for answer in answers), NO_USAGE))
