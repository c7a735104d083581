"""One interaction (stage 1 of Algorithm 1): receive, predict, assign credit, optimise.

Nothing is written here: the caller commits.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from propagation.model import (
    NO_USAGE,
    AddLine,
    Author,
    Client,
    ClientKind,
    ClientText,
    DropLine,
    Edit,
    EditClash,
    LeaseLost,
    MessageMerge,
    ReasonedInteraction,
    ReasonerFailed,
    ReasonerGaveUp,
    ReasonerUnavailable,
    ReasonWork,
    RouterVersion,
    Usage,
    get_kind,
    group_pairs,
)
from propagation.optimization.client_optimization import apply_optimization, drop_rules
from propagation.optimization.credit_assignment import keep_gradients_of_participants
from propagation.optimization.prediction import ForwardResult, receive_and_predict
from propagation.ports import (
    AnswerPart,
    Exchanges,
    InteractionReader,
    MergeAnswer,
    OptimizeAnswer,
    Party,
    Reasoner,
    noting_exchanges,
)
from propagation.reception.merge import Inbox, apply_merge, fill_inbox
from propagation.workflow.index import create_client_text_cache
from propagation.workflow.settings import WorkflowSettings


@dataclass
class WorkingSet:
    """Clients, their texts and their waiting messages, as interactions read them.

    `move_on` updates the set after each interaction that succeeds.

    Attributes:
        waiting: Messages that wait for a client, newest first.
        last_round: The newest round that was looked at for messages; 0: none.
    """

    clients: Mapping[int, Client]
    texts: dict[int, ClientText]
    waiting: dict[int, Sequence[RouterVersion]]
    last_round: int

    def move_on(self, texts: Mapping[int, ClientText]) -> None:
        """Take over the texts after an interaction.

        The messages that waited for its clients are dropped from the set.
        """
        self.texts.update(texts)
        for ref in texts:
            self.waiting.pop(ref, None)


@dataclass
class Draft:
    """The texts of one interaction, and the answers they came from.

    The answers are kept so that they can be applied to newer texts (rebase.py).

    Attributes:
        now: Newest text by client.
        written: All new versions, in order.
        merged: What became of messages.
        parties: The clients after reception.
        first_edits: Answers for first profiles, by client.
        inboxes: The inboxes that were merged.
        merges: Answers for them, in order.
        optimizations: Answers of the optimisation, in the parties' order.
    """

    now: dict[int, ClientText]
    written: list[ClientText] = field(default_factory=list)
    merged: list[MessageMerge] = field(default_factory=list)
    parties: list[Party] = field(default_factory=list)
    usage: Usage = NO_USAGE
    first_edits: dict[int, Sequence[Edit]] = field(default_factory=dict)
    inboxes: list[Inbox] = field(default_factory=list)
    merges: Sequence[AnswerPart[MergeAnswer]] = ()
    optimizations: Sequence[AnswerPart[OptimizeAnswer]] = ()

    def add(self, ref: int, text: ClientText) -> None:
        """Add a client's next version; the same object is no new version."""
        if text is not self.now[ref]:
            self.now[ref] = text
            self.written.append(text)


@dataclass(frozen=True)
class DraftedInteraction:
    """An interaction as it is to be committed, and its draft.

    A dead letter has no draft.
    """

    reasoned: ReasonedInteraction
    draft: Draft | None = None


class InteractionReasoning:
    """Drafts the texts of interactions, in sequence order.

    Attributes:
        keep_for: As in ports/reasoner.py.
    """

    def __init__(
        self,
        store: InteractionReader,
        reasoner: Reasoner,
        settings: WorkflowSettings,
        yield_to_calls: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._reasoner = reasoner
        self.keep_for = reasoner.keep_for
        self._settings = settings
        self.yield_to_calls = yield_to_calls
        self.cache = create_client_text_cache(store)

    async def load_working_set(
        self, works: Sequence[ReasonWork], drafted: Mapping[int, ClientText]
    ) -> WorkingSet:
        """Load the clients, texts and messages that these interactions read.

        Args:
            drafted: Texts by client that are drafted and not stored yet.
        """
        refs = sorted(list_clients_of_all(works))
        return await self._load(
            refs, self.cache.find(refs) | {ref: drafted[ref] for ref in refs if ref in drafted}
        )

    async def load_newest_working_set(self, work: ReasonWork) -> WorkingSet:
        """Load one interaction's clients with the graph's newest texts."""
        refs = list_clients_of(work)
        return await self._load(refs, dict(await self.cache.load_newest(refs)))

    async def reason(
        self, works: Sequence[ReasonWork], working_set: WorkingSet, enough: Callable[[int], bool]
    ) -> list[ReasonedInteraction]:
        """Reason interactions, at least the first, and move the working set on.

        If the reasoner takes several interactions at a time, those that share no client run
        concurrently; the order in which they end changes nothing.

        Args:
            enough: Called with the number of interactions done; returns whether to stop.
        """
        if self._reasoner.concurrency > 1:
            return await self._reason_concurrently(works, working_set, enough)
        results: list[ReasonedInteraction] = []
        for work in works:
            results.append(await self._reason_one(work, working_set))
            if enough(len(results)):
                break
            await self.yield_to_calls()
        return results

    async def draft(self, work: ReasonWork, working_set: WorkingSet) -> DraftedInteraction:
        """Draft one interaction, with growing pauses between attempts.

        The working set is not changed. After `reason_attempts` failures, or at once if the reasoner
        gives up, the interaction is a dead letter, which does not block the user's next
        interactions.

        Raises:
            ReasonerUnavailable: The reasoner answers nothing now; no attempt is counted.
        """
        failure, usage, attempts = "", NO_USAGE, 0
        exchanges = Exchanges()
        while attempts < self._settings.reason_attempts:
            if attempts:
                await asyncio.sleep(self._settings.reason_backoff * 2 ** (attempts - 1))
            attempts += 1
            try:
                with noting_exchanges(exchanges):
                    return await self._draft_once(work, working_set, usage)
            except ReasonerUnavailable:
                raise
            except ReasonerFailed as error:
                failure = str(error)
                usage += error.usage
                if isinstance(error, ReasonerGaveUp):
                    break
            except EditClash as error:
                failure = f"the answer edits a line that the profile does not have: {error}"
        return DraftedInteraction(
            ReasonedInteraction(
                sequence=work.sequence,
                user=work.user,
                failure=failure,
                attempts=attempts,
                exchange=exchanges.last.cut(),
                usage=usage,
            )
        )

    async def _draft_once(
        self, work: ReasonWork, working_set: WorkingSet, usage: Usage
    ) -> DraftedInteraction:
        """Run Algorithm 1, lines 6 to 10.

        Args:
            usage: What earlier attempts cost.

        Raises:
            ReasonerFailed: There is no answer.
            EditClash: An answer edits a line that does not exist.
        """
        draft = Draft({ref: working_set.texts[ref] for ref in list_clients_of(work)})
        await self._describe(draft, working_set)  # eq. 1
        predicted = await self._receive_and_predict(work, draft, working_set)  # eq. 5 to 7
        reward = predicted.reward
        user, positive, *rest = draft.parties
        negative = rest[0] if rest else None
        answer = await self._reasoner.backward(work, reward, user, positive, negative)  # eq. 8, 9
        draft.usage += answer.usage
        draft.optimizations = (
            answer.clients
            if self._settings.filter_memory
            else [drop_rules(part) for part in answer.clients]
        )
        for party, part in zip(draft.parties, draft.optimizations, strict=True):
            ref = party.client.ref
            draft.add(ref, apply_optimization(draft.now[ref], part, self._settings.profile_lines))
        reasoned = ReasonedInteraction(
            sequence=work.sequence,
            user=work.user,
            reward=reward,
            texts=tuple(draft.written),
            merges=tuple(draft.merged),
            gradients=tuple(keep_gradients_of_participants(answer.gradients, draft.parties)),
            usage=usage + draft.usage if usage else draft.usage,
            predicted_by=predicted.predicted_by,
        )
        return DraftedInteraction(reasoned, draft)

    async def _describe(self, draft: Draft, working_set: WorkingSet) -> None:
        """Write the first profiles of clients that have none yet."""
        new = [
            ref
            for ref, text in draft.now.items()
            if not text.profile.version and working_set.clients[ref].has_text
        ]
        if not new:
            return
        answer = await self._reasoner.extract([working_set.clients[ref] for ref in new])
        draft.usage += answer.usage
        for ref, edits in zip(new, answer.edits, strict=True):
            if not isinstance(edits, ReasonerFailed):
                draft.first_edits[ref] = edits
                draft.add(ref, describe_client(draft.now[ref], edits, self._settings.profile_lines))

    async def _receive_and_predict(
        self, work: ReasonWork, draft: Draft, working_set: WorkingSet
    ) -> ForwardResult:
        """Merge the messages in each buffer, and predict (lines 6 and 7)."""
        draft.inboxes = [
            fill_inbox(
                working_set.clients[ref],
                text,
                working_set.waiting.get(ref, ()),
                self._settings.buffer,
            )
            for ref, text in draft.now.items()
        ]
        unshared = await self._list_unshared_lines(draft.now)
        parties = [inbox.build_party(unshared[inbox.client.ref]) for inbox in draft.inboxes]
        result = await receive_and_predict(self._reasoner, work, parties, self._settings.seed)
        draft.usage += result.usage
        draft.merges = result.merges
        for inbox, answer in zip(draft.inboxes, result.merges, strict=True):
            reception = apply_merge(
                inbox, answer, working_set.last_round, self._settings.profile_lines
            )
            text = reception.text
            draft.add(text.profile.ref, text)
            draft.merged.extend(reception.merged)
            draft.parties.append(
                Party(
                    client=inbox.client,
                    profile=text.profile,
                    filter_memory=text.filter_memory,
                    messages=reception.messages,
                    unshared=unshared[text.profile.ref],
                )
            )
        return result

    async def _list_unshared_lines(
        self, texts: Mapping[int, ClientText]
    ) -> dict[int, frozenset[int]]:
        """Find items' lines that rest on fewer than `min_support` users.

        They are looked for only if a language model reasons. The offline reasoner writes a user's
        lines from the catalogue, so it needs no such check.

        Returns:
            Ids of the lines by client, for all clients of `texts`.
        """
        if not self._reasoner.asks_model:
            return dict.fromkeys(texts, frozenset())
        written = {
            (ref, line.id): [one.sequence for one in line.sources if one.sequence is not None]
            for ref, text in texts.items()
            if get_kind(ref) == ClientKind.ITEM
            for line in text.profile.lines
            if line.author is Author.INTERACTION
        }
        asked = sorted({sequence for found in written.values() for sequence in found})
        rows = await self._store.get_interactions(asked) if asked else ()
        users = {row.sequence: row.user for row in rows}
        unshared = group_pairs(
            (ref, line)
            for (ref, line), found in written.items()
            if len({users[sequence] for sequence in found if sequence in users})
            < self._settings.min_support
        )
        return {ref: frozenset(unshared.get(ref, ())) for ref in texts}

    async def _reason_one(self, work: ReasonWork, working_set: WorkingSet) -> ReasonedInteraction:
        drafted = await self.draft(work, working_set)
        if drafted.draft is not None:
            working_set.move_on(drafted.draft.now)
        return drafted.reasoned

    async def _reason_concurrently(
        self, works: Sequence[ReasonWork], working_set: WorkingSet, enough: Callable[[int], bool]
    ) -> list[ReasonedInteraction]:
        """Reason interactions concurrently, but in order where they share a client."""
        slots, ended = asyncio.Semaphore(self._reasoner.concurrency), 0
        last: dict[int, asyncio.Task[ReasonedInteraction | None]] = {}

        async def process_in_turn(
            work: ReasonWork, before: Sequence[asyncio.Task[ReasonedInteraction | None]]
        ) -> ReasonedInteraction | None:
            nonlocal ended
            for earlier in before:
                if await earlier is None:
                    return None
            async with slots:
                if work is not works[0] and enough(ended):
                    return None
                done = await self._reason_one(work, working_set)
            ended += 1
            return done

        tasks = []
        for work in works:
            task = asyncio.create_task(
                process_in_turn(work, [last[ref] for ref in list_clients_of(work) if ref in last])
            )
            last.update(dict.fromkeys(list_clients_of(work), task))
            tasks.append(task)
        try:
            return [done for done in await asyncio.gather(*tasks) if done is not None]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _load(self, refs: Sequence[int], texts: dict[int, ClientText]) -> WorkingSet:
        """Load clients, missing texts and waiting messages.

        The texts are without rules about replaced routers.

        Args:
            texts: Texts that are known already; the missing ones are added.

        Raises:
            LeaseLost: A client was erased meanwhile.
        """
        clients, loaded, bootstrap = await asyncio.gather(
            self._store.get_clients(refs),
            self._store.load_texts([ref for ref in refs if ref not in texts]),
            self._store.get_bootstrap_sequence(),
        )
        found = {client.ref: client for client in clients}
        if len(found) < len(refs):
            raise LeaseLost("another process erased one of the clients, so this claim is void")
        texts.update(loaded)
        texts = {ref: text.with_rules_since(bootstrap) for ref, text in texts.items()}
        last = await self._store.get_last_round() if self._settings.propagate else None
        waiting: dict[int, Sequence[RouterVersion]] = {}
        if last is not None:
            behind = {
                ref: text.watermark for ref, text in texts.items() if text.watermark < last.number
            }
            waiting = dict(await self._store.get_waiting_messages(behind, last.number))
        return WorkingSet(found, texts, waiting, last.number if last else 0)


def describe_client(text: ClientText, edits: Sequence[Edit], max_lines: int) -> ClientText:
    """Replace a profile's catalogue lines by those that `edits` add.

    Returns:
        The new text; the same object if the lines are the same.
    """
    old = [line for line in text.profile.lines if line.author == Author.CATALOGUE]
    new = [edit.line for edit in edits if isinstance(edit, AddLine)]
    if [(line.text, line.attributes) for line in old] == [
        (line.text, line.attributes) for line in new
    ]:
        return text
    changes: list[Edit] = [DropLine(id=line.id) for line in old]
    changes += [AddLine(line=line) for line in new]
    return replace(text, profile=text.profile.apply_edits(changes, max_lines))


def list_clients_of(work: ReasonWork) -> list[int]:
    """List the user, the positive item and any negative item."""
    refs = [work.user, work.item]
    return refs if work.negative is None else [*refs, work.negative]


def list_clients_of_all(works: Iterable[ReasonWork]) -> set[int]:
    """Collect the clients of several interactions."""
    return {ref for work in works for ref in list_clients_of(work)}


def get_newest_texts(results: Iterable[ReasonedInteraction]) -> dict[int, ClientText]:
    """Return the newest text of each client that changed."""
    return {text.profile.ref: text for result in results for text in result.texts}
