"""Reception (RecNet 2.3, eq. 5): waiting messages into the profile, under the filter memory."""

from collections.abc import Sequence
from dataclasses import replace

from propagation.model.base import value
from propagation.model.clients.client import Client
from propagation.model.clients.client_text import (
    MERGED_OUTCOME,
    ClientText,
    MessageMerge,
)
from propagation.model.errors import ReasonerFailed
from propagation.model.routers.router import RouterVersion
from propagation.model.usage import NO_USAGE, Usage
from propagation.ports.reasoner import AnswerPart, MergeAnswer, Party, Reasoner
from propagation.reception.filter_memory import admitted
from propagation.reception.message_buffer import fill_buffer

NO_ROOM = "no room"


@value
class Inbox:
    """A client before reception: the messages in its buffer, newest first, which of them its filter
    memory lets in, weightiest first, and keeps out, and what fell out."""

    client: Client
    text: ClientText
    messages: Sequence[RouterVersion] = ()
    let_in: Sequence[RouterVersion] = ()
    kept_out: Sequence[RouterVersion] = ()
    fallen: Sequence[RouterVersion] = ()

    @property
    def party(self) -> Party:
        return Party(
            client=self.client,
            profile=self.text.profile,
            filter_memory=self.text.filter_memory,
            messages=self.let_in,
        )


@value
class Reception:
    """P_c^pro: the text after merging (the same object where nothing waited), what was merged,
    refused or fell out, and the messages that took part. Of a message for which the profile had no
    room nothing is kept."""

    text: ClientText
    merged: Sequence[MessageMerge]
    messages: Sequence[RouterVersion]
    usage: Usage = NO_USAGE


def inbox(
    client: Client, text: ClientText, waiting: Sequence[RouterVersion], capacity: int
) -> Inbox:
    """What reception has to do for one client; `waiting` newest first."""
    buffer = fill_buffer(client.ref, waiting, capacity)
    if not buffer.kept:
        return Inbox(client, text)
    let_in, kept_out = admitted(text.filter_memory, buffer.kept)
    return Inbox(client, text, buffer.kept, let_in, kept_out, buffer.dropped)


def received(
    inbox: Inbox, answer: AnswerPart[MergeAnswer], last_round: int, max_lines: int
) -> Reception:
    """Eq. 5, answered. An empty buffer is no work; where the answer failed, the messages go on
    waiting. Raises EditClash."""
    text = inbox.text
    if isinstance(answer, ReasonerFailed) or not inbox.messages:
        return Reception(text=text, merged=(), messages=())
    profile = text.profile.apply_edits(answer.edits, max_lines)
    if profile is text.profile:
        profile = replace(profile, version=profile.version + 1)
    outcomes = {
        **answer.outcomes,
        **{(message.router, message.version): "filtered" for message in inbox.kept_out},
        **{(message.router, message.version): "fell out" for message in inbox.fallen},
    }
    merged = [
        MessageMerge(
            ref=profile.ref,
            profile_version=profile.version,
            router=router,
            router_version=version,
            outcome=outcome,
        )
        for (router, version), outcome in outcomes.items()
        if outcome != NO_ROOM
    ]
    after = ClientText(
        profile=profile,
        filter_memory=text.filter_memory,
        watermark=last_round,
        dropped=text.dropped + len(inbox.fallen),
    )
    taken = [
        message
        for message in inbox.messages
        if answer.outcomes.get((message.router, message.version)) == MERGED_OUTCOME
    ]
    return Reception(text=after, merged=merged, messages=taken, usage=answer.usage)


async def receive(
    reasoner: Reasoner,
    client: Client,
    text: ClientText,
    waiting: Sequence[RouterVersion],
    last_round: int,
    capacity: int,
    max_lines: int,
) -> Reception:
    """Eq. 5 for one client, outside an interaction. Raises ReasonerFailed and EditClash."""
    waits = inbox(client, text, waiting, capacity)
    answer = await reasoner.merge(waits.party) if waits.let_in else MergeAnswer(edits=())
    return received(waits, answer, last_round, max_lines)
