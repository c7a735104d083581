"""Stage 1 of Algorithm 1 (lines 4 to 11), for a claim of interactions: reception, prediction,
credit, optimisation."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from propagation.model.clients.client import Client
from propagation.model.clients.client_text import ClientText, MessageMerge
from propagation.model.clients.profile import Edit, EditClash
from propagation.model.errors import ReasonerFailed, ReasonerGaveUp, ReasonerUnavailable
from propagation.model.interactions.reasoning import ReasonedInteraction, ReasonWork
from propagation.model.routers.router import RouterVersion
from propagation.model.usage import NO_USAGE, Usage
from propagation.optimization.client_optimization import optimized
from propagation.optimization.credit_assignment import of_those_that_took_part
from propagation.optimization.prediction import receive_and_predict
from propagation.ports.graph.reason import InteractionReader
from propagation.ports.reasoner import AnswerPart, MergeAnswer, OptimizeAnswer, Party, Reasoner
from propagation.reception.initial_profile import described, undescribed
from propagation.reception.merge import Inbox, inbox, received
from propagation.workflow.concurrency.tasks import yield_to_loop
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views.client_texts import ClientTextCache


@dataclass
class WorkingSet:
    """What a claim's interactions read and write: texts move on only with interactions that
    succeeded."""

    clients: Mapping[int, Client]
    texts: dict[int, ClientText]
    waiting: dict[int, Sequence[RouterVersion]]
    last_round: int

    def move_on(self, now: Mapping[int, ClientText]) -> None:
        """An interaction is done: these are its clients' texts, and nothing waits for them any
        more."""
        self.texts.update(now)
        for ref in now:
            self.waiting.pop(ref, None)


@dataclass
class Draft:
    """The texts of one interaction as they come about, and what is to be stored of it; what the
    reasoner said (`first` texts, `merges` of the `inboxes`, what was `learned`), so that it can be
    applied to newer texts too."""

    now: dict[int, ClientText]
    written: list[ClientText] = field(default_factory=list)
    merged: list[MessageMerge] = field(default_factory=list)
    parties: list[Party] = field(default_factory=list)
    usage: Usage = NO_USAGE
    first: dict[int, Sequence[Edit]] = field(default_factory=dict)
    inboxes: list[Inbox] = field(default_factory=list)
    merges: Sequence[AnswerPart[MergeAnswer]] = ()
    learned: Sequence[AnswerPart[OptimizeAnswer]] = ()

    def take(self, ref: int, text: ClientText) -> None:
        """A client's newer version; the same object is no new version."""
        if text is not self.now[ref]:
            self.now[ref] = text
            self.written.append(text)


class InteractionReasoning:
    """Texts of interactions in sequence order; nothing is written before the caller commits."""

    def __init__(
        self,
        store: InteractionReader,
        reasoner: Reasoner,
        settings: WorkflowSettings,
        held: ClientTextCache[ClientText],
        yield_to_calls: Callable[[], Awaitable[None]] = yield_to_loop,
    ) -> None:
        self._store = store
        self._reasoner = reasoner
        self._settings = settings
        self.yield_to_calls = yield_to_calls
        self.held = held

    async def working_set(
        self, works: Sequence[ReasonWork], drafted: Mapping[int, ClientText]
    ) -> WorkingSet:
        """What these interactions find: their clients' texts, as `drafted` and not stored yet or
        held, and what waits for them."""
        refs = sorted(clients_of_all(works))
        return await self._working_set(
            refs, self.held.find(refs) | {ref: drafted[ref] for ref in refs if ref in drafted}
        )

    async def reason(
        self, works: Sequence[ReasonWork], working_set: WorkingSet, enough: Callable[[int], bool]
    ) -> list[ReasonedInteraction]:
        """What to commit; the working_set has the texts it leads to. Stops after the interaction at which
        `enough` (told how many are done) holds; the first is always done. Where the reasoner takes
        several at a time, interactions that share no client run side by side, and the order in
        which they end changes nothing."""
        if self._reasoner.concurrency > 1:
            return await self._side_by_side(works, working_set, enough)
        results: list[ReasonedInteraction] = []
        for work in works:
            results.append(await self._tried(work, working_set))
            if enough(len(results)):
                break
            await self.yield_to_calls()
        return results

    def committed(self, texts: Mapping[int, ClientText]) -> None:
        """These are the stored texts now."""
        for ref, text in texts.items():
            self.held.put(ref, text)

    def forget(self, refs: Iterable[int]) -> None:
        """Somebody else wrote these clients' texts: load them again."""
        self.held.forget(refs)

    async def newest_working_set(self, work: ReasonWork) -> WorkingSet:
        """One interaction on the graph's newest texts."""
        refs = clients_of(work)
        return await self._working_set(refs, dict(await self.held.newest(refs)))

    async def _side_by_side(
        self, works: Sequence[ReasonWork], working_set: WorkingSet, enough: Callable[[int], bool]
    ) -> list[ReasonedInteraction]:
        """Each after those before it that it shares a client with."""
        places, ended = asyncio.Semaphore(self._reasoner.concurrency), 0
        last: dict[int, asyncio.Task[ReasonedInteraction | None]] = {}

        async def in_turn(
            work: ReasonWork, before: Sequence[asyncio.Task[ReasonedInteraction | None]]
        ) -> ReasonedInteraction | None:
            nonlocal ended
            for earlier in before:
                if await earlier is None:
                    return None
            async with places:
                if work is not works[0] and enough(ended):
                    return None
                done = await self._tried(work, working_set)
            ended += 1
            return done

        tasks = []
        for work in works:
            task = asyncio.create_task(
                in_turn(work, [last[ref] for ref in clients_of(work) if ref in last])
            )
            last.update(dict.fromkeys(clients_of(work), task))
            tasks.append(task)
        try:
            return [done for done in await asyncio.gather(*tasks) if done is not None]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _working_set(self, refs: Sequence[int], texts: dict[int, ClientText]) -> WorkingSet:
        missing = [ref for ref in refs if ref not in texts]
        found, loaded = await asyncio.gather(self._store.get_clients(refs), self._load(missing))
        clients = {client.ref: client for client in found}
        texts.update(loaded)
        last = await self._store.last_round() if self._settings.propagate else None
        waiting: dict[int, Sequence[RouterVersion]] = {}
        if last is not None:
            behind = {
                ref: text.watermark for ref, text in texts.items() if text.watermark < last.number
            }
            waiting = dict(await self._store.waiting_messages(behind, last.number))
        return WorkingSet(clients, texts, waiting, last.number if last else 0)

    async def _load(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        """Nothing is asked for no clients: it would be a round trip."""
        return await self._store.load_texts(refs) if refs else {}

    async def _tried(self, work: ReasonWork, working_set: WorkingSet) -> ReasonedInteraction:
        return await self.tried(work, lambda: self._one(work, working_set))

    async def tried(
        self, work: ReasonWork, once: Callable[[], Awaitable[ReasonedInteraction]]
    ) -> ReasonedInteraction:
        """One interaction, tried `reason_attempts` times with growing pauses; then a dead letter,
        so that the user's next interactions go on. Raises ReasonerUnavailable."""
        failure, usage = "", NO_USAGE
        for attempt in range(self._settings.reason_attempts):
            if attempt:
                await asyncio.sleep(self._settings.reason_backoff * 2 ** (attempt - 1))
            try:
                done = await once()
                return replace(done, usage=usage + done.usage) if usage else done
            except ReasonerUnavailable:
                raise
            except ReasonerFailed as error:
                failure = str(error)
                usage += error.usage
                if isinstance(error, ReasonerGaveUp):
                    break
            except EditClash as error:
                failure = f"edits a line that the profile does not have: {error}"
        return ReasonedInteraction(
            sequence=work.sequence, user=work.user, failure=failure, usage=usage
        )

    async def _one(self, work: ReasonWork, working_set: WorkingSet) -> ReasonedInteraction:
        """One interaction on the working_set, which is as before where it raises ReasonerFailed or
        EditClash."""
        draft, done = await self.draft(work, working_set)
        working_set.move_on(draft.now)
        return done

    async def draft(
        self, work: ReasonWork, working_set: WorkingSet
    ) -> tuple[Draft, ReasonedInteraction]:
        """Algorithm 1, lines 6 to 10, on the texts of the working_set, which stays as it is. Raises
        ReasonerFailed and EditClash."""
        draft = Draft({ref: working_set.texts[ref] for ref in clients_of(work)})
        await self._first_texts(draft, working_set)
        reward = await self._receive_and_predict(work, draft, working_set)
        user, positive, *rest = draft.parties
        answer = await self._reasoner.backward(
            work, reward, user, positive, rest[0] if rest else None
        )
        draft.usage += answer.usage
        draft.learned = answer.clients
        for party, part in zip(draft.parties, answer.clients, strict=True):
            ref = party.client.ref
            draft.take(ref, optimized(draft.now[ref], part, self._settings.profile_lines))
        return draft, ReasonedInteraction(
            sequence=work.sequence,
            user=work.user,
            reward=reward,
            texts=tuple(draft.written),
            merges=tuple(draft.merged),
            gradients=tuple(of_those_that_took_part(answer.gradients, draft.parties)),
            usage=draft.usage,
        )

    async def _first_texts(self, draft: Draft, working_set: WorkingSet) -> None:
        """The own text of clients that nobody described yet (eq. 1)."""
        new = [
            ref for ref, text in draft.now.items() if undescribed(working_set.clients[ref], text)
        ]
        if not new:
            return
        answer = await self._reasoner.extract([working_set.clients[ref] for ref in new])
        draft.usage += answer.usage
        for ref, edits in zip(new, answer.edits, strict=True):
            if not isinstance(edits, ReasonerFailed):
                draft.first[ref] = edits
                draft.take(ref, described(draft.now[ref], edits, self._settings.profile_lines))

    async def _receive_and_predict(
        self, work: ReasonWork, draft: Draft, working_set: WorkingSet
    ) -> int | None:
        """Lines 6 and 7: what waits in each buffer is merged, and the reward."""
        inboxes = [
            inbox(
                working_set.clients[ref],
                text,
                working_set.waiting.get(ref, ()),
                self._settings.buffer,
            )
            for ref, text in draft.now.items()
        ]
        merges, reward, usage = await receive_and_predict(
            self._reasoner, work, [one.party for one in inboxes], self._settings.seed
        )
        draft.usage += usage
        draft.inboxes, draft.merges = inboxes, merges
        for waits, answer in zip(inboxes, merges, strict=True):
            reception = received(
                waits, answer, working_set.last_round, self._settings.profile_lines
            )
            text = reception.text
            draft.take(text.profile.ref, text)
            draft.merged.extend(reception.merged)
            draft.parties.append(
                Party(
                    client=waits.client,
                    profile=text.profile,
                    filter_memory=text.filter_memory,
                    messages=reception.messages,
                )
            )
        return reward


def clients_of(work: ReasonWork) -> list[int]:
    """The user, the positive item and, where there is one, the negative."""
    return (
        [work.user, work.item] if work.negative is None else [work.user, work.item, work.negative]
    )


def clients_of_all(works: Iterable[ReasonWork]) -> set[int]:
    """Of several, each once."""
    return {ref for work in works for ref in clients_of(work)}
