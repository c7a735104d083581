"""Replies of a language model, kept on disk before they are used.

Every reply is kept, also one that cannot be used or is asked for once more: each was paid for. What
is read from kept replies is the same each time, so a run that goes on asks no answered question
again.
"""

import asyncio
import json
from collections.abc import Callable
from weakref import WeakValueDictionary

from propagation.adapters.openai.answers.questions import (
    Answered,
    Exchange,
    QuestionAsker,
    identify_question,
)
from propagation.adapters.openai.blob_cache import BlobCache
from propagation.adapters.openai.endpoint.client import Response
from propagation.adapters.openai.endpoint.endpoint import Endpoint, FormatRefused
from propagation.adapters.openai.prompting import Question
from propagation.model import (
    EndpointUnavailable,
    PromptCost,
    ReasonerFailed,
    ReasonerGaveUp,
    ReasonerUnavailable,
    StoreCorrupt,
    StoreFull,
    Usage,
)
from propagation.ports import GraphStore
from services.laboratory.answers.answer_counts import AnswerCounts

PLACES = 1 << 60
"""Places of the cache of replies: so many that no two questions share one."""
FIRST_ANSWERS = 12
BEGUN_A_SLOT = 2
"""How many questions are begun for each call that may run.

Enough that a slot never waits for an answer to be kept, and so few that a model that cannot be
used is soon not asked.
"""
PAUSE_SECONDS = 1.0
MOST_FAILURES = 3
"""So often the endpoint gives a call up, each time after retries of its own."""
ANSWERS = "answers.db"
MOVE = (
    "is damaged; move it away, and the same command asks and pays anew for methods without a"
    " result, while finished results are kept"
)
KEPT = "what was answered is kept, and the same command goes on there"


class KeptReplies:
    """The replies of one model, and whether it can be used.

    Until an answer is usable, nothing is kept on disk: the server may be set up wrongly.

    Attributes:
        failure: Why no further question is asked; "" while the model can be used.
        begun: Bounds how many questions are begun.
        asking: A lock for each question that is under way. Methods run side by side: an equal
            question waits for the first one's reply, so that nothing is paid for twice.
        awaited: Replies that are under way. They are paid for, so they are kept even if nobody
            waits for them any more.
    """

    def __init__(self, store: GraphStore, model: str, in_flight: int) -> None:
        """Keep replies in a store.

        Args:
            model: The model's name, for messages.
            in_flight: The most calls that run at a time.
        """
        self.failure = ""
        self.begun = asyncio.Semaphore(BEGUN_A_SLOT * in_flight)
        self.asking: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()
        self.awaited: set[asyncio.Task[Response]] = set()
        self._model = model
        self._cache = BlobCache(store, "reply", PLACES)
        self._counts = AnswerCounts(store)
        self._held: dict[bytes, bytes] = {}
        self._unusable = 0
        self._is_usable = False

    def fail(self, reason: str) -> str:
        """Note that no further question is asked; return the first reason."""
        self.failure = self.failure or reason
        return self.failure

    async def finish(self) -> None:
        """Wait until replies that are under way are kept."""
        await asyncio.gather(*self.awaited, return_exceptions=True)

    async def cancel(self) -> None:
        """Give up replies that are under way."""
        for task in self.awaited:
            task.cancel()
        await self.finish()

    async def get(self, key: bytes) -> bytes | None:
        """Return a kept reply."""
        return self._held.get(key) or await self._cache.get(key)

    async def put(self, key: bytes, reply: bytes) -> None:
        """Keep a reply."""
        if self._is_usable:
            await self._cache.put(key, reply, after_withdrawal=0)
        else:
            self._held[key] = reply

    async def count(self, label: str) -> None:
        """Count an answered question of the current part."""
        self._counts.note(label)
        if self._is_usable:
            await self._counts.save()

    async def save_counts(self) -> None:
        """Save the counts of answered questions, if replies are kept."""
        if self._is_usable:
            await self._counts.save(closing=True)

    async def note_usable(self) -> None:
        """Note that an answer is usable; keep all replies on disk."""
        self._is_usable = True
        for key, reply in list(self._held.items()):
            await self._cache.put(key, reply, after_withdrawal=0)
            self._held.pop(key, None)  # only now: an equal question may ask for it meanwhile

    def note_unusable(self, error: ReasonerFailed) -> None:
        """Note that an answer that was asked for now is not usable.

        Raises:
            ReasonerUnavailable: None of the first answers was usable.
        """
        self._unusable += 1
        if not self._is_usable and self._unusable >= FIRST_ANSWERS:
            raise ReasonerUnavailable(
                self.fail(
                    f"none of the first {FIRST_ANSWERS} answers of {self._model} is usable (the"
                    f" last: {error}); use another model"
                )
            ) from error


def _describe_unkept(error: StoreFull | StoreCorrupt) -> str:
    if isinstance(error, StoreCorrupt):
        return f"{ANSWERS}, the file of answers in the run's folder, {MOVE}"
    return f"no more is asked, as answers cannot be kept in the run's folder ({error}); {KEPT}"


class KeepingAsker(QuestionAsker):
    """Asks questions, and keeps each reply before it is used.

    Args:
        patience: For how many seconds an endpoint that is down is asked again.
        note_answer: Called when a question is answered or given up.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        store: GraphStore,
        replies: KeptReplies,
        patience: float,
        note_answer: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(endpoint, store)
        self._replies = replies
        self._patience = patience
        self._note_answer = note_answer

    async def ask(self, question: Question) -> Answered:
        """Ask a question that fits the context.

        Raises:
            ReasonerFailed: No part of the answer is usable.
            ReasonerUnavailable: The endpoint answers no call now, or none of the model's first
                answers is usable. From then on no question is asked.
        """
        try:
            async with self._replies.begun:
                answered = await super().ask(question)
        except (ReasonerUnavailable, ReasonerGaveUp):
            raise
        except ReasonerFailed as error:
            if error.usage.total.calls:
                self._replies.note_unusable(error)
            raise
        finally:
            self._note_answer()
        await self._replies.note_usable()
        return answered

    async def get_reply(self, exchange: Exchange) -> Response:
        """Return the kept reply, or get one and keep it."""
        if self._replies.failure:
            raise ReasonerUnavailable(self._replies.failure)
        options, label = self._endpoint.options, exchange.question.prompt.label
        asked = identify_question(exchange.question, options)
        again = sorted(exchange.missing) if exchange.before else ()
        key = f"{options.temperature} {again}\n".encode() + asked
        lock = self._replies.asking.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                reply = await self._get_kept(exchange, key, label)
            if not again:
                await self._replies.count(label)
            return reply
        except (StoreFull, StoreCorrupt) as error:
            raise ReasonerUnavailable(self._replies.fail(_describe_unkept(error))) from error

    async def _get_kept(self, exchange: Exchange, key: bytes, label: str) -> Response:
        kept = await self._replies.get(key)
        if kept is not None:
            text, finish, refusal = json.loads(kept)
            usage = self._endpoint.ledger.note(Usage(((label, PromptCost(cached=1)),)))
            exchange.usage += usage
            return Response(0, 0, {}, text, finish, refusal, usage=usage)
        task = asyncio.create_task(self._get_and_keep(exchange, key))
        self._replies.awaited.add(task)
        task.add_done_callback(self._replies.awaited.discard)
        return await asyncio.shield(task)

    async def _get_and_keep(self, exchange: Exchange, key: bytes) -> Response:
        reply = await self._get_patiently(exchange)
        # Not orjson: a reply may hold half of a surrogate pair.
        kept = json.dumps([reply.text, reply.finish, reply.refusal]).encode()
        await self._replies.put(key, kept)
        return reply

    async def _get_patiently(self, exchange: Exchange) -> Response:
        """Ask again if the endpoint is down or a call fails.

        A call that fails is made MOST_FAILURES times: else a faulty server would look like a model
        whose answers are invalid.
        """
        end, failures = asyncio.get_running_loop().time() + self._patience, 0
        while True:
            try:
                return await super().get_reply(exchange)
            except FormatRefused:
                raise
            except ReasonerGaveUp:
                failures += 1
                if failures == MOST_FAILURES:
                    raise
            except EndpointUnavailable as error:
                if self._replies.failure or asyncio.get_running_loop().time() >= end:
                    self._replies.fail(f"{error}; {KEPT}")
                    raise ReasonerUnavailable(self._replies.failure, error.usage) from error
                await asyncio.sleep(PAUSE_SECONDS)
            except ReasonerUnavailable as error:
                self._replies.fail(f"{error}; {KEPT}")
                raise ReasonerUnavailable(self._replies.failure, error.usage) from error
