"""The reasoner behind an endpoint, with the paper's prompts fused.

A method makes one call, or several if its subjects are many. If a part of an answer fails, the
other parts are still used.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from propagation.adapters.openai.answers.questions import Answered, QuestionAsker, QuestionTooLong
from propagation.adapters.openai.endpoint.endpoint import Endpoint, EndpointAdapter
from propagation.adapters.openai.prompting import (
    Question,
    QuestionForm,
    count_tokens_in,
    count_tokens_needed,
)
from propagation.adapters.openai.prompts import (
    backward,
    evolve,
    extract,
    forward,
    merge,
    rank,
    summarize,
)
from propagation.model import (
    NO_USAGE,
    Client,
    Edit,
    LossReason,
    PromptCost,
    ReasonerFailed,
    ReasonerGaveUp,
    ReasonerUnavailable,
    ReasonWork,
    RouterCase,
    RouterDecision,
    Usage,
)
from propagation.ports import (
    AnswerPart,
    BackwardAnswer,
    ExtractAnswer,
    ForwardAnswer,
    GraphStore,
    Integration,
    MergeAnswer,
    Party,
    RankAnswer,
    SummarizeAnswer,
)

SMALL_CONTEXT = 2_048
SHARE_FOR_DATA = 0.5
T = TypeVar("T")
CatalogueLines = Callable[[Client], Sequence[Edit]]


class OpenAIReasoner(EndpointAdapter):
    """A reasoner that asks a model; ports/reasoner.py explains each answer."""

    asks_model = True
    router_batch_size = 1 << 20
    routers_a_call = 12

    def __init__(
        self,
        endpoint: Endpoint,
        store: GraphStore,
        describe_from_catalogue: CatalogueLines,
        asker: QuestionAsker | None = None,
    ) -> None:
        """Build the reasoner.

        Args:
            store: Keeps answers and the server's JSON mode.
            describe_from_catalogue: Writes a client's lines if none of the model's are usable.
            asker: Asks the questions; None: one that nobody observes.
        """
        super().__init__(endpoint, endpoint.options.model)
        options = endpoint.options
        self.concurrency = options.in_flight
        self.clients_a_call = options.clients_a_call
        self._predicts = options.predict == "model"
        self._form = QuestionForm(
            edits=options.edits if options.context_tokens >= SMALL_CONTEXT else 1,
            known_attributes=options.attributes == "known",
            titles=options.items == "titles",
        )
        self._asker = asker or QuestionAsker(endpoint, store)
        self._describe_from_catalogue = describe_from_catalogue

    async def close(self) -> None:
        await self._asker.keeping.finish()
        await super().close()

    @property
    def pause_reason(self) -> str:
        return self.endpoint.pause

    async def extract(self, clients: Sequence[Client]) -> ExtractAnswer:
        with_text = [client for client in clients if client.has_text]
        found, usage = await self._ask_several(
            with_text,
            lambda some: extract.build_question(some, self._form),
            self.clients_a_call,
        )
        by_ref: dict[int, AnswerPart[Sequence[Edit]]] = {}
        unusable = set()
        for client, edits in zip(with_text, found, strict=True):
            by_ref[client.ref] = edits
            if isinstance(edits, ReasonerFailed) or not edits:
                by_ref[client.ref] = self._describe_from_catalogue(client)
                unusable.add(client.ref)
        if len(unusable) == len(with_text):
            usage = usage.with_unused(extract.PROMPT.label)
        return ExtractAnswer(
            [by_ref.get(client.ref, ()) for client in clients], usage, frozenset(unusable)
        )

    async def merge(self, party: Party) -> MergeAnswer:
        answered = await self._ask(merge.build_question(party, self._form))
        answer: MergeAnswer = answered.parts["client"]
        return MergeAnswer(answer.edits, answer.outcomes, answered.usage)

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        question = forward.build_question(user, candidates, self._form, predicts=self._predicts)
        answered = await self._ask(question) if question.parts else Answered({}, NO_USAGE)
        merges = [
            answered.parts.get(name, MergeAnswer()) for name in forward.NAMES[: 1 + len(candidates)]
        ]
        return ForwardAnswer(merges, answered.parts.get("prediction"), answered.usage)

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        parties = name_parties(user, positive, negative)
        answered = await self._ask(backward.build_question(work, reward, parties, self._form))
        of_clients: list[AnswerPart[backward.ClientAnswer]] = [
            answered.parts[name] for name in parties
        ]
        gradients = [
            gradient
            for part in of_clients
            if not isinstance(part, ReasonerFailed)
            for gradient in part.gradients
        ]
        heard = answered.parts.get("messages", ())
        if not isinstance(heard, ReasonerFailed):
            gradients += heard
        return BackwardAnswer(
            gradients,
            [part if isinstance(part, ReasonerFailed) else part.optimized for part in of_clients],
            answered.usage,
        )

    async def summarize(self, routers: Sequence[Integration]) -> SummarizeAnswer:
        return SummarizeAnswer(
            *await self._ask_several(
                routers,
                lambda some: summarize.build_question(some, self._form),
                self.routers_a_call,
            )
        )

    async def rank(self, user: Party, candidates: Sequence[Party]) -> RankAnswer:
        answered = await self._ask(rank.build_question(user, candidates, self._form))
        return RankAnswer(answered.parts["ranking"], answered.usage)

    async def decide_router(self, case: RouterCase) -> RouterDecision:
        answered = await self._ask(evolve.build_question(case))
        decision: RouterDecision = answered.parts["decision"]
        return decision

    async def _ask(self, question: Question) -> Answered:
        """Ask a question, in several calls if one has no room.

        Raises:
            QuestionTooLong: A part does not fit the context.
            ReasonerFailed: No part of the answer is usable.
            ReasonerUnavailable: The endpoint answers no call now.
        """
        pieces = self._asker.split(question)
        if len(pieces) == 1:
            return await self._asker.ask(question)
        answers = await self._ask_all(pieces)
        parts = {name: part for one in answers for name, part in one.parts.items()}
        failed = [part for part in parts.values() if isinstance(part, ReasonerFailed)]
        if len(failed) == len(parts):
            gave_up = any(isinstance(part, ReasonerGaveUp) for part in failed)
            raise (ReasonerGaveUp if gave_up else ReasonerFailed)(
                "; ".join(dict.fromkeys(map(str, failed))), sum_usage(answers)
            )
        return Answered(parts, sum_usage(answers))

    async def _ask_several(
        self, subjects: Sequence[T], question: Callable[[Sequence[T]], Question], most: int
    ) -> tuple[list[AnswerPart[Any]], Usage]:
        """Ask about all subjects, in calls that run at the same time.

        A call asks about as many subjects as the context has room for, and at most `most`.

        Args:
            question: Builds the question about some of the subjects.

        Returns:
            A part of the answer for each subject, in order, and the usage of all calls.

        Raises:
            ReasonerUnavailable: The endpoint answers no call now.
        """
        calls = self._split_into_calls(subjects, question, most)
        found = await self._ask_all([question(call) for call in calls])
        return [part for one in found for part in one.parts.values()], sum_usage(found)

    async def _ask_all(self, questions: Sequence[Question]) -> list[Answered]:
        """Ask several questions concurrently.

        If a call fails, its failure stands for each of its parts.

        Raises:
            ReasonerUnavailable: The endpoint answers no call now.
        """
        return await asyncio.gather(*(self._ask_or_fail_parts(question) for question in questions))

    async def _ask_or_fail_parts(self, question: Question) -> Answered:
        try:
            return await self._ask(question)
        except ReasonerUnavailable:
            raise
        except QuestionTooLong as error:
            count = len(question.parts)
            lost = PromptCost(lost=count, losses={LossReason.TOO_LONG.value: count})
            usage = self.endpoint.ledger.note(Usage(((question.prompt.label, lost),)))
            return Answered(dict.fromkeys(question.parts, error), error.usage + usage)
        except ReasonerFailed as error:  # the asker counted its parts
            return Answered(dict.fromkeys(question.parts, error), error.usage)

    def _split_into_calls(
        self, subjects: Sequence[T], question: Callable[[Sequence[T]], Question], most: int
    ) -> list[list[T]]:
        """Split subjects into calls of at most `most` subjects.

        Each call fits into the model's context, if the data of one subject does.
        """
        context = self.endpoint.options.context_tokens
        room = context * SHARE_FOR_DATA
        out: list[list[T]] = []
        used = needed = 0.0
        for subject in subjects:
            asked = question([subject])
            size = count_tokens_in(asked.document) + asked.usual_tokens
            alone = count_tokens_needed(asked)
            more = alone - count_tokens_needed(Question(asked.prompt, {}, {}))
            full = not out or len(out[-1]) == most or used + size > room
            if full or needed + more > context:
                out.append([])
                used, needed = 0.0, alone - more
            out[-1].append(subject)
            used += size
            needed += more
        return out


def name_parties(user: Party, positive: Party, negative: Party | None) -> dict[str, Party]:
    """Name the parties of an interaction as the prompts of backward do."""
    named = zip(backward.NAMES, (user, positive, negative), strict=True)
    return {name: party for name, party in named if party is not None}


def sum_usage(answers: Iterable[Answered]) -> Usage:
    """Return the usage of several answers."""
    return sum((answered.usage for answered in answers), NO_USAGE)
