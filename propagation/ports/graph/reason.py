"""The reason commit: all text of an interaction.

Any number of workers write it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from propagation.model import (
    Client,
    ClientText,
    DeadLetter,
    Gradient,
    InteractionRow,
    MessageMerge,
    MessageReach,
    Module,
    NumberedMerge,
    NumberedText,
    ReasonClaim,
    ReasonedInteraction,
    Round,
    RouterVersion,
)


class InteractionReader(Protocol):
    """Reads clients, texts and rounds for reasoning.

    A process that only drafts texts reads it too.
    """

    async def get_clients(self, refs: Sequence[int]) -> Sequence[Client]:
        """Return clients in the order of `refs`; unknown ones are left out."""

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        """Return the current text of each client.

        A client without a text has an empty profile at version 0.
        """

    async def get_text_versions(self, refs: Sequence[int]) -> Mapping[int, int]:
        """Return the version of each client's current text.

        Clients without a text are left out.
        """

    async def get_interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        """Return interactions in the order of `sequences`; unknown ones are left out."""

    async def get_last_round(self) -> Round | None:
        """Return the newest published round; None before the first."""

    async def get_waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        """Return the messages that wait for each client, newest round first.

        There is at most one message of each router.

        A message waits for a client if it is newer than the client's watermark and its router's
        edge covered the client when it was sent, or if it was its router's current message when
        the client's first edge opened. Only the newest such message of a router waits. A message
        that comes from the client alone does not count (RecNet 2.3.1). `integrated` is shortened
        as in `get_router_versions`.

        Args:
            refs_after: Watermark (a round's number) of each client, by ref.
            through: Last round to look at; None: the newest. A caller that then stores a
                watermark gives it.
        """


class ReasonStore(InteractionReader, Protocol):
    """Texts of clients, and the records of reasoning.

    These records are its claims, merges, gradients and dead letters.
    """

    async def claim_reason(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        """Claim the oldest learned interactions that are neither reasoned nor claimed.

        No two workers hold interactions of one user, and none overtakes an earlier interaction of
        its user (graph_rules/claims).

        Args:
            worker: Name of the process.
            limit: Most interactions.
            ttl_ms: Milliseconds from now until the claim expires.

        Returns:
            The claim; None if there is nothing to claim.
        """

    async def renew_claims(self, tokens: Sequence[int], ttl_ms: int) -> None:
        """Let these claims expire `ttl_ms` milliseconds from now.

        Claims that were taken over are skipped.
        """

    async def commit_reasoned(
        self, claim: ReasonClaim, reasoned: Sequence[ReasonedInteraction], *, more: bool = False
    ) -> None:
        """Commit the results of a claim's interactions at once.

        The results are texts as new versions, gradients, merges and dead letters.

        Args:
            reasoned: Interactions of the claim.
            more: Keep the claim's other interactions for a later commit; otherwise free them.

        Raises:
            LeaseLost: The claim expired and was taken over; nothing was changed.
            VersionClash: A text's version does not follow the stored one; nothing was changed.
        """

    async def claim_dead_letters(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        """Claim the oldest free dead letters, to try them again.

        A dead letter is free if no worker holds it, or an earlier one of the same user.

        They are committed like any claim, with `late` set: an interaction that succeeds is no
        dead letter any more; one that fails keeps its newest reason.

        Returns:
            The claim; None if there is nothing to claim.
        """

    async def commit_texts(
        self,
        texts: Sequence[ClientText],
        merged: Sequence[MessageMerge],
        sequence: int,
        after_withdrawal: int | None = None,
        written_by: str = "",
    ) -> None:
        """Commit new versions of texts outside an interaction.

        Cold start does this, and so do reads that merge messages.

        Args:
            merged: Messages that were merged into the texts or dropped.
            sequence: The sequence that the versions belong to.
            after_withdrawal: What `get_last_withdrawal` returned before the texts were read.
            written_by: Prompts or fallback that wrote the texts, as in RouterVersion.

        Raises:
            VersionClash: A text's version does not follow the stored one, or there was another
                withdrawal after it. (The interactions of a claim need no such
                check: a withdrawal voids claims.)
        """

    async def get_last_withdrawal(self) -> int:
        """Return the sequence of the newest retraction or erasure.

        It is 0 before the first.
        """

    async def get_text_versions(self, refs: Sequence[int] | None = None) -> Mapping[int, int]:
        """Return the version of each client's current text.

        An index or a cache is compared with it.

        Args:
            refs: Clients; None: all. Those without a text are left out.
        """

    async def get_text_at(self, ref: int, sequence: int) -> ClientText | None:
        """Return a client's text at a sequence.

        Returns:
            The text; None if the client had none.
        """

    async def get_texts_of_versions(
        self, versions: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], ClientText]:
        """Return texts by (ref, version); unknown and dropped versions are left out."""

    async def get_texts_through(self) -> int:
        """Return the number of the last committed text version.

        The number counts also if that version is no longer kept.
        """

    async def get_texts_after(self, number: int, limit: int) -> Sequence[NumberedText]:
        """Return at most `limit` text versions with a larger number, in order.

        A process follows other processes' texts this way: numbers grow with each commit and
        become visible in that order. Dropped versions are left out.
        """

    async def get_reasoned_through(self) -> int:
        """Return the sequence through which reasoning is complete.

        Every interaction up to it is reasoned or a dead letter.
        """

    async def find_event(self, event_id: str) -> InteractionRow | None:
        """Return the interaction with this event id; None if there is none."""

    async def get_merges_of_message(
        self, router: int, version: int, limit: int
    ) -> Sequence[MessageMerge]:
        """Return at most `limit` merges or drops of a message.

        There is one for each client, by ref.
        """

    async def count_message_reach(self, newest: int) -> Sequence[MessageReach]:
        """Count what became of each router's messages, by router.

        Args:
            newest: Count over the last so many merges (at least 1) that retention kept.
        """

    async def get_merges_through(self) -> int:
        """Return the number of the last committed merge.

        The number counts also if that merge is no longer kept.
        """

    async def get_merges_after(
        self, number: int, through: int, limit: int
    ) -> Sequence[NumberedMerge]:
        """Return at most `limit` merges after a number, in order.

        Their own numbers are greater than `number` and at most `through`.

        Merges are numbered from 1 in the order of commits, without gaps, and become visible in
        that order: a missing number is a dropped merge.
        """

    async def get_gradients(
        self, module: Module, owner: int | None, after: int, limit: int
    ) -> Sequence[Gradient]:
        """Return at most `limit` gradients with sequence > after.

        They are ordered by sequence, then owner.

        Args:
            module: Kind of module.
            owner: A client's ref or router's number; None: all of this kind.
        """

    async def get_dead_letters(self, limit: int) -> Sequence[DeadLetter]:
        """Return at most `limit` interactions whose reasoning failed for good, oldest first."""
