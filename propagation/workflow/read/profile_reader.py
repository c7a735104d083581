"""Profiles for reads, with or without their waiting messages merged.

Source: RecNet 2.3, eq. 5, outside an interaction.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from propagation.ports import GraphStore, Reasoner, VersionClash, texts_read_after
from propagation.reception.merge import receive
from propagation.reception.message_buffer import ProfileReading, fill_buffer
from propagation.workflow.concurrency import Activity, Exclusion
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import load_client, load_texts_in_force

ATTEMPTS = 5


@dataclass
class ProfileReader:
    """Reads the profiles of clients; reads that merge messages write new versions."""

    store: GraphStore
    reasoner: Reasoner
    settings: WorkflowSettings
    vectors: VectorSync
    exclusion: Exclusion

    async def read_current(self, ref: int) -> ProfileReading:
        """Return a client's current profile; merge nothing.

        Raises:
            NotFound: The client was erased since its ref was found.
        """
        client, texts = await asyncio.gather(
            load_client(self.store, ref), load_texts_in_force(self.store, [ref])
        )
        text = texts[ref]
        if not self.settings.propagate:
            return ProfileReading(client, text)
        waiting = (await self.store.get_waiting_messages({ref: text.watermark}))[ref]
        return ProfileReading(client, text, fill_buffer(waiting, self.settings.buffer).kept)

    async def read_merged(self, ref: int) -> ProfileReading:
        """Merge the waiting messages into a profile, and return its new version.

        Raises:
            NotFound: The client was erased since its ref was found.
            ReasonerFailed: The reasoner gave no usable answer.
            VersionClash: Other writers committed first five times in a row.
        """
        async with self.exclusion.run(Activity.MERGE):
            for _ in range(ATTEMPTS - 1):
                with suppress(VersionClash):
                    return await self._merge(ref)
            return await self._merge(ref)

    async def _merge(self, ref: int) -> ProfileReading:
        last = await self.store.get_last_round() if self.settings.propagate else None
        last_withdrawal = await self.store.get_last_withdrawal()
        client = await load_client(self.store, ref)
        text = (await load_texts_in_force(self.store, [ref]))[ref]
        if last is None or text.watermark >= last.number:
            return ProfileReading(client, text)
        waiting = (await self.store.get_waiting_messages({ref: text.watermark}, last.number))[ref]
        with texts_read_after(last_withdrawal):
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
                await self.store.get_recorded_through(),
                last_withdrawal,
                reception.usage.author,
            )
            await self.vectors.publish([reception.text])
        return ProfileReading(client, reception.text)
