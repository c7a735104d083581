"""Reading a client's text: as it stands, merged first (RecNet 2.3, eq. 5, outside an interaction),
or as it was."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from propagation.model.clients.client import Client
from propagation.model.clients.client_text import ClientText
from propagation.model.errors import NotFound
from propagation.model.routers.router import RouterVersion
from propagation.ports.graph.graph_store import GraphStore, VersionClash
from propagation.ports.reasoner import Reasoner
from propagation.reception.merge import receive
from propagation.reception.message_buffer import fill_buffer
from propagation.workflow.concurrency.locks import ReadersWriterLock
from propagation.workflow.history.time_travel import TimeTravel
from propagation.workflow.settings import WorkflowSettings

REDONE = 5


@dataclass(frozen=True)
class ProfileReading:
    """A client, its text, and the messages in its buffer, newest first."""

    client: Client
    text: ClientText
    waiting: Sequence[RouterVersion] = ()


class ProfileReader:
    """`publish` is told texts that reading changed: their vectors follow."""

    def __init__(
        self,
        store: GraphStore,
        reasoner: Reasoner,
        settings: WorkflowSettings,
        publish: Callable[[Sequence[ClientText]], Awaitable[None]],
        past: TimeTravel,
        merging: ReadersWriterLock,
    ) -> None:
        self._store = store
        self._past = past
        self._reasoner = reasoner
        self._settings = settings
        self._publish = publish
        self._merging = merging

    async def read_current(self, ref: int) -> ProfileReading:
        """As it stands; nothing is merged."""
        client = await self._client(ref)
        text = (await self._store.load_texts([ref]))[ref]
        buffer = fill_buffer(ref, await self._arrived(text), self._settings.buffer)
        return ProfileReading(client, text, buffer.kept)

    async def read_merged(self, ref: int) -> ProfileReading:
        """With what waits merged, as a version of its own. Raises ReasonerFailed; VersionClash when
        other writers won five times in a row."""
        for attempt in range(REDONE):
            try:
                async with self._merging.read():
                    return await self._merge(ref)
            except VersionClash:
                if attempt == REDONE - 1:
                    raise
        raise AssertionError("unreachable")

    async def read_at(self, ref: int, sequence: int) -> ProfileReading:
        """As it was at a sequence that can be asked for (see past.py); an empty profile before its
        first version. Raises TooOld where retention dropped something meanwhile."""
        client = await self._client(ref, sequence)
        text = await self._store.text_at(ref, sequence)
        await self._past.check_kept(sequence)
        return ProfileReading(client, text or ClientText.empty(ref))

    async def _merge(self, ref: int) -> ProfileReading:
        last = await self._store.last_round() if self._settings.propagate else None
        taken_back = await self._store.last_withdrawal()
        client = await self._client(ref)
        text = (await self._store.load_texts([ref]))[ref]
        if last is None or text.watermark >= last.number:
            return ProfileReading(client, text)
        waiting = (await self._store.waiting_messages({ref: text.watermark}, last.number))[ref]
        reception = await receive(
            self._reasoner,
            client,
            text,
            waiting,
            last.number,
            self._settings.buffer,
            self._settings.profile_lines,
        )
        if reception.text is not text:
            await self._store.commit_texts(
                [reception.text],
                reception.merged,
                await self._store.recorded_through(),
                taken_back,
                reception.usage.author,
            )
            await self._publish([reception.text])
        return ProfileReading(client, reception.text)

    async def _client(self, ref: int, as_of: int | None = None) -> Client:
        """Raises NotFound where it was forgotten since its ref was found."""
        found = await self._store.get_clients([ref], as_of)
        if not found:
            raise NotFound("client", str(ref))
        return found[0]

    async def _arrived(self, text: ClientText) -> Sequence[RouterVersion]:
        ref = text.profile.ref
        return (
            (await self._store.waiting_messages({ref: text.watermark}))[ref]
            if self._settings.propagate
            else ()
        )
