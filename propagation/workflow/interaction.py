"""Stage 1 of Algorithm 1 (lines 4 to 11), for a claim of interactions: reception, prediction, credit, optimisation."""

from collections.abc import Mapping, Sequence

from propagation.model.client import Client
from propagation.model.errors import ReasonerFailed
from propagation.model.gradient import Gradient
from propagation.model.router import RouterVersion
from propagation.model.text import ClientText, Merged, ReasonClaim, Reasoned, ReasonWork
from propagation.optimization.client_optimization import optimize_client
from propagation.optimization.prediction import predict
from propagation.ports.graph import GraphStore
from propagation.ports.reasoner import Party, Reasoner
from propagation.reception.merge import receive
from propagation.workflow.settings import WorkflowSettings


class Stage1:
    """Texts of one claim, in sequence order; nothing is written before the caller commits."""

    def __init__(self, store: GraphStore, reasoner: Reasoner, settings: WorkflowSettings) -> None:
        self._store = store
        self._reasoner = reasoner
        self._settings = settings

    async def reason(self, claim: ReasonClaim) -> tuple[list[Reasoned], dict[int, ClientText]]:
        """What to commit, and the newest text of every client that changed."""
        refs = sorted({ref for work in claim.work for ref in (work.user, work.item, work.negative) if ref is not None})
        clients = {client.ref: client for client in await self._store.get_clients(refs)}
        texts = dict(await self._store.load_texts(refs))
        last = await self._store.last_round() if self._settings.propagate else None
        waiting: dict[int, Sequence[RouterVersion]] = {}
        if last is not None:
            behind = {ref: text.watermark for ref, text in texts.items() if text.watermark < last.number}
            waiting = dict(await self._store.waiting_messages(behind, last.number))
        round_number = last.number if last else 0
        before = dict(texts)
        results = []
        for work in claim.work:
            try:
                results.append(await self._one(work, clients, texts, waiting, round_number))
            except ReasonerFailed as error:
                results.append(Reasoned(sequence=work.sequence, user=work.user, failure=str(error)))
        return results, {ref: text for ref, text in texts.items() if text is not before[ref]}

    async def _one(self, work: ReasonWork, clients: Mapping[int, Client], texts: dict[int, ClientText],
                   waiting: dict[int, Sequence[RouterVersion]], last_round: int) -> Reasoned:
        """One interaction; `texts` and `waiting` move on only when all of it succeeded."""
        refs = [ref for ref in (work.user, work.item, work.negative) if ref is not None]
        written: list[ClientText] = []
        merged: list[Merged] = []
        parties: dict[int, Party] = {}
        now: dict[int, ClientText] = {}
        for ref in refs:
            reception = await receive(self._reasoner, clients[ref], texts[ref], waiting.get(ref, ()), last_round,
                                      self._settings.buffer, self._settings.profile_lines)
            now[ref] = reception.text
            merged.extend(reception.merged)
            if reception.text is not texts[ref]:
                written.append(reception.text)
            parties[ref] = Party(client=clients[ref], profile=reception.text.profile,
                                 filter_memory=reception.text.filter_memory, messages=reception.messages)
        user, positive = parties[work.user], parties[work.item]
        negative = parties[work.negative] if work.negative is not None else None
        reward: int | None = None
        gradients: Sequence[Gradient] = ()
        if negative is not None:
            reward = await predict(self._reasoner, work, user, positive, negative, self._settings.seed)
            gradients = await self._reasoner.assign_credit(work, reward, user, positive, negative)
        for ref in refs:
            other = user if ref != work.user else positive
            after = await optimize_client(self._reasoner, work, reward, parties[ref], other, now[ref], gradients,
                                          self._settings.profile_lines)
            if after is not now[ref]:
                written.append(after)
                now[ref] = after
        texts.update(now)
        for ref in refs:
            waiting.pop(ref, None)
        return Reasoned(sequence=work.sequence, user=work.user, reward=reward, texts=tuple(written),
                        gradients=tuple(gradients), merged=tuple(merged))
