"""Propagation from client to client after each interaction.

Each client whose profile an interaction changed sends to others. They merge what they hear at once,
by the service's reception (eq. 5). What they so take in is not sent on before their own next
interaction.

Source:
    RecNet 3.3 ("w/o CPR") and 3.4.4.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from propagation.laboratory.methods.asking.answers import run_together
from propagation.laboratory.methods.recnet.point_to_point.message import (
    send_profile,
    send_summary,
)
from propagation.laboratory.methods.recnet.point_to_point.way import Content, LinkReasoner, Way
from propagation.model import (
    NO_USAGE,
    EditClash,
    ReasonerFailed,
    ReasonerUnavailable,
    RouterVersion,
    group_pairs,
)
from propagation.ports import COLLECTIONS, Party, texts_read_after
from propagation.reception.merge import Inbox, Reception, receive
from propagation.reception.message_buffer import ProfileReading
from propagation.workflow.engine import Engine

TEXTS_READ = 1_000
MESSAGES, LOST = "messages", "lost messages"
SELECT, SUMMARIZE = "questions: select receivers", "questions: write to clients"
"""Names of counts."""


class Sent(NamedTuple):
    """A message, and the client (ref) to whom it goes."""

    receiver: int
    message: RouterVersion


@dataclass
class PointToPoint:
    """Sends what interactions change, through an engine without routers.

    Attributes:
        counts: How often the reasoner selected and summarized; messages sent, and those lost
            because an answer was not usable. Names of questions begin as in Measured.
    """

    engine: Engine
    way: Way
    reasoner: LinkReasoner
    counts: Counter[str] = field(default_factory=Counter)
    _read_through: int = 0

    async def skip(self) -> None:
        """Take the texts so far as known: descriptions are not sent."""
        await self._list_changed()

    async def propagate(self) -> None:
        """Send the profiles that changed since the last call; merge them."""
        with texts_read_after(await self.engine.store.get_last_withdrawal()):
            senders = await self._load(await self._list_changed())
            sent = await run_together(map(self._send, senders.values()))
            inboxes = group_pairs(one for some in sent for one in some)
            receivers = await self._load(sorted(inboxes))
            receptions = await run_together(
                self._receive(receiver, inboxes[ref]) for ref, receiver in receivers.items()
            )
        await self._commit([one for one in receptions if one is not None and one.messages])

    async def _list_changed(self) -> list[int]:
        """List the clients with texts of larger numbers than seen before."""
        refs: dict[int, None] = {}
        while found := await self.engine.store.get_texts_after(self._read_through, TEXTS_READ):
            refs.update((text.ref, None) for text in found)
            self._read_through = found[-1].number
        return sorted(refs)

    async def _load(self, refs: Sequence[int]) -> Mapping[int, ProfileReading]:
        clients, texts = await asyncio.gather(
            self.engine.store.get_clients(refs), self.engine.store.load_texts(refs)
        )
        return {client.ref: ProfileReading(client, texts[client.ref]) for client in clients}

    async def _send(self, sender: ProfileReading) -> Sequence[Sent]:
        """Decide who hears of a changed profile, and what.

        Returns:
            Nothing where an answer is not usable: the change is then lost for the others.
        """
        nearest = await self._find_nearest(sender)
        try:
            receivers = await self._select(sender, nearest)
            sent = await self._write(sender, receivers)
        except ReasonerUnavailable:
            raise
        except ReasonerFailed:
            self.counts[LOST] += min(self.way.receivers, len(nearest))
            return ()
        self.counts[MESSAGES] += len(sent)
        return sent

    async def _find_nearest(self, sender: ProfileReading) -> Sequence[ProfileReading]:
        """Find the nearest other clients, users and items alike, by profile."""
        [point] = await self.engine.vectors.build_points_of_texts([sender.text])
        hits = [
            hit
            for collection in COLLECTIONS.values()
            for hit in await self.engine.index.find_nearest(
                collection, point.vector, self.way.nearest + 1
            )
            if hit.key != sender.client.ref
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.key))
        refs = [int(hit.key) for hit in hits[: self.way.nearest]]
        found = await self._load(refs)
        return [found[ref] for ref in refs]

    async def _select(
        self, sender: ProfileReading, nearest: Sequence[ProfileReading]
    ) -> Sequence[ProfileReading]:
        if not self.way.selects or len(nearest) <= self.way.receivers:
            return nearest[: self.way.receivers]
        self.counts[SELECT] += 1
        places = await self.reasoner.select(
            _build_party(sender), list(map(_build_party, nearest)), self.way.receivers
        )
        return [nearest[place] for place in places]

    async def _write(
        self, sender: ProfileReading, receivers: Sequence[ProfileReading]
    ) -> Sequence[Sent]:
        """Write a message to each receiver."""
        profile = sender.text.profile
        if self.way.content is Content.PROFILE:
            return [Sent(one.client.ref, send_profile(profile)) for one in receivers]
        each = self.way.content is Content.SUMMARY_EACH
        groups = [[one] for one in receivers] if each else [receivers]
        self.counts[SUMMARIZE] += len(groups)
        texts = await run_together(
            self.reasoner.summarize(_build_party(sender), list(map(_build_party, group)))
            for group in groups
        )
        return [
            Sent(one.client.ref, send_summary(profile, text))
            for group, text in zip(groups, texts, strict=True)
            for one in group
        ]

    async def _receive(
        self, receiver: ProfileReading, messages: Sequence[RouterVersion]
    ) -> Reception | None:
        """Merge the messages to one client; None without a usable answer."""
        settings = self.engine.settings
        try:
            return await receive(
                self.engine.reasoner,
                receiver.client,
                receiver.text,
                messages,
                receiver.text.watermark,
                settings.buffer,
                settings.profile_lines,
            )
        except ReasonerUnavailable:
            raise
        except (ReasonerFailed, EditClash):
            self.counts[LOST] += len(messages)
            return None

    async def _commit(self, receptions: Sequence[Reception]) -> None:
        if not receptions:
            return
        texts = [reception.text for reception in receptions]
        store = self.engine.store
        # What became of the messages is not recorded: the graph has messages of routers only.
        await store.commit_texts(
            texts,
            (),
            await store.get_recorded_through(),
            await store.get_last_withdrawal(),
            sum((reception.usage for reception in receptions), NO_USAGE).author,
        )
        await self.engine.vectors.publish(texts)
        # Else the next claim would begin with the older texts.
        self.engine.memory.forget_texts([text.profile.ref for text in texts])
        await self.skip()


def _build_party(reading: ProfileReading) -> Party:
    return Inbox(reading.client, reading.text).build_party()
