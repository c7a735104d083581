"""Stage 1 of Algorithm 1 (lines 4 to 11), for a claim of interactions: reception, prediction, credit, optimisation."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from propagation.model.client import Client
from propagation.model.errors import ReasonerFailed
from propagation.model.gradient import Gradient
from propagation.model.profile import EditClash
from propagation.model.router import RouterVersion
from propagation.model.text import ClientText, Merged, Reasoned, ReasonWork
from propagation.optimization.client_optimization import optimize_client
from propagation.optimization.credit import assign_credit
from propagation.optimization.prediction import predict
from propagation.ports.graph import GraphStore
from propagation.ports.reasoner import Party, Reasoner
from propagation.reception.first_text import described
from propagation.reception.merge import receive
from propagation.workflow.held_texts import HeldTexts
from propagation.workflow.settings import WorkflowSettings


async def turn_of_others() -> None:
    """Whatever else is due on this loop: an offline reasoner never waits by itself."""
    await asyncio.sleep(0)


@dataclass
class Desk:
    """What a claim's interactions read and write: texts move on only with interactions that succeeded."""

    clients: Mapping[int, Client]
    texts: dict[int, ClientText]
    waiting: dict[int, Sequence[RouterVersion]]
    last_round: int
    changed: dict[int, ClientText] = field(default_factory=dict)

    def move_on(self, now: Mapping[int, ClientText]) -> None:
        """An interaction is done: these are its clients' texts, and nothing waits for them any more."""
        for ref, text in now.items():
            if text is not self.texts[ref]:
                self.texts[ref] = self.changed[ref] = text
            self.waiting.pop(ref, None)


@dataclass
class Draft:
    """The texts of one interaction as they come about, and what is to be stored of it."""

    now: dict[int, ClientText]
    written: list[ClientText] = field(default_factory=list)
    merged: list[Merged] = field(default_factory=list)
    parties: dict[int, Party] = field(default_factory=dict)

    def take(self, ref: int, text: ClientText) -> None:
        """A client's newer version; the same object is no new version."""
        if text is not self.now[ref]:
            self.now[ref] = text
            self.written.append(text)


class Stage1:
    """Texts of interactions in sequence order; nothing is written before the caller commits."""

    def __init__(self, store: GraphStore, reasoner: Reasoner, settings: WorkflowSettings,
                 held: HeldTexts, give_way: Callable[[], Awaitable[None]] = turn_of_others) -> None:
        self._store = store
        self._reasoner = reasoner
        self._settings = settings
        self._give_way = give_way
        self.held = held

    async def reason(self, works: Sequence[ReasonWork], until: float) -> tuple[list[Reasoned], dict[int, ClientText]]:
        """What to commit, and the newest text of every client that changed. Stops after the interaction at which the
        monotonic clock passed `until` (seconds); the first is always done."""
        desk = await self._desk(works)
        results: list[Reasoned] = []
        for work in works:
            results.append(await self._tried(work, desk))
            if time.monotonic() >= until:
                break
            await self._give_way()
        return results, desk.changed

    def committed(self, texts: Mapping[int, ClientText]) -> None:
        """These are the stored texts now."""
        for ref, text in texts.items():
            self.held.put(ref, text)

    def forget(self, refs: Iterable[int]) -> None:
        """Somebody else wrote these clients' texts: load them again."""
        self.held.forget(refs)

    async def _desk(self, works: Sequence[ReasonWork]) -> Desk:
        refs = sorted({ref for work in works for ref in clients_of(work)})
        clients = {client.ref: client for client in await self._store.get_clients(refs)}
        texts = self.held.find(refs)
        missing = [ref for ref in refs if ref not in texts]
        if missing:
            texts.update(await self._store.load_texts(missing))
        last = await self._store.last_round() if self._settings.propagate else None
        waiting: dict[int, Sequence[RouterVersion]] = {}
        if last is not None:
            behind = {ref: text.watermark for ref, text in texts.items() if text.watermark < last.number}
            waiting = dict(await self._store.waiting_messages(behind))
        return Desk(clients, texts, waiting, last.number if last else 0)

    async def _tried(self, work: ReasonWork, desk: Desk) -> Reasoned:
        """One interaction, tried `reason_attempts` times with growing pauses; then a dead letter, so that the user's next
        interactions go on."""
        failure = ""
        for attempt in range(self._settings.reason_attempts):
            if attempt:
                await asyncio.sleep(self._settings.reason_backoff * 2 ** (attempt - 1))
            try:
                return await self._one(work, desk)
            except ReasonerFailed as error:
                failure = str(error)
            except EditClash as error:
                failure = f"edits a line that the profile does not have: {error}"
        return Reasoned(sequence=work.sequence, user=work.user, failure=failure)

    async def _one(self, work: ReasonWork, desk: Desk) -> Reasoned:
        """Algorithm 1, lines 6 to 10. Raises ReasonerFailed and EditClash; `desk` is as before then."""
        draft = Draft({ref: desk.texts[ref] for ref in clients_of(work)})
        for ref in draft.now:
            await self._receive(ref, draft, desk)
        reward, gradients = await self._judge(work, draft.parties)
        for ref, party in draft.parties.items():
            other = draft.parties[work.user if ref != work.user else work.item]
            draft.take(ref, await optimize_client(self._reasoner, work, reward, party, other, draft.now[ref], gradients,
                                                  self._settings.profile_lines))
        desk.move_on(draft.now)
        return Reasoned(sequence=work.sequence, user=work.user, reward=reward, texts=tuple(draft.written),
                                        gradients=tuple(gradients), merged=tuple(draft.merged))

    async def _receive(self, ref: int, draft: Draft, desk: Desk) -> None:
        """Line 6, for one client: its own text if nobody described it yet, then what waits in its buffer (eq. 5)."""
        client = desk.clients[ref]
        draft.take(ref, await described(self._reasoner, client, draft.now[ref], self._settings.profile_lines))
        reception = await receive(self._reasoner, client, draft.now[ref], desk.waiting.get(ref, ()), desk.last_round,
                                  self._settings.buffer, self._settings.profile_lines)
        draft.take(ref, reception.text)
        draft.merged.extend(reception.merged)
        draft.parties[ref] = Party(client=client, profile=reception.text.profile,
                                   filter_memory=reception.text.filter_memory, messages=reception.messages)

    async def _judge(self, work: ReasonWork, parties: Mapping[int, Party]) -> tuple[int | None, Sequence[Gradient]]:
        """Lines 7 and 9: the reward (eq. 6, 7) and the gradients (eq. 8); neither without a negative to predict against."""
        if work.negative is None:
            return None, ()
        user, positive, negative = parties[work.user], parties[work.item], parties[work.negative]
        reward = await predict(self._reasoner, work, user, positive, negative, self._settings.seed)
        return reward, await assign_credit(self._reasoner, work, reward, user, positive, negative)


def clients_of(work: ReasonWork) -> list[int]:
    """The user, the positive item and, where there is one, the negative."""
    return [work.user, work.item] if work.negative is None else [work.user, work.item, work.negative]
