"""Profiles for reads: merged first, as they are, or as they were.

Source: RecNet 2.3, eq. 5, outside an interaction.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from propagation.model import Author, Client, ClientText, NotFound, RouterVersion
from propagation.ports import GraphStore, Reasoner, VersionClash
from propagation.reception.merge import receive
from propagation.reception.message_buffer import fill_buffer
from propagation.workflow.concurrency import ReadersWriterLock
from propagation.workflow.history.time_travel import TimeTravel
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.settings import WorkflowSettings

ATTEMPTS = 5


@dataclass(frozen=True)
class ProfileReading:
    """A client with its text.

    Attributes:
        waiting: Messages in its buffer, newest first.
    """

    client: Client
    text: ClientText
    waiting: Sequence[RouterVersion] = ()

    def without_messages(self) -> "ProfileReading":
        """Leave out what came by propagation: reception's lines, and waiting messages."""
        profile = self.text.profile
        own = tuple(line for line in profile.lines if line.author != Author.RECEPTION)
        text = replace(self.text, profile=replace(profile, lines=own))
        return replace(self, text=text, waiting=())


@dataclass
class ProfileReader:
    """Reads the profiles of clients; reads that merge messages write new versions."""

    store: GraphStore
    reasoner: Reasoner
    settings: WorkflowSettings
    vectors: VectorSync
    time_travel: TimeTravel
    merging: ReadersWriterLock

    async def read_current(self, ref: int) -> ProfileReading:
        """Return a client's current profile; merge nothing.

        Raises:
            NotFound: The client was erased since its ref was found.
        """
        client = await self._client(ref)
        text = (await self.store.load_texts([ref]))[ref]
        if not self.settings.propagate:
            return ProfileReading(client, text)
        waiting = (await self.store.waiting_messages({ref: text.watermark}))[ref]
        return ProfileReading(client, text, fill_buffer(waiting, self.settings.buffer).kept)

    async def read_merged(self, ref: int) -> ProfileReading:
        """Merge the waiting messages into a profile, and return its new version.

        Raises:
            NotFound: The client was erased since its ref was found.
            ReasonerFailed: The reasoner gave no usable answer.
            VersionClash: Other writers committed first five times in a row.
        """
        async with self.merging.read():
            for _ in range(ATTEMPTS - 1):
                with suppress(VersionClash):
                    return await self._merge(ref)
            return await self._merge(ref)

    async def read_at(self, ref: int, sequence: int) -> ProfileReading:
        """Return a client's profile at a sequence.

        Args:
            sequence: One that TimeTravel allows.

        Returns:
            An empty one before its first version.

        Raises:
            NotFound: The client was erased since its ref was found.
            TooOld: Retention dropped something meanwhile.
        """
        client = await self._client(ref, sequence)
        text = await self.store.text_at(ref, sequence)
        await self.time_travel.check_kept(sequence)
        return ProfileReading(client, text or ClientText.empty(ref))

    async def _merge(self, ref: int) -> ProfileReading:
        last = await self.store.last_round() if self.settings.propagate else None
        last_withdrawal = await self.store.last_withdrawal()
        client = await self._client(ref)
        text = (await self.store.load_texts([ref]))[ref]
        if last is None or text.watermark >= last.number:
            return ProfileReading(client, text)
        waiting = (await self.store.waiting_messages({ref: text.watermark}, last.number))[ref]
        reception = await receive(
            self.reasoner,
            client,
            text,
            waiting,
            last.number,
            self.settings.buffer,
            self.settings.profile_lines,
        )
        if reception.text is not text:
            await self.store.commit_texts(
                [reception.text],
                reception.merged,
                await self.store.recorded_through(),
                last_withdrawal,
                reception.usage.author,
            )
            await self.vectors.publish([reception.text])
        return ProfileReading(client, reception.text)

    async def _client(self, ref: int, as_of: int | None = None) -> Client:
        found = await self.store.get_clients([ref], as_of)
        if not found:
            raise NotFound("client", str(ref))
        return found[0]
