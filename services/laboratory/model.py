"""The language model of a run, with answers in the run's folder.

A stopped run asks no answered question again: each answer is on disk before the method goes on. So
of a run that is killed, only answers that arrived in that moment are lost.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary

import orjson

from propagation.adapters.openai.answers.questions import (
    Answered,
    QuestionAsker,
    QuestionTooLong,
)
from propagation.adapters.openai.blob_cache import BlobCache
from propagation.adapters.openai.endpoint.budget import PLACE
from propagation.adapters.openai.endpoint.endpoint import Endpoint
from propagation.adapters.openai.prompting import Question
from propagation.laboratory.methods import MethodFailed
from propagation.laboratory.methods.asking import Ask
from propagation.model import (
    NO_USAGE,
    EndpointUnavailable,
    PropagationError,
    ReasonerFailed,
    ReasonerGaveUp,
    ReasonerUnavailable,
    StoreCorrupt,
    StoreFull,
)
from propagation.ports import GraphStore
from services.assembly import ModelPorts, build_graph_store
from services.config.settings import Settings

ANSWERS = "answers.db"
PLACES = 1 << 60
"""Places of the cache of answers: so many that no two questions share one."""
FIRST_ANSWERS = 12
BEGUN_A_SLOT = 2
"""How many questions are begun for each call that may run.

Enough that a slot never waits for an answer to be kept, and so few that a model that cannot be
used is soon not asked.
"""
PATIENCE_SECONDS, PAUSE_SECONDS = 30.0, 1.0
MOVE = (
    "is damaged; move it away, and the same command asks and pays anew for methods without a"
    " result, while finished results are kept"
)
KEPT = "what was answered is kept, and the same command goes on there"


class ModelFailed(MethodFailed):
    """The model cannot be used now, by any method."""


class LabModel:
    """A model that methods of one run ask.

    Args:
        settings: Name the model, with limits, prices and budgets as for the service.
        patience: For how many seconds an endpoint that is down is asked again.
    """

    def __init__(self, settings: Settings, patience: float = PATIENCE_SECONDS) -> None:
        options = settings.openai.model_copy(update={"cached_answers": PLACES})
        self._settings = settings.model_copy(update={"store": "sqlite", "openai": options})
        self._patience = patience
        self._asker: QuestionAsker | None = None
        self._endpoint: Endpoint | None = None
        self._failure = ""
        self._asking: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()
        self._first_failures: list[bytes] = []
        self._is_usable = False
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
        return self._endpoint.ledger.this_run.total.money if self._endpoint else 0.0

    def ask_for(self, method: str) -> Ask:
        """Return how a method asks; it works while the model is open."""

        async def ask(question: Question) -> Answered:
            key = f"{self.identity}\n{question.prompt}\n{question.document}".encode()
            # Methods run side by side: an equal question waits for the answer of the first one,
            # which is kept by then, and nothing is paid for twice.
            lock = self._asking.setdefault(key, asyncio.Lock())
            try:
                async with lock, self._begun:
                    return await self._ask(question, key)
            except (StoreFull, StoreCorrupt) as error:
                raise ModelFailed(self._fail(self._describe_unkept(error))) from error
            finally:
                self.note_answer(method)

        return ask

    def _describe_unkept(self, error: PropagationError) -> str:
        if isinstance(error, StoreCorrupt):
            return f"{ANSWERS}, the file of answers in the run's folder, {MOVE}"
        return (
            f"no more is asked, as answers cannot be kept in the run's folder ({error}); what was"
            " answered before is kept, and the same command goes on there"
        )

    @asynccontextmanager
    async def open(self, folder: Path) -> AsyncIterator[None]:
        """Open the answers in a run's folder, and the endpoint.

        Raises:
            PropagationError: The file of answers is damaged, or cannot be written.
        """
        store = await self._open_store(folder)
        try:
            self._endpoint = ModelPorts(self._settings, store).endpoint
            self._asker = QuestionAsker(self._endpoint, store)
            self._unusable = BlobCache(store, "unusable", PLACES)
            self._failure, self._is_usable, self._first_failures = "", False, []
            self._begun = asyncio.Semaphore(BEGUN_A_SLOT * self.in_flight)
            try:
                yield
            finally:
                await self._asker.keeping.finish()
                await self._endpoint.client.close()
                try:
                    await self._endpoint.ledger.save(closing=True)
                except (StoreFull, StoreCorrupt):
                    if not self._failure:  # else it was said, and results matter more than sums
                        raise
        finally:
            self._asker = None
            await store.close()

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

    async def _open_store(self, folder: Path) -> GraphStore:
        path = folder / ANSWERS
        store = build_graph_store(self._settings.model_copy(update={"database": path}))
        try:
            await store.open()
        except StoreCorrupt as error:
            raise PropagationError(f"{path} {MOVE}") from error
        return store

    async def _ask(self, question: Question, key: bytes) -> Answered:
        """Ask a question, and keep its answer.

        An answer that was not usable, also after asking once more, was paid for too: it is kept,
        and counts as unusable when the run goes on.

        Raises:
            ModelFailed: The model answers no call now, or none of its answers is usable.
            ReasonerFailed: The answer to this question is not usable.
        """
        if self._asker is None:
            raise RuntimeError("the model is not open")
        if self._failure:
            raise ModelFailed(self._failure)
        known = await self._unusable.get(key)
        if known is not None:
            raise ReasonerFailed(known.decode())
        try:
            pieces = self._asker.split(question)
            answers = [await self._ask_patiently(self._asker, piece) for piece in pieces]
        except QuestionTooLong as error:
            raise ModelFailed(self._fail(str(error))) from error
        except ReasonerUnavailable as error:
            raise ModelFailed(self._fail(f"{error}; {KEPT}")) from error
        except ReasonerFailed as error:
            await self._note_unusable(key, error)
            raise
        self._is_usable = True
        await self._keep_first_failures()
        await self._asker.keeping.finish()
        if self._asker.keeping.failure is not None:
            raise self._asker.keeping.failure
        parts = {name: part for answer in answers for name, part in answer.parts.items()}
        return Answered(parts, sum((answer.usage for answer in answers), NO_USAGE))

    def _fail(self, reason: str) -> str:
        """Note that no further question is asked; return the first reason."""
        self._failure = self._failure or reason
        return self._failure

    async def _ask_patiently(self, asker: QuestionAsker, question: Question) -> Answered:
        """Ask again for a while if the endpoint is down."""
        end = asyncio.get_running_loop().time() + self._patience
        while True:
            try:
                return await asker.ask(question)
            except EndpointUnavailable:
                if self._failure or asyncio.get_running_loop().time() >= end:
                    raise
                await asyncio.sleep(PAUSE_SECONDS)

    async def _note_unusable(self, key: bytes, error: ReasonerFailed) -> None:
        """Keep that an answer was not usable.

        While no answer was usable, nothing is kept: the server may be set up wrongly.
        """
        if isinstance(error, ReasonerGaveUp):
            return  # no answer came, so asking again pays for nothing twice
        self._first_failures.append(key + b"\0" + str(error).encode())
        if self._is_usable:
            await self._keep_first_failures()
        elif len(self._first_failures) >= FIRST_ANSWERS:
            raise ModelFailed(
                self._fail(
                    f"none of the first {FIRST_ANSWERS} answers of {self.name} is usable (the last:"
                    f" {error}); use another model"
                )
            ) from error

    async def _keep_first_failures(self) -> None:
        failures, self._first_failures = self._first_failures, []
        for failure in failures:
            key, _, reason = failure.rpartition(b"\0")
            await self._unusable.put(key, reason, await self._unusable.get_last_withdrawal())
