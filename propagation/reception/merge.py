"""Merge of waiting messages into the profile, under the filter memory.

A reasoner decides what the messages change in the profile: by Prompt_merge
(adapters/openai/prompts/merge.py), or without a language model (adapters/offline/merge.py).

Source: RecNet 2.3, eq. 5.
"""

from collections.abc import Sequence

from propagation.model import (
    MERGED_OUTCOME,
    NO_USAGE,
    Client,
    ClientText,
    MessageMerge,
    ReasonerFailed,
    RouterVersion,
    Usage,
    value,
)
from propagation.ports import AnswerPart, MergeAnswer, Party, Reasoner
from propagation.reception.filter_memory import filter_messages
from propagation.reception.message_buffer import fill_buffer

NO_ROOM = "no room"


@value
class Inbox:
    """A client before reception, with the messages in its buffer.

    The messages are ordered newest first; the filter rules admit some of them and refuse the
    others. `dropped` messages did not fit into the buffer.
    """

    client: Client
    text: ClientText
    messages: Sequence[RouterVersion] = ()
    admitted: Sequence[RouterVersion] = ()
    refused: Sequence[RouterVersion] = ()
    dropped: Sequence[RouterVersion] = ()

    def build_party(self, unshared: frozenset[int] = frozenset()) -> Party:
        """Build the client as a reasoner reads it.

        Args:
            unshared: As in Party.
        """
        return Party(
            client=self.client,
            profile=self.text.profile,
            filter_memory=self.text.filter_memory,
            messages=self.admitted,
            unshared=unshared,
        )


@value
class Reception:
    """P_c^pro: the text after merging, and what became of each message.

    Attributes:
        text: The same object if nothing waited, or the reasoner's answer failed.
        merged: Outcomes of the messages that were merged, refused or dropped; a message for which
            the profile had no room is not listed.
        messages: The messages that were merged into the text.
    """

    text: ClientText
    merged: Sequence[MessageMerge]
    messages: Sequence[RouterVersion]
    usage: Usage = NO_USAGE


def fill_inbox(
    client: Client, text: ClientText, waiting: Sequence[RouterVersion], capacity: int
) -> Inbox:
    """Buffer and filter the messages that wait for a client.

    Args:
        waiting: Newest first.
        capacity: The most messages in the buffer.
    """
    buffer = fill_buffer(waiting, capacity)
    if not buffer.kept:
        return Inbox(client, text)
    admitted, refused = filter_messages(text.filter_memory, buffer.kept)
    return Inbox(client, text, buffer.kept, admitted, refused, buffer.dropped)


def apply_merge(
    inbox: Inbox, answer: AnswerPart[MergeAnswer], last_round: int, max_lines: int
) -> Reception:
    """Apply a reasoner's answer to eq. 5.

    If the buffer is empty or the answer failed, the text stays as it is; the messages go on
    waiting.

    Args:
        last_round: The newest round whose messages were looked at.
        max_lines: The most lines of a profile.

    Raises:
        EditClash: The answer edits a line that does not exist.
    """
    text = inbox.text
    if isinstance(answer, ReasonerFailed) or not inbox.messages:
        return Reception(text=text, merged=(), messages=())
    profile = text.profile.apply_edits(answer.edits, max_lines)
    outcomes = {
        **answer.outcomes,
        **{(message.router, message.version): "filtered" for message in inbox.refused},
        **{(message.router, message.version): "fell out" for message in inbox.dropped},
    }
    return Reception(
        text=ClientText(
            profile=profile,
            filter_memory=text.filter_memory,
            watermark=last_round,
            dropped=text.dropped + len(inbox.dropped),
        ),
        merged=[
            MessageMerge(
                ref=profile.ref,
                profile_version=profile.version,
                router=router,
                router_version=version,
                outcome=outcome,
            )
            for (router, version), outcome in outcomes.items()
            if outcome != NO_ROOM
        ],
        messages=[
            message
            for message in inbox.messages
            if answer.outcomes.get((message.router, message.version)) == MERGED_OUTCOME
        ],
        usage=answer.usage,
    )


async def receive(
    reasoner: Reasoner,
    client: Client,
    text: ClientText,
    waiting: Sequence[RouterVersion],
    last_round: int,
    capacity: int,
    max_lines: int,
) -> Reception:
    """Merge the waiting messages of one client, outside an interaction.

    The arguments are as in fill_inbox and apply_merge.

    Raises:
        ReasonerFailed: The reasoner gave no usable answer; the messages go on waiting.
        EditClash: As in apply_merge.

    Source: RecNet eq. 5.
    """
    inbox = fill_inbox(client, text, waiting, capacity)
    answer = await reasoner.merge(inbox.build_party()) if inbox.admitted else MergeAnswer(edits=())
    return apply_merge(inbox, answer, last_round, max_lines)
