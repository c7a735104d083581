"""The paper's prompts one by one, for comparison with the fused ones.

That is 13 calls an interaction if every party heard something (three merges, one prediction, three
gradients, three profiles and three filter memories), and one router a call.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from propagation.adapters.openai.answers.questions import Answered
from propagation.adapters.openai.prompting import Question
from propagation.adapters.openai.prompts import (
    backward,
    gradient,
    merge,
    optimizer,
    predict,
    summarize,
)
from propagation.adapters.openai.reasoner import EMPTY, OpenAIReasoner
from propagation.model import NO_USAGE, Gradient, Module, Profile, ReasonerFailed, ReasonWork, Usage
from propagation.ports import (
    AnswerPart,
    BackwardAnswer,
    ForwardAnswer,
    Integration,
    MergeAnswer,
    OptimizeAnswer,
    Party,
    Prediction,
    SummarizeAnswer,
)

UNBOUNDED = 1 << 20


class PaperReasoner(OpenAIReasoner):
    """Asks each of the paper's prompts in a call of its own."""

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        parties = (user, *candidates)
        found = await asyncio.gather(*(self._merge(party) for party in parties))
        merges = [part for part, _ in found]
        usage = sum((more for _, more in found), NO_USAGE)
        if len(candidates) == 1:
            return ForwardAnswer(merges, None, usage)
        first, second, third = (
            _after(party, part) for party, part in zip(parties, merges, strict=True)
        )
        part, more = await self._part(predict.build_question(first, second, third), "prediction")
        prediction: AnswerPart[Prediction] = part
        return ForwardAnswer(merges, prediction, usage + more)

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        parties = dict(
            zip(
                backward.NAMES,
                (user, positive, negative) if negative else (user, positive),
                strict=False,
            )
        )
        gradients: list[Gradient] = []
        usage = NO_USAGE
        if reward is not None:
            for found, more in await asyncio.gather(
                *(self._credit(work, reward, name, party) for name, party in parties.items())
            ):
                gradients.extend(found)
                usage += more
        optimized = await asyncio.gather(
            *(
                self._optimize(
                    work, reward, name, party, positive if party is user else user, gradients
                )
                for name, party in parties.items()
            )
        )
        usage += sum((more for _, more in optimized), NO_USAGE)
        return BackwardAnswer(_once(gradients), [part for part, _ in optimized], usage)

    async def summarize(self, routers: Sequence[Integration]) -> SummarizeAnswer:
        found, usage = await self._several(routers, summarize.build_question, 1)
        return SummarizeAnswer(found, usage)

    async def _merge(self, party: Party) -> tuple[AnswerPart[MergeAnswer], Usage]:
        return (
            await self._part(merge.build_question(party), "client")
            if party.messages
            else (EMPTY, NO_USAGE)
        )

    async def _credit(
        self, work: ReasonWork, reward: int, name: str, party: Party
    ) -> tuple[list[Gradient], Usage]:
        answered = await self._failing_alone(gradient.build_question(work, reward, name, party))
        return [
            one
            for part in answered.parts.values()
            if not isinstance(part, ReasonerFailed)
            for one in part
        ], answered.usage

    async def _optimize(
        self,
        work: ReasonWork,
        reward: int | None,
        name: str,
        party: Party,
        other: Party,
        gradients: Sequence[Gradient],
    ) -> tuple[AnswerPart[OptimizeAnswer], Usage]:
        """Optimise the profile and the filter memory, each in a call of its own."""
        mine = [
            one
            for one in gradients
            if one.module != Module.ROUTER and one.owner == party.client.ref
        ]
        asked = [optimizer.profile_question(work, reward, name, party, other, mine)]
        if party.messages:
            asked.append(optimizer.filter_question(work, reward, name, party, mine))
        found = await asyncio.gather(*(self._part(question, "client") for question in asked))
        usage = sum((more for _, more in found), NO_USAGE)
        profile, rules = found[0][0], found[1][0] if len(found) > 1 else OptimizeAnswer(())
        if isinstance(profile, ReasonerFailed):
            return (
                profile if isinstance(rules, ReasonerFailed) or not rules.rules else rules
            ), usage
        return OptimizeAnswer(
            profile.edits, () if isinstance(rules, ReasonerFailed) else rules.rules
        ), usage

    async def _part(self, question: Question, name: str) -> tuple[Any, Usage]:
        answered: Answered = await self._failing_alone(question)
        return answered.parts[name], answered.usage


def _after(party: Party, answer: AnswerPart[MergeAnswer]) -> Party:
    """Return a client as it is after reception."""
    profile: Profile = party.profile
    if not isinstance(answer, ReasonerFailed):
        profile = profile.apply_edits(answer.edits, UNBOUNDED)
    return Party(client=party.client, profile=profile, filter_memory=party.filter_memory)


def _once(gradients: Sequence[Gradient]) -> list[Gradient]:
    """Keep one gradient a module: a router that several clients heard is judged by the first."""
    out: dict[tuple[Module, int], Gradient] = {}
    for one in gradients:
        out.setdefault((one.module, one.owner), one)
    return list(out.values())
