"""The paper's prompts one by one.

Small models are asked so, and the fused prompts are compared with them.

An interaction takes 13 calls if every party heard something: three merges, one prediction, three
gradients, three profiles and three filter memories. Each router takes a call of its own.
"""

from collections.abc import Sequence

from propagation.adapters.openai.answers.questions import QuestionAsker, QuestionTooLong
from propagation.adapters.openai.endpoint.endpoint import Endpoint
from propagation.adapters.openai.prompts import (
    gradient,
    merge,
    optimizer,
    predict,
)
from propagation.adapters.openai.reasoner import (
    CatalogueLines,
    OpenAIReasoner,
    name_parties,
    sum_usage,
)
from propagation.model import Gradient, Module, ReasonerFailed, ReasonWork, keep_first
from propagation.ports import (
    AnswerPart,
    BackwardAnswer,
    ForwardAnswer,
    GraphStore,
    MergeAnswer,
    OptimizeAnswer,
    Party,
)

UNBOUNDED = 1 << 20


class PaperReasoner(OpenAIReasoner):
    """Asks each of the paper's prompts in a call of its own."""

    routers_a_call = 1

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        parties = (user, *candidates)
        hearing = [party for party in parties if party.messages]
        answers = await self._ask_all(
            [merge.build_question(party, self._form) for party in hearing]
        )
        merged = {
            party.client.ref: answered.parts["client"]
            for party, answered in zip(hearing, answers, strict=True)
        }
        merges = [merged.get(party.client.ref, MergeAnswer()) for party in parties]
        if len(candidates) == 1 or not self._predicts:
            return ForwardAnswer(merges, None, sum_usage(answers))
        first, second, third = (
            _apply_reception(party, part) for party, part in zip(parties, merges, strict=True)
        )
        answers += await self._ask_all([predict.build_question(first, second, third, self._form)])
        return ForwardAnswer(merges, answers[-1].parts["prediction"], sum_usage(answers))

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        parties = name_parties(user, positive, negative)
        credited = await self._ask_all(
            []
            if reward is None
            else [
                gradient.build_question(work, reward, name, one, self._form)
                for name, one in parties.items()
            ]
        )
        gradients = [
            one
            for answered in credited
            for part in answered.parts.values()
            if not isinstance(part, ReasonerFailed)
            for one in part
        ]
        of_clients = {
            name: [
                one
                for one in gradients
                if one.module != Module.ROUTER and one.owner == party.client.ref
            ]
            for name, party in parties.items()
        }
        asked = [
            optimizer.build_profile_question(
                work,
                reward,
                name,
                party,
                positive if party is user else user,
                of_clients[name],
                self._form,
            )
            for name, party in parties.items()
        ]
        hearing = [name for name, party in parties.items() if party.messages]
        asked += [
            optimizer.filter_question(
                work, reward, name, parties[name], of_clients[name], self._form
            )
            for name in hearing
        ]
        optimized = await self._ask_all(asked)
        parts = [answered.parts["client"] for answered in optimized]
        rules = dict(zip(hearing, parts[len(parties) :], strict=True))
        clients = [
            _join(part, rules.get(name, OptimizeAnswer(())))
            for name, part in zip(parties, parts[: len(parties)], strict=True)
        ]
        return BackwardAnswer(_drop_repeats(gradients), clients, sum_usage(credited + optimized))


class FusedReasoner(PaperReasoner):
    """Asks the fused prompts.

    Where the context is too small for one, the paper's are asked.
    """

    routers_a_call = OpenAIReasoner.routers_a_call

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        try:
            return await OpenAIReasoner.forward(self, work, user, candidates, scores)
        except QuestionTooLong:
            return await super().forward(work, user, candidates, scores)

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        try:
            return await OpenAIReasoner.backward(self, work, reward, user, positive, negative)
        except QuestionTooLong:
            return await super().backward(work, reward, user, positive, negative)


def _join(
    profile: AnswerPart[OptimizeAnswer], rules: AnswerPart[OptimizeAnswer]
) -> AnswerPart[OptimizeAnswer]:
    """Join a profile's edits and a filter memory's rules.

    If one of the two failed, the other is used alone.
    """
    if isinstance(rules, ReasonerFailed):
        return profile
    if isinstance(profile, ReasonerFailed):
        return rules if rules.rules else profile
    return OptimizeAnswer(profile.edits, rules.rules)


def _apply_reception(party: Party, answer: AnswerPart[MergeAnswer]) -> Party:
    """Return a client as it is after reception."""
    edits = () if isinstance(answer, ReasonerFailed) else answer.edits
    return Party(
        client=party.client,
        profile=party.profile.apply_edits(edits, UNBOUNDED),
        filter_memory=party.filter_memory,
    )


def _drop_repeats(gradients: Sequence[Gradient]) -> list[Gradient]:
    """Keep one gradient for each module and owner.

    A router that several clients heard is judged by the first.
    """
    return list(keep_first(((one.module, one.owner), one) for one in gradients).values())


def create_openai_reasoner(
    endpoint: Endpoint,
    store: GraphStore,
    describe_from_catalogue: CatalogueLines,
    asker: QuestionAsker | None = None,
) -> OpenAIReasoner:
    """Build the reasoner that the options choose; see OpenAIReasoner."""
    reasoner = FusedReasoner if endpoint.options.fused else PaperReasoner
    return reasoner(endpoint, store, describe_from_catalogue, asker)
